import { describe, expect, it } from 'vitest';
import { checkDocuments, unansweredWarnings } from './check-documents.ts';
import { parseDocuments } from './read-files.ts';

it('a warning is omitted only when the control plane printed it for the same document', () => {
  const [a, b] = parseDocuments([{ name: 'all.yaml', text: 'type: Mesh\nname: a\n---\ntype: Mesh\nname: b\n' }], 'default');
  if (a === undefined || b === undefined) throw new Error('two documents');
  const warnings = [
    { document: a, text: 'spec.x: is old' },
    { document: b, text: 'spec.x: is old' },
  ];
  const ofA = { document: a, result: 'created', messages: ['spec.x: is old'] } as const;
  expect(unansweredWarnings(warnings, [ofA])).toEqual([warnings[1]]);
  expect(unansweredWarnings(warnings, [{ ...ofA, messages: ['', 'is old'] }])).toEqual(warnings);
});

describe('a document with an unknown key', () => {
  const SPEC = '{to: [{targetRef: {kind: Mesh}, default: {idleTimeout: 1s}}]}';
  const problemsOf = (text: string): void => void checkDocuments(parseDocuments([{ name: 'a.yaml', text }], 'default'));

  it.each([
    ['mehs: shop', 'a.yaml:3:1: mehs: is not a known key; did you mean "mesh"?'],
    ['lables: {team: a}', 'a.yaml:3:1: lables: is not a known key; did you mean "labels"?'],
    ['"a b": 1', 'is not a known key; known keys are type, mesh, name, labels, spec'],
  ])('at the top of a type with a spec is refused: %s', (given, said) => {
    expect(() => problemsOf(`type: MeshTimeout\nname: typo\n${given}\nspec: ${SPEC}\n`)).toThrow(said);
  });

  it('with a zero value is refused in a type without a spec', () => {
    expect(() => problemsOf('type: Zone\nname: west\nenabeld: false\n')).toThrow(
      'a.yaml:3:1: enabeld: is not a known key of Zone',
    );
  });

  it('is not one that control planes write', () => {
    const written = 'creationTime: a\nmodificationTime: b\nkri: c\nstatus: {}\n';
    expect(() => problemsOf(`type: MeshTimeout\nmesh: shop\nname: a\nlabels: {}\n${written}spec: ${SPEC}\n`)).not.toThrow();
  });

  it('of Kuma 2.x is a warning, in a type with a spec and without, and a typing error beside it is refused', () => {
    const warningsOf = (text: string): string[] =>
      checkDocuments(parseDocuments([{ name: 'a.yaml', text }], 'default')).map((warning) => warning.text);
    expect(warningsOf('type: Mesh\nname: shop\nmeshServices: {mode: Exclusive}\n')).toEqual([
      'meshServices: is a key of Kuma 2.x and has no effect; the services of a mesh are always MeshServices',
    ]);
    const sidecar = 'spec: {default: {sidecar: {usedOnly: true}}}';
    expect(warningsOf(`type: MeshMetric\nname: m\n${sidecar}\n`)).toEqual([
      'spec.default.sidecar.usedOnly: is a key of Kuma 2.x and has no effect; write default.sidecar.includeUnused',
    ]);
    expect(() => problemsOf('type: Mesh\nname: shop\nmeshServices: {}\nmeshService: {}\n')).toThrow(
      /meshService\s+is not a known key of Mesh/,
    );
  });
});
