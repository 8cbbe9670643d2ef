// A case is a folder of YAML: the rows of a zone, the steps, and the expected result of its reconcilers (README.md).
// Invariant: the expected text depends only on the rows: sorted keys, no times, no versions.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { z } from 'zod';
import { parseGoDuration } from '../../src/base/duration.ts';
import { label } from '../../src/resource/labels.ts';
import type { Labels, Resource, ResourceKey } from '../../src/resource/types.ts';
import { hasZoneListeners } from '../../src/resource/zone-listeners.ts';
import { documentsIn, givenRow, withSortedKeys, writeOrRemove } from '../support/case-files.ts';
import type { GivenRow } from './zone-under-test.ts';

export const casesFolder = join(import.meta.dirname, 'cases');
const STEP = /^(\d\d)-(put|delete|wait|restart)\.yaml$/;

const given = givenRow.extend({ syncVersion: z.string().optional(), created: z.string().optional() });

export function caseNames(): string[] {
  return readdirSync(casesFolder).sort();
}

/** Numbers of the steps in order. @throws Error when a file is neither a step, nor expected, nor the README */
export function stepsOf(name: string): { number: string; what: string; file: string }[] {
  const folder = join(casesFolder, name);
  return readdirSync(folder)
    .sort()
    .flatMap((file) => {
      const [, number, what] = STEP.exec(file) ?? [];
      if (number !== undefined && what !== undefined) return [{ number, what, file: join(folder, file) }];
      if (/^(README\.md|before\.yaml|expect(\.\d\d)?\.yaml)$/.test(file)) return [];
      throw new Error(`${join(folder, file)} is no step: name it NN-<put|delete|wait|restart>.yaml`);
    });
}

/** The place where a case runs. A step returns at once; `rest` waits for its consequences. */
export type CaseZone = {
  /** Writes the rows of one file, in one transaction if possible. */
  readonly putAll: (rows: readonly GivenRow[]) => Promise<void>;
  /** Removes the rows of one file, in one go where it can. */
  readonly deleteAll: (keys: readonly ResourceKey[]) => Promise<void>;
  /** Lets time pass. */
  readonly wait: (ms: number) => Promise<void>;
  readonly restart: () => Promise<void>;
};

/** Puts the rows of a file. The proxy of a zone proxy is connected, unless a row says something else. */
export async function putRows(file: string, zone: CaseZone): Promise<void> {
  const rows = rowsIn(file);
  const known = connected.get(zone) ?? new Set<string>();
  connected.set(zone, known);
  for (const { type, mesh, name } of rows) if (type === 'DataplaneInsight') known.add(JSON.stringify([mesh, name]));
  const insights = rows.flatMap(({ type, mesh, name, spec = {} }): GivenRow[] => {
    const id = JSON.stringify([mesh, name]);
    if (type !== 'Dataplane' || !hasZoneListeners(spec) || known.has(id)) return [];
    known.add(id);
    return [{ type: 'DataplaneInsight', mesh, name, spec: { subscriptions: [{ connectTime: '2026-01-01T00:00:00Z' }] } }];
  });
  await zone.putAll([...insights, ...rows]);
}

/** Dataplanes with an insight, by zone. */
const connected = new WeakMap<CaseZone, Set<string>>();

function rowsIn(file: string): GivenRow[] {
  return documentsIn(file).map((document) => {
    const { labels, spec, status, syncVersion, created, ...key } = given.parse(document);
    return {
      ...key,
      ...(labels !== undefined && { labels }),
      ...(spec !== undefined && { spec }),
      ...(status !== undefined && { status }),
      ...(syncVersion !== undefined && { syncVersion }),
      ...(created !== undefined && { created }),
    };
  });
}

export async function runStep({ what, file }: { what: string; file: string }, zone: CaseZone): Promise<void> {
  if (what === 'put') await putRows(file, zone);
  else if (what === 'delete') await zone.deleteAll(documentsIn(file).map((document) => given.parse(document)));
  else if (what === 'wait') {
    const { for: text } = z.strictObject({ for: z.string() }).parse(documentsIn(file)[0]);
    const ms = parseGoDuration(text);
    if (ms === null) throw new Error(`${file}: ${text} is no duration`);
    await zone.wait(ms);
  } else await zone.restart();
}

/** The changed and the deleted rows as text; null without any. */
export function changesText(before: readonly Resource[], after: readonly Resource[]): string | null {
  const texts = new Map(before.map((row) => [pathOf(row), textOf(row)]));
  const changed = after.filter((row) => texts.get(pathOf(row)) !== textOf(row)).map(textOf);
  const present = new Set(after.map(pathOf));
  const removed = before.filter((row) => !present.has(pathOf(row))).map((row) => stringify({ removed: pathOf(row) }));
  const documents = [...changed, ...removed];
  return documents.length === 0 ? null : documents.join('---\n');
}

export function expectedText(name: string, file: string): string | null {
  const path = join(casesFolder, name, file);
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
}

export function writeExpected(name: string, file: string, text: string | null): void {
  writeOrRemove(join(casesFolder, name, file), text);
}

function pathOf({ type, mesh, name }: Resource): string {
  return `${type}/${mesh}/${name}`;
}

function textOf({ type, mesh, name, labels, spec, status, owner, syncVersion }: Resource): string {
  const row = {
    ...{ type, mesh, name, labels: withSortedKeys(timeless(labels)), spec: withSortedKeys(spec), status: withSortedKeys(status) },
    ...(owner !== null && { owner: owner.type }),
    ...(syncVersion !== null && { syncVersion }),
  };
  return stringify(row, { singleQuote: true, lineWidth: 0, aliasDuplicateObjects: false });
}

function timeless(labels: Labels): Labels {
  const { [label.deletionGracePeriodStartedAt]: began } = labels;
  return began === undefined ? labels : { ...labels, [label.deletionGracePeriodStartedAt]: '<a time>' };
}
