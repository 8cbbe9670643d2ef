// YAML is parsed in a time that grows with the text, with the faults that the library finds.
import { describe, expect, it } from 'vitest';
import { LineCounter, parseAllDocuments } from 'yaml';
import { parseYaml } from './parse-yaml.ts';

/** Code and offset of the first fault of each document. */
const faultsOf = (documents: ReturnType<typeof parseYaml>): unknown[] =>
  documents.map(({ errors: [error] }) => (error === undefined ? null : [error.code, error.pos[0]]));

describe('YAML', () => {
  it.each([
    'a: 1\nb: 2\na: 3\n',
    '{ a: 1, a: 2 }',
    'a:\n  - b: 1\n    "b": 2\n',
    '1: a\n"1": b\n',
    'a: 1\n---\nb: 1\nb: 2\n',
    '? [x]\n: 1\n? [x]\n: 2\n',
    'a: &x 1\nb: *x\n',
    'a: b: c\n',
    '',
  ])('has the faults of the library: %j', (text) => {
    const known = parseAllDocuments(text, { lineCounter: new LineCounter(), prettyErrors: false });
    expect(faultsOf(parseYaml(text))).toEqual(faultsOf(Array.isArray(known) ? known : []));
  });

  it('is refused with many aliases, each of which is looked for among all anchors', () => {
    const text = `a: [${Array.from({ length: 600 }, (_, at) => `&x${String(at)} 1, *x${String(at)}`).join(', ')}]`;
    expect(faultsOf(parseYaml(text))).toEqual([['BAD_ALIAS', expect.any(Number)]]);
  });
});
