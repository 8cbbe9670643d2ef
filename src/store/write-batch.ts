// Many writes, one transaction, one statement per kind of write: never a statement a row (design 3).
// Every write gets its own outcome; one that cannot be stored does not touch the others.
import { sql, type Kysely } from 'kysely';
import { MeridianError } from '../base/errors.ts';
import { isStorable, isStorableJson } from '../resource/storable-text.ts';
import type { ResourceKey } from '../resource/types.ts';
import type { Tables } from './database.ts';
import type { Fence, Write, WriteOutcome } from './resource-store.ts';

type Tx = Kysely<Tables>;
type Content = Exclude<Write, { op: 'delete' }>;
type Indexed<T> = { readonly index: number; readonly write: T };

/** Whether `runWrites` makes one statement of them, failures aside, which only take another look to explain. */
export function isOneStatement(writes: readonly Write[]): boolean {
  const kind = ({ op, ...write }: Write): string =>
    op === 'create' ? `create ${String('owner' in write && (write.owner ?? null) !== null)}` : op;
  const first = writes[0];
  // A put may need two.
  return first !== undefined && first.op !== 'put' && writes.every((write) => kind(write) === kind(first));
}

/** Runs the writes in an open transaction: deletes, then creates, then updates. Outcomes in the order of `writes`. */
export async function runWrites(tx: Tx, writes: readonly Write[]): Promise<WriteOutcome[]> {
  const outcomes = new Array<WriteOutcome | undefined>(writes.length);
  const deletes: Indexed<Write>[] = [];
  const inserts: Indexed<Content>[] = [];
  const updates: Indexed<Content>[] = [];
  for (const [index, write] of writes.entries()) {
    if (write.op === 'delete') {
      if (canExist(write.key)) deletes.push({ index, write });
      else outcomes[index] = { result: 'missing' };
      continue;
    }
    const message = unstorable(write);
    if (message !== null) outcomes[index] = { result: 'rejected', message };
    else if (write.op === 'update') updates.push({ index, write });
    else inserts.push({ index, write });
  }
  await runDeletes(tx, deletes, outcomes);
  // A row may be owned by another of the same batch, which one statement would not see.
  await runInserts(
    tx,
    inserts.filter(({ write }) => (write.owner ?? null) === null),
    outcomes,
  );
  await runInserts(
    tx,
    inserts.filter(({ write }) => (write.owner ?? null) !== null),
    outcomes,
  );
  for (const { index, write } of inserts) {
    if (write.op !== 'put' || outcomes[index]?.result !== 'exists') continue;
    outcomes[index] = undefined;
    updates.push({ index, write });
  }
  await runUpdates(tx, updates, outcomes);
  return outcomes.map((outcome) => outcome ?? { result: 'missing' });
}

/** Fails unless the fence's epoch is the newest; holds the row, so that no newer one can open before the commit. */
export async function requireFence(tx: Tx, { peer, epoch }: Fence): Promise<void> {
  const { rows } = await sql<{
    epoch: string;
  }>`select epoch::text as epoch from kds_sessions where peer = ${peer} for update`.execute(tx);
  if (rows[0]?.epoch !== String(epoch)) {
    throw new MeridianError('conflict', `another receiver for ${peer} has taken over; this one stops`);
  }
}

async function runDeletes(tx: Tx, deletes: readonly Indexed<Write>[], outcomes: (WriteOutcome | undefined)[]): Promise<void> {
  if (deletes.length === 0) return;
  const input = JSON.stringify(
    deletes.map(({ index, write }) => ({ index, ...keyOf(write.key), expect: write.expectVersion ?? null })),
  );
  const { rows } = await sql<{ index: number; version: number }>`
    delete from resources r using jsonb_to_recordset(${input}::jsonb) as d(index int, type text, mesh text, name text, expect int)
    where r.type = d.type and r.mesh = d.mesh and r.name = d.name and (d.expect is null or r.version = d.expect)
    returning d.index, r.version`.execute(tx);
  for (const { index, version } of rows) outcomes[index] = { result: 'deleted', version };
  await explainFailures(tx, deletes, outcomes);
}

