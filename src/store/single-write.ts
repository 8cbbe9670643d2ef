// One write alone, as a plain statement: most writes of a quiet control plane come one by one. The statements for many rows
// (write-statements.ts) read their rows from JSON through common tables, and these cost one row more than the row itself.
import { CompiledQuery, type Kysely } from 'kysely';
import { printJson } from '../base/long-lists.ts';
import { label } from '../resource/labels.ts';
import { isStorable, isStorableJson, storablePart } from '../resource/storable-text.ts';
import { keyOf } from '../resource/types.ts';
import type { Tables } from './database.ts';
import { createdMs, timestampOf, utc } from './resource-row.ts';
import type { RowWrite, Write, WriteOutcome } from './resource-store.ts';

/** The number of characters of the name of a user that the history keeps. */
const MAX_AUTHOR = 253;

/**
 * `mayReplace` of resource/ownership in SQL, of the stored row `r`.
 * @param written the labels of the write: an SQL expression
 */
export function mayReplaceRow(written: string): string {
  const known = [label.origin, label.zone].map(
    (key) => `(r.labels->>'${key}' is null or r.labels->>'${key}' = ${written}->>'${key}')`,
  );
  const [stored, given] = ['r.labels', written].map((of) => `coalesce(${of}->>'${label.namespace}', '')`);
  return `(r.sync_version is null and r.owner_type is distinct from 'Zone' and ${String(stored)} = ${String(given)} and ${known.join(' and ')})`;
}

// $1 the author, $2–$4 the key, $5 spec, $6 labels, $7 status, $8 sync_version
const SAID = `with said as materialized (select set_config('meridian.authors', $1::text, true))`;
const SAME_KEY = `r.type = $2::text and r.mesh = $3::text and r.name = $4::text`;
const NOW = `now() at time zone 'utc'`;
/**
 * It is the condition of the statements for many rows: ON CONFLICT would lock the row of another writer and wait for its
 * transaction.
 */
const MAY_REPLACE = `(not $12::bool or coalesce((select ${mayReplaceRow('$6::jsonb')} is true from resources r where ${SAME_KEY} limit 1), true))`;
const INSERT = `${SAID} insert into resources as r (type, mesh, name, version, spec, labels, status, sync_version,
    owner_type, owner_mesh, owner_name, creation_time, modification_time)
  select $2::text, $3::text, $4::text, 0, $5::text, $6::jsonb, coalesce($7::jsonb, '{}'), $8::text, $9::text, $10::text, $11::text, ${NOW}, ${NOW}
  from said
  where ($9::text is null or exists (select from resources o where o.type = $9::text and o.mesh = $10::text and o.name = $11::text))`;
const RETURNING = `returning r.version, r.creation_time::text as created`;
const CREATE = `${INSERT} on conflict do nothing ${RETURNING}`;
const PUT = `${INSERT} and ${MAY_REPLACE} on conflict (name, mesh, type) do update
  set version = r.version + 1, spec = excluded.spec, labels = excluded.labels, sync_version = excluded.sync_version,
    status = coalesce($7::jsonb, r.status), modification_time = excluded.modification_time
  where not $12::bool or ${mayReplaceRow('excluded.labels')}
  ${RETURNING}`;
const UPDATE = `${SAID} update resources r
  set version = r.version + 1, spec = $5::text, labels = $6::jsonb, status = coalesce($7::jsonb, r.status), sync_version = $8::text,
    modification_time = ${NOW}
  from said where ${SAME_KEY} and ($9::int is null or r.version = $9::int)
    and ($10::text is null or ${createdMs} = $10::text::timestamp)
  ${RETURNING}`;

/**
 * Stores a write in a transaction of its own.
 * @returns null for a deletion or a status, and if nothing was stored: that is left to the statements for many rows, which say why
 */
export async function runSingleWrite(db: Kysely<Tables>, write: Write): Promise<WriteOutcome | null> {
  if (write.op === 'delete' || write.op === 'status' || unstorable(write) !== null) return null;
  const { rows } = await db.executeQuery(singleStatement(write));
  const [row] = rows as { readonly version: number; readonly created: string }[];
  if (row === undefined) return null;
  // A row starts with version 0, and every update raises it.
  return { result: row.version === 0 ? 'created' : 'updated', version: row.version, creationTime: utc(row.created) };
}

/** The statement of a write, with its parameters. */
export function singleStatement(write: RowWrite): CompiledQuery {
  const { op, key, spec, labels, status, syncVersion, owner } = write;
  const content = [
    ...[singleAuthorText(write), key.type, key.mesh, key.name, printJson(spec), JSON.stringify(labels)],
    ...[status === undefined ? null : JSON.stringify(status), syncVersion ?? null],
  ];
  if (op === 'update')
    return CompiledQuery.raw(UPDATE, [...content, write.expectVersion ?? null, timestampOf(write.expectCreation)]);
  const owned = [...content, owner?.type ?? null, owner?.mesh ?? null, owner?.name ?? null];
  if (op === 'create') return CompiledQuery.raw(CREATE, owned);
  return CompiledQuery.raw(PUT, [...owned, write.op === 'put' && write.ownOnly === true]);
}

/**
 * The author of the write of one row, for the trigger of the row (migrations/0009_single_row_history.sql). A rollback goes to the
 * triggers of the statement, which read lists.
 */
function singleAuthorText(write: RowWrite): string {
  if (write.by === undefined) return 'row';
  const text = authorsText([write]);
  return text.startsWith('=') ? `row${text}` : text;
}

/** `=` and a name if one person writes all rows, else a list. A deletion has a list, because it may take other rows along. */
export function authorsText(writes: readonly Write[]): string {
  const only = writes[0]?.by;
  const isOfOne = ({ op, by }: Write): boolean => op !== 'delete' && by?.user === only?.user && by?.restores === undefined;
  if (only !== undefined && writes.every(isOfOne)) return `=${storablePart(only.user, MAX_AUTHOR)}`;
  const authors = writes.flatMap(({ key, by }) =>
    by === undefined ? [] : [{ ...keyOf(key), author: storablePart(by.user, MAX_AUTHOR), restored: by.restores }],
  );
  return JSON.stringify(authors);
}

/**
 * The reason why the table cannot store the row, or null. It is checked before, because one bad row would fail the whole
 * transaction.
 */
export function unstorable({
  key,
  labels = {},
  status,
}: Pick<RowWrite, 'key' | 'status'> & Partial<Pick<RowWrite, 'labels'>>): string | null {
  const limits = [
    ['name', key.name, 253],
    ['mesh', key.mesh, 100],
    ['type', key.type, 100],
  ] as const;
  for (const [field, value, most] of limits) {
    // Count code units first: a string never has fewer code units than characters, and nearly all are short.
    if (value.length > most && Array.from(value).length > most) return `${field}: must have at most ${String(most)} characters`;
    if (!isStorable(value)) return `${field}: must be valid text`;
  }
  // Both are jsonb; a spec is JSON in a text column, which keeps any string in its escaped form.
  if (!isStorableJson(labels)) return 'labels: must be valid text';
  if (!isStorableJson(status)) return 'status: must be valid text';
  return null;
}
