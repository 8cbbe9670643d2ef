// The `resources` table as a ResourceStore: its reads and its transactions, the same on PostgreSQL and on PGlite. The statements
// that write are in single-write.ts and, for many rows, in write-statements.ts.
import { sql, type RawBuilder } from 'kysely';
import type { Logger } from '../base/log.ts';
import { keyText, type Resource, type ResourceKey } from '../resource/types.ts';
import { isStorable } from '../resource/storable-text.ts';
import { CallBatcher } from './call-batcher.ts';
import { CHANNEL, ChangeFeed, markPayload } from './change-feed.ts';
import { raiseEpochs } from './raise-epochs.ts';
import { ReadBatcher } from './read-batcher.ts';
import { ANSWER_LIMIT_MS } from './answer-in-time.ts';
import { GroupCommitWriter } from './group-commit-writer.ts';
import { listMetas, MAX_SCOPES, type RowScope } from './list-metas.ts';
import { GrowthAnalyzer } from './growth-analyzer.ts';
import type { Database } from './database.ts';
import { leadByLock } from './election.ts';
import {
  countVersions,
  pruneVersions,
  readVersionNumbers,
  readVersions,
  readVersionsAfter,
  trimVersions,
} from './history-statements.ts';
import type { ExportQuery, HistoryBounds, PruneProgress, ResourceVersion, Trimmed, VersionQuery } from './history-store.ts';
import { settledVersion } from './settled-version.ts';
import { SingleFlight } from './single-flight.ts';
import { canExist, columns, keyColumns, metaColumns, metaOf, resourceOf, type MetaRow, type Row } from './resource-row.ts';
import type {
  Fence,
  ListPage,
  ListQuery,
  ResourceMeta,
  MetaQuery,
  ResourceStore,
  StoreChange,
  Write,
  WriteOutcome,
} from './resource-store.ts';
import { runSingleWrite } from './single-write.ts';
import { StoreHealth } from './store-health.ts';
import { isSerializationFailure, isStalePlan } from './pg-errors.ts';
import { isOneStatement, requireFence, runWrites } from './write-statements.ts';

/**
 * Identifies the transactions that a statement sees, and the run of the server. After a crash a server may reuse the ids of lost
 * transactions, and a promoted standby has its own ids. Each recovery ends with a checkpoint, so the redo position differs. It is
 * null on a standby, where the end of a transaction may be visible before its changes.
 */
const currentSnapshot = sql`case when pg_is_in_recovery() then null else pg_current_snapshot()::text || ' ' ||
  (select pg_postmaster_start_time()::text || ' ' || redo_lsn::text from pg_control_checkpoint()) end`;

/**
 * The number of attempts at one statement or transaction. Each attempt has fewer conflicts, because others have committed
 * meanwhile.
 */
const ATTEMPTS = 5;

export class SqlStore implements ResourceStore {
  readonly #database: Database;
  readonly #feed: ChangeFeed;
  readonly #reader: ReadBatcher<Resource>;
  readonly #metas: ReadBatcher<ResourceMeta>;
  /** The batchers of scopes, by types. */
  readonly #scopes = new Map<string, CallBatcher<RowScope, ResourceMeta[]>>();
  readonly #fences: CallBatcher<string, number>;
  readonly #marks: CallBatcher<string, void>;
  readonly #writer: GroupCommitWriter;
  readonly #shared = new SingleFlight();
  readonly #health: StoreHealth;
  readonly #growth: GrowthAnalyzer;

