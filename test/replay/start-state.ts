// The format of the files with the start states of the recorded stores and the changes to them.
// Invariant: equal states give equal texts.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments, stringify } from 'yaml';
import { z } from 'zod';
import { sides, vectorsFolder, type Side } from './recording.ts';

const key = { type: z.string(), mesh: z.string(), name: z.string() };
const labels = z.record(z.string(), z.string());
const object = z.record(z.string(), z.json());
const row = z.strictObject({ ...key, labels, spec: object, status: object.optional() });
const step = z.strictObject({
  /** The line of the recording that shows the effect first. */
  at: z.int(),
  side: z.enum(sides),
  /** Omitted fields stay unchanged. */
  put: z.strictObject({ ...key, labels: labels.optional(), spec: object.optional(), status: object.optional() }).optional(),
  delete: z.strictObject(key).optional(),
});

/** A row as its own side wrote it. */
export type Row = z.infer<typeof row>;
/** One change to a store. */
export type Step = z.infer<typeof step>;

/** The rows of a recorded store at the start of the session. */
export function startOf(side: Side): Row[] {
  return documentsOf(`start-${side}.yaml`).map((document) => row.parse(document));
}

/** The changes to a recorded store during the session, in order. */
export function stepsOf(side: Side): Step[] {
  return documentsOf('steps.yaml')
    .map((document) => step.parse(document))
    .filter((each) => each.side === side);
}

export function textOf(what: string, items: readonly (Row | Step)[]): string {
  const documents = items.map((item) => stringify(item, { singleQuote: true, lineWidth: 0, aliasDuplicateObjects: false }));
  return `# ${what}: derived from kds-session.jsonl by test/replay/derive-start.ts.\n${documents.join('---\n')}`;
}

function documentsOf(file: string): unknown[] {
  return parseAllDocuments(readFileSync(join(vectorsFolder, file), 'utf8')).map((document) => document.toJS() as unknown);
}
