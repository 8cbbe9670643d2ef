// A ResourceStore in memory for tests that need no database. It passes the contract of test/store/contract.ts.
import { compareText } from '../../src/base/compare-text.ts';
import { MeridianError } from '../../src/base/errors.ts';
import { markPayload } from '../../src/store/change-feed.ts';
import { mayReplace } from '../../src/resource/ownership.ts';
import { isStorable, isStorableJson } from '../../src/resource/storable-text.ts';
import { fenceMark } from '../../src/store/fence-watch.ts';
import { TinyHistory } from './tiny-history.ts';
import type {
  ExportQuery,
  HistoryBounds,
  PruneProgress,
  ResourceVersion,
  Trimmed,
  VersionQuery,
} from '../../src/store/history-store.ts';
import type {
  Author,
  Fence,
  ListQuery,
  ResourceMeta,
  MetaQuery,
  ResourceStore,
  RowWrite,
  ListPage,
  StoreChange,
  Write,
  WriteOutcome,
} from '../../src/store/resource-store.ts';
import type { Resource, ResourceKey } from '../../src/resource/types.ts';

export class TinyStore implements ResourceStore {
  readonly rows = new Map<string, Resource>();
  /** Called before each write is applied; a returned outcome replaces it. */
  beforeWrite: (write: Write) => WriteOutcome | undefined | Promise<WriteOutcome | undefined> = () => undefined;
  /** The time of new rows; by default time 0. */
  readonly #now: () => Date;
  readonly #followers = new Set<(change: StoreChange) => void>();
  #isFeedLost = false;
  readonly #epochs = new Map<string, number>();
  readonly #deletedMeshes = new Set<string>();
  readonly #history = new TinyHistory();

  constructor(now = (): Date => new Date(0)) {
    this.#now = now;
  }

  /** Adds zones, because the Zone owns the rows of a zone on global. */
  withZones(...names: string[]): this {
    for (const name of names) this.#apply({ op: 'create', key: { type: 'Zone', mesh: '', name }, labels: {}, spec: {} }, []);
    return this;
  }

  get(key: ResourceKey): Promise<Resource | undefined> {
    return Promise.resolve(this.rows.get(idOf(key)));
  }

  getMeta(key: ResourceKey): Promise<ResourceMeta | undefined> {
    return this.get(key);
  }

  getMany(keys: readonly ResourceKey[]): Promise<Resource[]> {
    return Promise.resolve(keys.map((key) => this.rows.get(idOf(key))).filter((row) => row !== undefined));
  }