  constructor(database: Database, log: Logger) {
    this.#database = database;
    this.#feed = new ChangeFeed(database, log);
    this.#health = new StoreHealth(log, database.db);
    this.#growth = new GrowthAnalyzer(database, log);
    this.#reader = new ReadBatcher((keys) => this.getMany(keys));
    this.#metas = new ReadBatcher(async (keys) => (await this.#find(metaColumns, keys)).map(metaOf));
    this.#fences = new CallBatcher((peers) => this.#health.watch('write', () => raiseEpochs(database.db, peers)));
    this.#marks = new CallBatcher((texts) => this.#try(() => this.#notifyMarks(texts)));
    this.#writer = new GroupCommitWriter({
      run: (writes) => this.writeBatch(writes),
      heldAmong: (writes) => this.#heldAmong(writes),
      now: () => database.clock.elapsed(),
      maxWaitMs: ANSWER_LIMIT_MS,
    });
  }

  async get(key: ResourceKey): Promise<Resource | undefined> {
    return await this.#reader.get(key);
  }

  async getMeta(key: ResourceKey): Promise<ResourceMeta | undefined> {
    return await this.#metas.get(key);
  }

  async getMany(keys: readonly ResourceKey[]): Promise<Resource[]> {
    return ((await this.#find(columns, keys)) as Row[]).map(resourceOf);
  }

  async list(query: ListQuery): Promise<Resource[]> {
    const { rows } = await this.#try(() =>
      sql<Row>`select ${columns} from resources r where ${pageOf(query)}`.execute(this.#database.bulk),
    );
    return rows.map(resourceOf);
  }

  async listPage(query: ListQuery): Promise<ListPage> {
    const { rows } = await this.#try(() =>
      sql<{ total: number; snapshot: string | null } & (Row | { readonly type: null })>`
        select t.total, t.snapshot, p.* from (
          select (select count(*)::int from resources r where ${conditions(query)}) as total, ${currentSnapshot} as snapshot) t
        left join (select ${columns} from resources r where ${pageOf(query)}) p on true
        order by p.mesh collate "C", p.name collate "C"`.execute(this.#database.db),
    );
    const [{ total, snapshot }] = rows as [(typeof rows)[number]];
    return { rows: rows.flatMap((row) => (row.type === null ? [] : [resourceOf(row)])), total, snapshot };
  }

  async snapshot(): Promise<string | null> {
    const { rows } = await this.#shared.call('snapshot', () =>
      this.#try(() => sql<{ snapshot: string | null }>`select ${currentSnapshot} as snapshot`.execute(this.#database.db)),
    );
    return rows[0]?.snapshot ?? null;
  }

  async listMeta({ types, ...scope }: MetaQuery): Promise<ResourceMeta[]> {
    return await this.#scopesOf(types).call(scope);
  }

  /** There are few lists of types: those of each side's rules, and single types. */
  #scopesOf(types: readonly string[]): CallBatcher<RowScope, ResourceMeta[]> {
    const key = types.join(' ');
    const read = (scopes: readonly RowScope[]): Promise<ResourceMeta[][]> =>
      this.#try(() => listMetas(this.#database.bulk, types, scopes));
    const known = this.#scopes.get(key) ?? new CallBatcher(read, MAX_SCOPES);
    this.#scopes.set(key, known);
    return known;
  }

  async digest(types: readonly string[]): Promise<string> {
    // A row that is made again has another time. A sum does not depend on the order of the rows.
    const state = sql`r.type || '/' || r.mesh || '/' || r.name || ' ' || r.version || ' ' || r.modification_time`;
    const { rows } = await this.#try(() =>
      sql<{ digest: string }>`select count(*) || ' ' || coalesce(sum(hashtextextended(${state}, 0)::numeric), 0) as digest
        from resources r where r.type = any(${[...types]}::text[])`.execute(this.#database.bulk),
    );
    return rows[0]?.digest ?? '';
  }

  async count(query: Omit<ListQuery, 'limit' | 'offset'>): Promise<number> {
    const { rows } = await this.#shared.call(`count ${JSON.stringify(query)}`, () =>
      this.#try(() =>
        sql<{ n: string }>`select count(*)::text as n from resources r where ${conditions(query)}`.execute(this.#database.db),
      ),
    );
    return Number(rows[0]?.n);
  }

  async countAll(): Promise<{ type: string; mesh: string; total: number }[]> {
    const { rows } = await this.#try(() =>
      sql<{
        type: string;
        mesh: string;
        total: number;
      }>`select type, mesh, count(*)::int as total from resources group by type, mesh`.execute(this.#database.db),
    );
    return rows;
  }

  async write(write: Write): Promise<WriteOutcome> {
    return await this.#writer.write(write);
  }

  async writeBatch(writes: readonly Write[], fence?: Fence): Promise<WriteOutcome[]> {
    return this.#counted(await this.#commit(writes, fence));
  }

  #counted(outcomes: WriteOutcome[]): WriteOutcome[] {
    const created = outcomes.filter(({ result }) => result === 'created').length;
    if (created > 0) this.#growth.created(created);
    return outcomes;
  }

  async #commit(writes: readonly Write[], fence: Fence | undefined): Promise<WriteOutcome[]> {
    const [only] = writes;
    if (fence === undefined && only !== undefined && writes.length === 1) {
      const outcome = await this.#write(() => runSingleWrite(this.#database.db, only));
      if (outcome !== null) return [outcome];
    }
    // One statement is a transaction by itself; without BEGIN and COMMIT it is one round trip in place of three.
    if (fence === undefined && isOneStatement(writes)) return await this.#write(() => runWrites(this.#database.db, writes));
    return await this.#write(() =>
      this.#database.bulk.transaction().execute(async (tx) => {
        if (fence !== undefined) await requireFence(tx, fence);
        return await runWrites(tx, writes);
      }),
    );
  }

  async writeAll(writes: readonly Write[]): Promise<WriteOutcome[]> {
    let outcomes: WriteOutcome[] = [];
    const undo = new Error('rolled back');
    let isUndone = false;
    await this.#write(() =>
      this.#database.bulk.transaction().execute(async (tx) => {
        outcomes = await runWrites(tx, writes);
        if (!outcomes.every(({ result }) => SUCCESSES.has(result))) throw undo;
      }),
    ).catch((error: unknown) => {
      if (error !== undo) throw error;
      isUndone = true;
    });
    return isUndone ? outcomes : this.#counted(outcomes);
  }

  async deletedMeshes(names: readonly string[]): Promise<string[]> {
    const { rows } = await this.#try(() =>
      sql<{ name: string }>`select name from meridian_deleted_meshes
        where name = any(${names.filter(isStorable)}::text[])`.execute(this.#database.db),
    );
    return rows.map(({ name }) => name);
  }

  async acquireFencingToken(peer: string): Promise<number> {
    return await this.#fences.call(peer);
  }

  async epochs(peers: readonly string[]): Promise<Fence[]> {
    const { rows } = await this.#try(() =>
      sql<{ peer: string; epoch: string }>`select peer, epoch::text as epoch from kds_sessions
        where peer = any(${[...peers]}::text[])`.execute(this.#database.db),
    );
    return rows.map(({ peer, epoch }) => ({ peer, epoch: Number(epoch) }));
  }

  async versions(query: VersionQuery): Promise<ResourceVersion[]> {
    return await this.#try(() => readVersions(this.#database.db, query));
  }

  async versionNumbers(key: ResourceKey): Promise<number[]> {
    return await this.#try(() => readVersionNumbers(this.#database.db, key));
  }

  async settledVersion(): Promise<number> {
    const { db, clock } = this.#database;
    return await this.#shared.call('settled version', () => this.#try(() => settledVersion(db, clock)));
  }

  async versionsAfter(query: ExportQuery): Promise<ResourceVersion[]> {
    return await this.#try(() => readVersionsAfter(this.#database.db, query));
  }

  async countVersions(): Promise<number> {
    return await this.#try(() => countVersions(this.#database.bulk));
  }

  async trimVersions(after: number, most: number): Promise<Trimmed> {
    return await this.#write(() => trimVersions(this.#database.bulk, after, most));
  }

  async pruneVersions(bounds: HistoryBounds, progress: PruneProgress): Promise<PruneProgress> {
    return await this.#write(() => pruneVersions(this.#database, bounds, progress));
  }

  changes(signal: AbortSignal, types?: Iterable<string>): AsyncIterable<StoreChange> {
    return this.#feed.changes(signal, types);
  }

  async mark(id: string): Promise<void> {
    await this.#marks.call(markPayload(id));
  }

  async lead(name: string, task: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    const { session, clock } = this.#database;
    await (session === null ? task(signal) : leadByLock({ session, clock }, name, task, signal));
  }

  async ping(): Promise<void> {
    await this.#health.ping();
  }

  async close(): Promise<void> {
    await this.#feed.close();
    await this.#database.close();
  }

  async #notifyMarks(texts: readonly string[]): Promise<void[]> {
    await sql`select pg_notify(${CHANNEL}, text) from unnest(${texts}::text[]) as text`.execute(this.#database.db);
    return texts.map(() => undefined);
  }

  /** The writes whose row, or whose owner's row, another transaction locks. */
  async #heldAmong(writes: readonly Write[]): Promise<ReadonlySet<Write>> {
    const keysOf = (write: Write): ResourceKey[] =>
      write.op === 'delete' || write.op === 'status' ? [write.key] : [write.key, write.owner ?? write.key];
    const keys = writes.flatMap(keysOf);
    // An owner is locked FOR KEY SHARE while a row of it is created. It counts as free.
    const free = new Set((await this.#find(keyColumns, keys, sql`for no key update of r skip locked`)).map(keyText));
    const held = new Set((await this.#find(keyColumns, keys)).map(keyText).filter((key) => !free.has(key)));
    return new Set(writes.filter((write) => keysOf(write).some((key) => held.has(keyText(key)))));
  }

  async #write<T>(run: () => Promise<T>): Promise<T> {
    return await this.#health.watch('write', () => retryTransient(run));
  }

  async #try<T>(run: () => Promise<T>): Promise<T> {
    return await this.#health.watch('read', () => retryTransient(run));
  }

  async #find(selected: RawBuilder<unknown>, keys: readonly ResourceKey[], locking = sql``): Promise<MetaRow[]> {
    const possible = keys.filter(canExist);
    if (possible.length === 0) return [];
    const input = JSON.stringify(possible.map(({ type, mesh, name }) => ({ type, mesh, name })));
    const { rows } = await this.#try(() =>
      sql<MetaRow>`select ${selected} from jsonb_to_recordset(${input}::jsonb) as k(type text, mesh text, name text)
        join resources r on r.type = k.type and r.mesh = k.mesh and r.name = k.name ${locking}`.execute(this.#database.db),
    );
    return rows;
  }
}

