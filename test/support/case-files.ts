// The common format of case folders: rows as YAML documents, and expected texts that one flag rewrites.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import type { Json, Labels } from '../../src/resource/types.ts';

/** A row in a file: omitted fields stay as stored. */
export const givenRow = z.strictObject({
  type: z.string(),
  mesh: z.string().default(''),
  name: z.string(),
  labels: z.record(z.string(), z.string()).optional(),
  spec: z.record(z.string(), z.json()).optional(),
  status: z.record(z.string(), z.json()).optional(),
});

/** The YAML documents of a file. */
export function documentsIn(file: string): Json[] {
  return parseAllDocuments(readFileSync(file, 'utf8')).map((document) => document.toJS() as Json);
}

/** Writes the text to a file, or removes the file for null. */
export function writeOrRemove(file: string, text: string | null): void {
  if (text === null) rmSync(file, { force: true });
  else writeFileSync(file, text);
}

/** The value with the keys of every object in order, so that equal values give equal texts. */
export function withSortedKeys(value: Json | Labels): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withSortedKeys);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, withSortedKeys(item)]));
}
