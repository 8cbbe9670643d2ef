// Many writes, one transaction, one statement per kind of write: never a statement per row. Every write gets its own outcome. A
// failed write does not affect the others.
import { setImmediate } from 'node:timers/promises';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import { printJson } from '../base/long-lists.ts';
import { MeridianError } from '../base/errors.ts';
import { compareKeys, keyOf, keyText, type ResourceKey } from '../resource/types.ts';
import type { Tables } from './database.ts';
import { canExist, createdMs, timestampOf, utc } from './resource-row.ts';
import type { Fence, RowWrite, Write, WriteOutcome } from './resource-store.ts';
import { authorsText, mayReplaceRow, unstorable } from './single-write.ts';

type Tx = Kysely<Tables>;
type Delete = Extract<Write, { op: 'delete' }>;
type Put = Extract<Write, { op: 'put' }>;
type Update = Extract<Write, { op: 'create' | 'update' }>;
type StatusWrite = Extract<Write, { op: 'status' }>;
type Indexed<T> = { readonly index: number; readonly write: T };
/** The writes of a transaction. @property hasAuthors whether a person makes one of them: then each statement says who */
type Run = { readonly tx: Tx; readonly outcomes: (WriteOutcome | undefined)[]; readonly hasAuthors: boolean };

/**
 * The number of rows of an insert. The next statement is prepared while the database runs this one. It is more than 1,000: from
 * there on the trigger notifies the type, not keys.
 */
const ROWS_AT_ONCE = 1_250;
/** Whether `runWrites` needs only one statement, except for a second one that explains failures. */
export function isOneStatement(writes: readonly Write[]): boolean {
  const [first] = writes;
  if (first === undefined || writes.some((write) => statementOf(write) !== statementOf(first))) return false;
  return writes.length <= ROWS_AT_ONCE || !isInPieces(first);
}

function isInPieces({ op }: Write): boolean {
  return op === 'create' || op === 'put';
}

/** The batch key of a write: writes with equal batch keys go into one statement. */
function statementOf(write: Write): string {
  if (write.op === 'delete' || write.op === 'update' || write.op === 'status') return write.op;
  const isOwned = (write.owner ?? null) !== null;
  if (write.op !== 'put') return `create ${String(isOwned)}`;
  return `put ${String(isOwned)} ${String(write.status === undefined)} ${String(write.ownOnly === true)}`;
}

/**
 * Runs the writes in an open transaction: deletes, then creates, puts, updates and statuses, each in the order of their keys, so that two
 * transactions with the same rows cannot deadlock. Returns the outcomes in the order of `writes`.
 */
export async function runWrites(tx: Tx, writes: readonly Write[]): Promise<WriteOutcome[]> {
  const outcomes = new Array<WriteOutcome | undefined>(writes.length);
  const deletes: Indexed<Delete>[] = [];
  const inserts: Indexed<RowWrite>[] = [];
  const puts: Indexed<Put>[] = [];
  const updates: Indexed<Update>[] = [];
  const statuses: Indexed<StatusWrite>[] = [];
  for (const { index, write } of inOrderOfKeys(writes)) {
    if (write.op === 'delete') {
      if (canExist(write.key)) deletes.push({ index, write });
      else outcomes[index] = { result: 'missing' };
      continue;
    }
    const message = unstorable(write);
    if (message !== null) outcomes[index] = { result: 'rejected', message };
    else if (write.op === 'update') updates.push({ index, write });
    else if (write.op === 'status') statuses.push({ index, write });
    else if (write.op === 'put') puts.push({ index, write });
    else inserts.push({ index, write });
  }
  const run = { tx, outcomes, hasAuthors: writes.some(({ by }) => by !== undefined) };
  await runDeletes(run, deletes);
  await runOverlapped([
    ...inPieces(inserts).map((piece) => () => readyInserts(run, piece)),
    ...inPieces(puts).map((piece) => () => readyPuts(run, piece)),
  ]);
  await runUpdates(run, updates);
  await runStatuses(run, statuses);
  return outcomes.map((outcome) => outcome ?? { result: 'missing' });
}