async function runInserts(tx: Tx, inserts: readonly Indexed<Content>[], outcomes: (WriteOutcome | undefined)[]): Promise<void> {
  if (inserts.length === 0) return;
  const input = JSON.stringify(
    inserts.map(({ index, write }) => ({
      index,
      ...contentOf(write),
      owner_type: write.owner?.type ?? null,
      owner_mesh: write.owner?.mesh ?? null,
      owner_name: write.owner?.name ?? null,
    })),
  );
  // Only what was not inserted is told: of thousands of rows that is nearly always none.
  const { rows } = await sql<ResourceKey & { has_owner: boolean }>`
    with input as (
      select i.*, i.owner_type is null or exists (
        select 1 from resources o where o.type = i.owner_type and o.mesh = i.owner_mesh and o.name = i.owner_name) as has_owner
      from jsonb_to_recordset(${input}::jsonb) as i(type text, mesh text, name text, spec text, labels jsonb, status jsonb,
        sync_version text, owner_type text, owner_mesh text, owner_name text)
    ), inserted as (
      insert into resources (type, mesh, name, version, spec, labels, status, sync_version, owner_type, owner_mesh, owner_name, creation_time, modification_time)
      select type, mesh, name, 0, spec, labels, coalesce(status, '{}'), sync_version, owner_type, owner_mesh, owner_name, now() at time zone 'utc', now() at time zone 'utc'
      from input where has_owner on conflict do nothing returning type, mesh, name
    )
    select i.type, i.mesh, i.name, i.has_owner from input i
    where not exists (select 1 from inserted n where n.type = i.type and n.mesh = i.mesh and n.name = i.name)`.execute(tx);
  const hadOwner = new Map(rows.map((row) => [keyText(row), row.has_owner]));
  for (const { index, write } of inserts) {
    const message = `its owner ${write.owner?.type ?? ''} ${JSON.stringify(write.owner?.name ?? '')} does not exist`;
    const hasOwner = hadOwner.size === 0 ? undefined : hadOwner.get(keyText(write.key));
    if (hasOwner === undefined) outcomes[index] = { result: 'created', version: 0 };
    else outcomes[index] = hasOwner ? { result: 'exists' } : { result: 'rejected', message };
  }
}

async function runUpdates(tx: Tx, updates: readonly Indexed<Content>[], outcomes: (WriteOutcome | undefined)[]): Promise<void> {
  if (updates.length === 0) return;
  const input = JSON.stringify(
    updates.map(({ index, write }) => ({ index, ...contentOf(write), expect: write.expectVersion ?? null })),
  );
  const { rows } = await sql<{ index: number; version: number }>`
    update resources r set version = r.version + 1, spec = u.spec, labels = u.labels, status = coalesce(u.status, r.status),
      sync_version = u.sync_version, modification_time = now() at time zone 'utc'
    from jsonb_to_recordset(${input}::jsonb) as u(index int, type text, mesh text, name text, spec text, labels jsonb, status jsonb, sync_version text, expect int)
    where r.type = u.type and r.mesh = u.mesh and r.name = u.name and (u.expect is null or r.version = u.expect)
    returning u.index, r.version`.execute(tx);
  for (const { index, version } of rows) outcomes[index] = { result: 'updated', version };
  await explainFailures(tx, updates, outcomes);
}

/** Tells apart a row that is not there from one of another version. */
async function explainFailures(tx: Tx, writes: readonly Indexed<Write>[], outcomes: (WriteOutcome | undefined)[]): Promise<void> {
  const open = writes.filter(({ index }) => outcomes[index] === undefined);
  if (open.length === 0) return;
  const input = JSON.stringify(open.map(({ index, write }) => ({ index, ...keyOf(write.key) })));
  const { rows } = await sql<{ index: number }>`
    select k.index from jsonb_to_recordset(${input}::jsonb) as k(index int, type text, mesh text, name text)
    join resources r on r.type = k.type and r.mesh = k.mesh and r.name = k.name`.execute(tx);
  const present = new Set(rows.map(({ index }) => index));
  for (const { index } of open) outcomes[index] = { result: present.has(index) ? 'conflict' : 'missing' };
}

/** Why no table can hold the row, or null: found before, because one bad row would end the whole transaction. */
function unstorable({ key, labels, status }: Content): string | null {
  const limits = [
    ['name', key.name, 253],
    ['mesh', key.mesh, 100],
    ['type', key.type, 100],
  ] as const;
  for (const [field, value, most] of limits) {
    if (Array.from(value).length > most) return `${field}: must have at most ${String(most)} characters`;
    if (!isStorable(value)) return `${field}: must be valid text`;
  }
  // Both are jsonb; a spec is JSON in a text column, which keeps any string in its escaped form.
  if (!isStorableJson(labels)) return 'labels: must be valid text';
  if (!isStorableJson(status)) return 'status: must be valid text';
  return null;
}

/** No row can have another key, and to look for one fails the statement. */
export function canExist({ type, mesh, name }: ResourceKey): boolean {
  return isStorable(type) && isStorable(mesh) && isStorable(name);
}

function contentOf({ key, labels, spec, status, syncVersion }: Content): Record<string, unknown> {
  return { ...keyOf(key), spec: JSON.stringify(spec), labels, status: status ?? null, sync_version: syncVersion ?? null };
}

function keyOf({ type, mesh, name }: ResourceKey): ResourceKey {
  return { type, mesh, name };
}

function keyText({ type, mesh, name }: ResourceKey): string {
  return JSON.stringify([type, mesh, name]);
}