/**
 * A write that lost the race was rolled back: retry it, and it sees the winner's rows. A write that met a stale plan gets another
 * session.
 */
async function retryTransient<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      if (attempt === ATTEMPTS || !(isSerializationFailure(error) || isStalePlan(error))) throw error;
    }
  }
}

const SUCCESSES: ReadonlySet<string> = new Set(['created', 'updated', 'deleted']);

/** The filter, the order and the page of a list. */
function pageOf({ limit, offset, ...query }: ListQuery): RawBuilder<unknown> {
  const page = sql`${limit === undefined ? sql`` : sql`limit ${limit}`} ${offset === undefined ? sql`` : sql`offset ${offset}`}`;
  return sql`${conditions(query)} order by r.mesh collate "C", r.name collate "C" ${page}`;
}

function conditions({
  type,
  mesh,
  labels,
  nameContains,
  specContains,
  statusKey,
}: Omit<ListQuery, 'limit' | 'offset'>): RawBuilder<unknown> {
  const parts = [sql`r.type = ${type}`];
  // Use the collation of the index that sorts pages.
  if (mesh !== undefined) parts.push(sql`r.mesh collate "C" = ${mesh}`);
  if (labels !== undefined) parts.push(sql`r.labels @> ${JSON.stringify(labels)}::jsonb`);
  if (nameContains !== undefined) parts.push(sql`r.name like ${`%${escapeLike(nameContains)}%`}`);
  if (statusKey !== undefined) parts.push(sql`jsonb_exists(r.status, ${statusKey})`);
  if (specContains !== undefined) parts.push(sql`position(${specContains} in r.spec) > 0`);
  return sql.join(parts, sql` and `);
}

function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}
