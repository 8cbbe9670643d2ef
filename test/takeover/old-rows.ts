// Rows of Kuma 2.x that the tests keep as documents: their specs have keys that no schema of ours has.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { JsonObject, Labels } from '../../src/resource/types.ts';

export type OldRow = {
  readonly type: string;
  readonly mesh: string;
  readonly name: string;
  readonly labels: Labels;
  readonly spec: JsonObject;
};

type Document = { readonly type: string; readonly name: string } & Partial<Omit<OldRow, 'type' | 'name'>>;

export function readOldRows(file: string): OldRow[] {
  return parseAllDocuments(readFileSync(join(import.meta.dirname, file), 'utf8')).map((document) => {
    const { type, mesh = '', name, labels = {}, spec, ...flat } = document.toJS() as Document;
    return { type, mesh, name, labels, spec: spec ?? flat };
  });
}