function inOrderOfKeys(writes: readonly Write[]): Indexed<Write>[] {
  return writes.map((write, index) => ({ index, write })).sort((one, other) => compareKeys(one.write.key, other.write.key));
}

/** Divides writes into statements. Those without an owner come first, because a statement does not see an owner that it creates itself. */
function inPieces<T extends RowWrite>(writes: readonly Indexed<T>[]): Indexed<T>[][] {
  const groups = Object.values(Object.groupBy(writes, ({ write }) => statementOf(write))).filter((group) => group !== undefined);
  const isOwned = (group: readonly Indexed<T>[]): number => Number((group[0]?.write.owner ?? null) !== null);
  return groups
    .toSorted((one, other) => isOwned(one) - isOwned(other))
    .flatMap((group) =>
      Array.from({ length: Math.ceil(group.length / ROWS_AT_ONCE) }, (_, piece) =>
        group.slice(piece * ROWS_AT_ONCE, (piece + 1) * ROWS_AT_ONCE),
      ),
    );
}

/** A prepared statement; it runs when it is called. */
type Ready = () => Promise<void>;

/** Runs statements one after the other. Each is prepared while the previous one runs. */
async function runOverlapped(statements: readonly (() => Ready)[]): Promise<void> {
  let running = Promise.resolve();
  for (const [index, makeReady] of statements.entries()) {
    const run = makeReady();
    await running;
    running = run();
    if (index + 1 === statements.length) break;
    // It is awaited in the next iteration. Meanwhile its bytes are sent.
    running.catch(() => undefined);
    await setImmediate();
  }
  await running;
}

/** Fails unless the fence's epoch is the newest. Locks the row, so that no newer fence can open before the commit. */
export async function requireFence(tx: Tx, { peer, epoch }: Fence): Promise<void> {
  const { rows } = await sql<{
    epoch: string;
  }>`select epoch::text as epoch from kds_sessions where peer = ${peer} for update`.execute(tx);
  if (rows[0]?.epoch !== String(epoch)) {
    throw new MeridianError('conflict', `another receiver for ${peer} has taken over; this one stops`);
  }
}

async function runDeletes({ tx, outcomes, hasAuthors }: Run, deletes: readonly Indexed<Delete>[]): Promise<void> {
  if (deletes.length === 0) return;
  const input = JSON.stringify(deletes.map(({ index, write }) => ({ index, ...keyOf(write.key), ...expectedOf(write) })));
  const said = authorsOf(deletes, hasAuthors);
  const { rows } = await sql<{ index: number; version: number }>`${said.first}
    delete from resources r using jsonb_to_recordset(${input}::jsonb) as d(index int, type text, mesh text, name text, expect int, created timestamp)${said.from}
    where r.type = d.type and r.mesh = d.mesh and r.name = d.name and ${isExpected('d')}
    returning d.index, r.version`.execute(tx);
  for (const { index, version } of rows) outcomes[index] = { result: 'deleted', version };
  await explainFailures(tx, deletes, outcomes);
}

/**
 * The rows of an insert as a table `input`, with a flag whether the owner exists. The few owners are looked up one by one: with a
 * join on the owners of the rows, the planner would scan `resources`.
 */
function inputOf(writes: readonly Indexed<RowWrite>[], hasAuthors: boolean): RawBuilder<unknown> {
  const owners = new Map<string, ResourceKey>();
  const rows = writes.map(({ index, write }) => {
    const { owner } = write;
    if (owner !== undefined && owner !== null) owners.set(keyText(owner), keyOf(owner));
    const content: Record<string, unknown> = contentOf(index, write);
    content['owner_type'] = owner?.type;
    content['owner_mesh'] = owner?.mesh;
    content['owner_name'] = owner?.name;
    return content;
  });
  const said = authorsOf(writes, hasAuthors);
  return sql`${said.part} owners as materialized (
      select o.* from jsonb_to_recordset(${JSON.stringify([...owners.values()])}::jsonb) as k(type text, mesh text, name text)
      cross join lateral (
        select r.type, r.mesh, r.name from resources r where r.type = k.type and r.mesh = k.mesh and r.name = k.name limit 1) o
    ), input as (
      select i.*, i.owner_type is null or (i.owner_type, i.owner_mesh, i.owner_name) in (select type, mesh, name from owners) as has_owner
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as i(index int, type text, mesh text, name text, spec text, labels jsonb,
        status jsonb, sync_version text, owner_type text, owner_mesh text, owner_name text)${said.from})`;
}