  list({ limit, offset = 0, ...query }: ListQuery): Promise<Resource[]> {
    return Promise.resolve(this.#matching(query).slice(offset, limit === undefined ? undefined : offset + limit));
  }

  async listPage(query: ListQuery): Promise<ListPage> {
    return { rows: await this.list(query), total: this.#matching(query).length, snapshot: null };
  }

  snapshot(): Promise<null> {
    return Promise.resolve(null);
  }

  listMeta({ types, labels, namePrefix, owner }: MetaQuery): Promise<ResourceMeta[]> {
    const hasLabels = (row: Resource): boolean =>
      labels !== undefined && Object.entries(labels).every(([key, value]) => row.labels[key] === value);
    const isFound = (row: Resource): boolean =>
      (labels === undefined && namePrefix === undefined && owner === undefined) ||
      hasLabels(row) ||
      (namePrefix !== undefined && row.name.startsWith(namePrefix)) ||
      (owner !== undefined && row.owner !== null && idOf(row.owner) === idOf(owner));
    return Promise.resolve([...this.rows.values()].filter((row) => types.includes(row.type) && isFound(row)));
  }

  digest(types: readonly string[]): Promise<string> {
    const rows = [...this.rows.values()].filter(({ type }) => types.includes(type));
    const states = rows.map(({ version, modificationTime, ...row }) => [idOf(row), version, modificationTime]);
    return Promise.resolve(JSON.stringify(states.sort()));
  }

  count(query: Omit<ListQuery, 'limit' | 'offset'>): Promise<number> {
    return Promise.resolve(this.#matching(query).length);
  }

  async write(write: Write): Promise<WriteOutcome> {
    const { outcomes, changed } = await this.#run([write]);
    this.#tell(changed);
    return outcomes[0] ?? { result: 'missing' };
  }

  async writeBatch(writes: readonly Write[], fence?: Fence): Promise<WriteOutcome[]> {
    if (fence !== undefined && this.#epochs.get(fence.peer) !== fence.epoch)
      throw new MeridianError('conflict', `another receiver for ${fence.peer} has taken over; this one stops`);
    const { outcomes, changed } = await this.#run(writes);
    this.#tell(changed);
    return outcomes;
  }

  async writeAll(writes: readonly Write[]): Promise<WriteOutcome[]> {
    const [rows, deleted] = [new Map(this.rows), new Set(this.#deletedMeshes)];
    const forget = this.#history.mark();
    const { outcomes, changed } = await this.#run(writes);
    if (outcomes.every((outcome) => 'version' in outcome)) this.#tell(changed);
    else {
      forget();
      this.rows.clear();
      for (const [id, row] of rows) this.rows.set(id, row);
      for (const name of this.#deletedMeshes) if (!deleted.has(name)) this.#deletedMeshes.delete(name);
    }
    return outcomes;
  }

  countAll(): Promise<{ type: string; mesh: string; total: number }[]> {
    const counts = new Map<string, { type: string; mesh: string; total: number }>();
    for (const { type, mesh } of this.rows.values()) {
      const id = JSON.stringify([type, mesh]);
      counts.set(id, { type, mesh, total: (counts.get(id)?.total ?? 0) + 1 });
    }
    return Promise.resolve([...counts.values()]);
  }

  async *changes(signal: AbortSignal, types?: Iterable<string>): AsyncIterable<StoreChange> {
    const queue: StoreChange[] = this.#isFeedLost ? [] : [{ kind: 'all' }];
    let wake: () => void = () => undefined;
    const followed = types === undefined ? null : new Set(types);
    const follow = (change: StoreChange): void => {
      const heard = followed === null ? this.#withoutInsights(change) : ofTypes(change, followed);
      if (heard !== null) queue.push(heard);
      wake();
    };
    this.#followers.add(follow);
    signal.addEventListener('abort', () => wake());
    while (!signal.aborted) {
      const change = queue.shift();
      if (change !== undefined) yield change;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
    this.#followers.delete(follow);
  }

  async mark(id: string): Promise<void> {
    markPayload(id);
    this.#publish({ kind: 'mark', id });
  }

  /** The feed loses its connection. Its followers miss every change until the returned function is called. */
  loseFeed(): () => void {
    this.#publish({ kind: 'lost' });
    this.#isFeedLost = true;
    return () => {
      this.#isFeedLost = false;
      this.#publish({ kind: 'all' });
    };
  }

  deletedMeshes(names: readonly string[]): Promise<string[]> {
    return Promise.resolve(names.filter((name) => this.#deletedMeshes.has(name)));
  }

  versions(query: VersionQuery): Promise<ResourceVersion[]> {
    return this.#history.versions(query);
  }

  versionNumbers(key: ResourceKey): Promise<number[]> {
    return this.#history.versionNumbers(key);
  }

  settledVersion(): Promise<number> {
    return this.#history.settledVersion();
  }

  versionsAfter(query: ExportQuery): Promise<ResourceVersion[]> {
    return this.#history.versionsAfter(query);
  }

  countVersions(): Promise<number> {
    return this.#history.countVersions();
  }

  trimVersions(after: number, most: number): Promise<Trimmed> {
    return this.#history.trimVersions(after, most);
  }

  pruneVersions(bounds: HistoryBounds, progress: PruneProgress): Promise<PruneProgress> {
    return this.#history.pruneVersions(bounds, progress);
  }

  async acquireFencingToken(peer: string): Promise<number> {
    const epoch = (this.#epochs.get(peer) ?? 0) + 1;
    this.#epochs.set(peer, epoch);
    await this.mark(fenceMark({ peer, epoch }));
    return epoch;
  }

  epochs(peers: readonly string[]): Promise<Fence[]> {
    const known = peers.map((peer) => ({ peer, epoch: this.#epochs.get(peer) ?? 0 }));
    return Promise.resolve(known.filter(({ epoch }) => epoch > 0));
  }

  lead(_name: string, task: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    return task(signal);
  }

  ping(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #matching({ type, mesh, labels = {}, nameContains = '', specContains = '', statusKey }: ListQuery): Resource[] {
    const hasLabels = (row: Resource): boolean => Object.entries(labels).every(([key, value]) => row.labels[key] === value);
    return [...this.rows.values()]
      .filter((row) => row.type === type && (mesh === undefined || row.mesh === mesh))
      .filter((row) => row.name.includes(nameContains) && hasLabels(row))
      .filter(({ status }) => statusKey === undefined || Object.hasOwn(status, statusKey))
      .filter((row) => JSON.stringify(row.spec).includes(specContains))
      .sort((a, b) => compareText(a.mesh, b.mesh) || compareText(a.name, b.name));
  }

  /** Distinguishes a row that a test put into `rows` by its version. */
  #tell(keys: readonly ResourceKey[]): void {
    if (keys.length > 0) this.#publish({ kind: 'keys', keys });
  }

  /** The change without insights that have a channel of their own; null if it names nothing else. */
  #withoutInsights(change: StoreChange): StoreChange | null {
    if (change.kind !== 'keys') return change;
    const isCopy = (key: ResourceKey): boolean => (this.rows.get(idOf(key))?.syncVersion ?? null) !== null;
    const keys = change.keys.filter((key) => key.type !== 'ZoneInsight' && !(key.type === 'DataplaneInsight' && isCopy(key)));
    return keys.length === 0 ? null : { kind: 'keys', keys };
  }

  #publish(change: StoreChange): void {
    if (!this.#isFeedLost) for (const follow of this.#followers) follow(change);
  }

  /** The order of writes: deletes, then creations with owners first, then updates. */
  async #run(writes: readonly Write[]): Promise<{ outcomes: WriteOutcome[]; changed: ResourceKey[] }> {
    const outcomes = new Map<number, WriteOutcome>();
    const changed: ResourceKey[] = [];
    const indexed = writes.map((write, index) => ({ write, index })).sort((a, b) => permitOf(a.write) - permitOf(b.write));
    for (const { write, index } of indexed) outcomes.set(index, (await this.beforeWrite(write)) ?? this.#apply(write, changed));
    return { outcomes: writes.map((_, index) => outcomes.get(index) ?? { result: 'missing' }), changed };
  }

  #apply(write: Write, changed: ResourceKey[]): WriteOutcome {
    const { op, key } = write;
    const before = this.rows.get(idOf(key));
    if (op === 'delete') {
      if (before === undefined) return { result: 'missing' };
      if (!isExpected(write, before)) return { result: 'conflict' };
      this.#delete(before, changed, write.by, undefined);
      return { result: 'deleted', version: before.version };
    }
    const fault = faultOf(write);
    if (fault !== null) return { result: 'rejected', message: fault };
    if (op !== 'update' && op !== 'status') return this.#put(write, before, changed);
    if (before === undefined) return { result: 'missing' };
    if (!isExpected(write, before)) return { result: 'conflict' };
    const { labels, spec, syncVersion } = before;
    const isStatus = op === 'status';
    const whole = isStatus ? { ...write, op: 'update' as const, labels, spec, syncVersion } : write;
    return this.#put(isStatus ? { ...whole, status: { ...before.status, ...write.status } } : whole, before, changed);
  }

  #put(write: RowWrite, before: Resource | undefined, changed: ResourceKey[]): WriteOutcome {
    const { op, key, owner = null } = write;
    if (op !== 'update' && owner !== null && !this.rows.has(idOf(owner)))
      return { result: 'rejected', message: `its owner ${owner.type} ${JSON.stringify(owner.name)} does not exist` };
    if (op === 'create' && before !== undefined) return { result: 'exists' };
    if (op === 'put' && write.ownOnly === true && before !== undefined && !mayReplace(before, write))
      return { result: 'conflict' };
    const time = this.#now();
    const row: Resource = {
      ...{ type: key.type, mesh: key.mesh, name: key.name },
      version: before === undefined ? 0 : before.version + 1,
      creationTime: before?.creationTime ?? time,
      modificationTime: time,
      labels: write.labels,
      spec: write.spec,
      status: write.status ?? before?.status ?? {},
      owner: before === undefined ? owner : before.owner,
      syncVersion: write.syncVersion ?? null,
    };
    this.rows.set(idOf(key), row);
    if (before === undefined) this.#history.created(row, write.by);
    else this.#history.updated(before, row, write.by);
    changed.push(key);
    return { result: before === undefined ? 'created' : 'updated', version: row.version, creationTime: row.creationTime };
  }

  /** Deletes the rows that the row owns too. */
  #delete(row: Resource, changed: ResourceKey[], by: Author | undefined, ofOwner: Author | undefined): void {
    this.rows.delete(idOf(row));
    this.#history.deleted(row, by, ofOwner);
    if (row.type === 'Mesh') this.#deletedMeshes.add(row.name);
    changed.push({ type: row.type, mesh: row.mesh, name: row.name });
    for (const owned of [...this.rows.values()])
      if (owned.owner !== null && idOf(owned.owner) === idOf(row)) this.#delete(owned, changed, undefined, by);
  }
}

function isExpected({ expectVersion, expectCreation }: Exclude<Write, { op: 'put' }>, row: Resource): boolean {
  return (
    (expectVersion ?? row.version) === row.version &&
    (expectCreation ?? row.creationTime).getTime() === row.creationTime.getTime()
  );
}

function permitOf(write: Write): number {
  if (write.op === 'delete') return 0;
  if (write.op === 'status') return 6;
  const isOwned = (write.owner ?? null) !== null;
  return { create: 1, put: 3, update: 5 }[write.op] + Number(isOwned && write.op !== 'update');
}

function faultOf(write: Exclude<Write, { op: 'delete' }>): string | null {
  const { key, status } = write;
  if (Array.from(key.name).length > 253) return 'name: must have at most 253 characters';
  for (const field of ['name', 'mesh', 'type'] as const) if (!isStorable(key[field])) return `${field}: must be valid text`;
  if (write.op !== 'status' && !isStorableJson(write.labels)) return 'labels: must be valid text';
  return isStorableJson(status) ? null : 'status: must be valid text';
}

function idOf({ type, mesh, name }: ResourceKey): string {
  return JSON.stringify([type, mesh, name]);
}

/** The part of a change that names rows of these types; null if there is none. */
function ofTypes(change: StoreChange, types: ReadonlySet<string>): StoreChange | null {
  if (change.kind === 'type') return types.has(change.type) ? change : null;
  if (change.kind !== 'keys') return change;
  const keys = change.keys.filter(({ type }) => types.has(type));
  return keys.length === 0 ? null : { kind: 'keys', keys };
}
