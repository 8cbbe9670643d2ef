import { expect, it } from 'vitest';
import { unansweredWarnings } from './check-documents.ts';
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