const nowUtc = sql`now() at time zone 'utc'`;

/** @param only a condition on a row of `input` */
const insertInput = (
  only: RawBuilder<unknown>,
): RawBuilder<unknown> => sql`into resources as r (type, mesh, name, version, spec, labels, status, sync_version,
    owner_type, owner_mesh, owner_name, creation_time, modification_time)
  select type, mesh, name, 0, spec, labels, coalesce(status, '{}'), sync_version,
    owner_type, owner_mesh, owner_name, ${nowUtc}, ${nowUtc}
  from input i where has_owner and ${only}`;

function withoutOwner({ owner }: RowWrite): WriteOutcome {
  return { result: 'rejected', message: `its owner ${owner?.type ?? ''} ${JSON.stringify(owner?.name ?? '')} does not exist` };
}

function readyInserts({ tx, outcomes, hasAuthors }: Run, inserts: readonly Indexed<RowWrite>[]): Ready {
  // Return only the rows that were not inserted, usually none, and the time of all the others.
  const statement = sql<{ index: number | null; has_owner: boolean; created: string }>`
    with ${inputOf(inserts, hasAuthors)}, inserted as (insert ${insertInput(sql`true`)} on conflict do nothing returning type, mesh, name)
    select i.index, i.has_owner, null as created from input i
    where not exists (select 1 from inserted n where n.type = i.type and n.mesh = i.mesh and n.name = i.name)
    union all select null, null, (${nowUtc})::text`;
  return async () => {
    const { rows } = await statement.execute(tx);
    const hadOwner = new Map(rows.map((row) => [row.index, row.has_owner]));
    const creationTime = utc(rows.find(({ index }) => index === null)?.created ?? '');
    for (const { index, write } of inserts) {
      const hasOwner = hadOwner.get(index);
      if (hasOwner === undefined) outcomes[index] = { result: 'created', version: 0, creationTime };
      else outcomes[index] = hasOwner ? { result: 'exists' } : withoutOwner(write);
    }
  };
}

/** The condition is checked before the INSERT: ON CONFLICT would lock the row of another writer and wait for its transaction. */
const mayReplaceIfAny = sql`coalesce((
  select ${sql.raw(mayReplaceRow('i.labels'))} is true from resources r where r.type = i.type and r.mesh = i.mesh and r.name = i.name limit 1), true)`;

/** Prepares puts. @param puts all of them have a status or none, and all of them are for own rows only or none */
function readyPuts({ tx, outcomes, hasAuthors }: Run, puts: readonly Indexed<Put>[]): Ready {
  const [first] = puts;
  const ownOnly = first?.write.ownOnly === true;
  const statement = sql<{ index: number; has_owner: boolean; version: number | null; created: string }>`
    with ${inputOf(puts, hasAuthors)}, stored as (
      insert ${insertInput(ownOnly ? mayReplaceIfAny : sql`true`)} on conflict (name, mesh, type) do update
      set version = r.version + 1, spec = excluded.spec, labels = excluded.labels, sync_version = excluded.sync_version,
        ${first?.write.status === undefined ? sql`` : sql`status = excluded.status,`} modification_time = excluded.modification_time
      ${ownOnly ? sql.raw(`where ${mayReplaceRow('excluded.labels')}`) : sql``}
      returning r.type, r.mesh, r.name, r.version, r.creation_time::text as created)
    select i.index, i.has_owner, s.version, s.created
    from input i left join stored s on s.type = i.type and s.mesh = i.mesh and s.name = i.name`;
  return async () => {
    const { rows } = await statement.execute(tx);
    const found = new Map(rows.map((row) => [row.index, row]));
    for (const { index, write } of puts) {
      const { has_owner: hasOwner = false, version = null, created = '' } = found.get(index) ?? {};
      // A row starts with version 0, and every update raises it.
      if (version !== null)
        outcomes[index] = { result: version === 0 ? 'created' : 'updated', version, creationTime: utc(created) };
      else outcomes[index] = hasOwner ? { result: 'conflict' } : withoutOwner(write);
    }
  };
}

async function runUpdates({ tx, outcomes, hasAuthors }: Run, updates: readonly Indexed<Update>[]): Promise<void> {
  if (updates.length === 0) return;
  const input = JSON.stringify(updates.map(({ index, write }) => ({ ...contentOf(index, write), ...expectedOf(write) })));
  const said = authorsOf(updates, hasAuthors);
  const { rows } = await sql<{ index: number; version: number; created: string }>`${said.first}
    update resources r set version = r.version + 1, spec = u.spec, labels = u.labels, status = coalesce(u.status, r.status),
      sync_version = u.sync_version, modification_time = now() at time zone 'utc'
    from jsonb_to_recordset(${input}::jsonb) as u(index int, type text, mesh text, name text, spec text, labels jsonb, status jsonb, sync_version text, expect int, created timestamp)${said.from}
    where r.type = u.type and r.mesh = u.mesh and r.name = u.name and ${isExpected('u')}
    returning u.index, r.version, r.creation_time::text as created`.execute(tx);
  for (const { index, version, created } of rows) outcomes[index] = { result: 'updated', version, creationTime: utc(created) };
  await explainFailures(tx, updates, outcomes);
}

/** The spec is not touched, so PostgreSQL neither reads nor writes a long one. */
async function runStatuses({ tx, outcomes }: Run, statuses: readonly Indexed<StatusWrite>[]): Promise<void> {
  if (statuses.length === 0) return;
  const input = JSON.stringify(
    statuses.map(({ index, write }) => ({ index, ...keyOf(write.key), status: write.status, ...expectedOf(write) })),
  );
  const { rows } = await sql<{ index: number; version: number; created: string }>`
    update resources r set version = r.version + 1, status = coalesce(r.status, '{}') || u.status, modification_time = ${nowUtc}
    from jsonb_to_recordset(${input}::jsonb) as u(index int, type text, mesh text, name text, status jsonb, expect int, created timestamp)
    where r.type = u.type and r.mesh = u.mesh and r.name = u.name and ${isExpected('u')}
    returning u.index, r.version, r.creation_time::text as created`.execute(tx);
  for (const { index, version, created } of rows) outcomes[index] = { result: 'updated', version, creationTime: utc(created) };
  await explainFailures(tx, statuses, outcomes);
}

/** The state that a row must still have: columns of the input of `isExpected`. */
function expectedOf({ expectVersion, expectCreation }: Update | StatusWrite | Delete): object {
  return { expect: expectVersion ?? null, created: timestampOf(expectCreation) };
}

/**
 * A condition on the state of a row.
 * @param input the name of the table with the expected version and time of creation of each row
 */
function isExpected(input: string): RawBuilder<unknown> {
  const [version, created] = [`${input}.expect`, `${input}.created`];
  return sql.raw(`(${version} is null or r.version = ${version}) and (${created} is null or ${createdMs} = ${created})`);
}

/** Distinguishes a missing row from a row of another version, or another row. */
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

/** Parts of a statement: at its beginning, among its other common tables, and at the end of its tables. */
type Said = Readonly<Record<'first' | 'part' | 'from', RawBuilder<unknown>>>;

const nothingSaid: Said = { first: sql``, part: sql``, from: sql`` };

/** Tells the triggers of the history who writes the rows of a statement (migrations/0010_one_trigger_a_statement.sql). It holds until the commit. */
function authorsOf(writes: readonly Indexed<Write>[], hasAuthors: boolean): Said {
  if (!hasAuthors) return nothingSaid;
  const said = sql`said as materialized (select set_config('meridian.authors', ${authorsText(writes.map(({ write }) => write))}, true))`;
  return { first: sql`with ${said}`, part: sql`${said},`, from: sql`, said` };
}

/** JSON omits undefined values; they are read as NULL. */
function contentOf(index: number, { key, labels, spec, status, syncVersion }: RowWrite): Record<string, unknown> {
  const { type, mesh, name } = key;
  return { index, type, mesh, name, spec: printJson(spec), labels, status, sync_version: syncVersion };
}
