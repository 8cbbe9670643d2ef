// A small ResourceStore for unit tests that need only rows, versions and hints.
import { MeridianError } from '../../src/base/errors.ts';
import { fenceMark } from '../../src/store/fence-watch.ts';
import type {
  Fence,
  ListQuery,
  ResourceMeta,
  MetaQuery,
  ResourceStore,
  VersionPage,
  VersionedRow,
  StoreChange,
  Write,
  WriteOutcome,
} from '../../src/store/resource-store.ts';
import type { Labels, Resource, ResourceKey } from '../../src/resource/types.ts';

export class TinyStore implements ResourceStore {
  readonly rows = new Map<string, Resource>();
  /** Called before each write is applied; a returned outcome replaces it. */
  beforeWrite: (write: Write) => WriteOutcome | undefined | Promise<WriteOutcome | undefined> = () => undefined;
  readonly #followers = new Set<(change: StoreChange) => void>();
  readonly #epochs = new Map<string, number>();
  readonly #deletedMeshes = new Set<string>();

  get(key: ResourceKey): Promise<Resource | undefined> {
    return Promise.resolve(this.rows.get(idOf(key)));
  }

  getMeta(key: ResourceKey): Promise<ResourceMeta | undefined> {
    return this.get(key);
  }

  getMany(keys: readonly ResourceKey[]): Promise<Resource[]> {
    return Promise.resolve(keys.map((key) => this.rows.get(idOf(key))).filter((row) => row !== undefined));
  }

  list({ type, mesh, labels = {}, nameContains = '' }: ListQuery): Promise<Resource[]> {
    const rows = [...this.rows.values()].filter((row) => row.type === type && (mesh === undefined || row.mesh === mesh));
    const hasLabels = (row: Resource): boolean => Object.entries(labels).every(([key, value]) => row.labels[key] === value);
    return Promise.resolve(rows.filter((row) => row.name.includes(nameContains) && hasLabels(row)));
  }

  async listVersions(query: ListQuery): Promise<VersionPage> {
    const rows = await this.list(query);
    const rowVersions = rows.map(({ type, mesh, name, version }) => ({ type, mesh, name, rowVersion: String(version) }));
    return { rowVersions, total: rows.length, snapshot: null };
  }

  async getVersioned(keys: readonly ResourceKey[]): Promise<VersionedRow[]> {
    return (await this.getMany(keys)).map((row) => ({ row, rowVersion: String(row.version) }));
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

  async count(query: ListQuery): Promise<number> {
    return (await this.list(query)).length;
  }

  async write(write: Write): Promise<WriteOutcome> {
    const outcome = (await this.beforeWrite(write)) ?? this.#apply(write);
    if ('version' in outcome) for (const follow of this.#followers) follow({ kind: 'keys', keys: [write.key] });
    return outcome;
  }

  async writeBatch(writes: readonly Write[], fence?: Fence): Promise<WriteOutcome[]> {
    if (fence !== undefined && this.#epochs.get(fence.peer) !== fence.epoch)
      throw new MeridianError('conflict', `another receiver for ${fence.peer} has taken over; this one stops`);
    const outcomes: WriteOutcome[] = [];
    for (const write of writes) outcomes.push(await this.write(write));
    return outcomes;
  }

  /** One after the other, and the rows of before unless all succeed. */
  async writeAll(writes: readonly Write[]): Promise<WriteOutcome[]> {
    const before = new Map(this.rows);
    const outcomes = await this.writeBatch(writes);
    if (outcomes.every((outcome) => 'version' in outcome)) return outcomes;
    this.rows.clear();
    for (const [id, row] of before) this.rows.set(id, row);
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

  async *changes(signal: AbortSignal): AsyncIterable<StoreChange> {
    const queue: StoreChange[] = [{ kind: 'all' }];
    let wake: () => void = () => undefined;
    const follow = (change: StoreChange): void => void (queue.push(change), wake());
    this.#followers.add(follow);
    signal.addEventListener('abort', () => wake());
    while (!signal.aborted) {
      const change = queue.shift();
      if (change !== undefined) yield change;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
    this.#followers.delete(follow);
  }

  mark(id: string): Promise<void> {
    for (const follow of this.#followers) follow({ kind: 'mark', id });
    return Promise.resolve();
  }

  deletedMeshes(names: readonly string[]): Promise<string[]> {
    return Promise.resolve(names.filter((name) => this.#deletedMeshes.has(name)));
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

  #apply(write: Write): WriteOutcome {
    const before = this.rows.get(idOf(write.key));
    if (write.op === 'create' && before !== undefined) return { result: 'exists' };
    if ((write.op === 'update' || write.op === 'delete') && before === undefined) return { result: 'missing' };
    if (write.op !== 'put' && write.expectVersion !== undefined && write.expectVersion !== before?.version)
      return { result: 'conflict' };
    if (write.op === 'put' && write.ownOnly === true && before !== undefined && !isOwn(before, write.labels))
      return { result: 'conflict' };
    if (write.op === 'delete') {
      if (write.key.type === 'Mesh') this.#deletedMeshes.add(write.key.name);
      this.rows.delete(idOf(write.key));
      return { result: 'deleted', version: before?.version ?? 0 };
    }
    if (write.op === 'put' && write.owner !== undefined && write.owner !== null && !this.rows.has(idOf(write.owner)))
      return { result: 'rejected', message: 'its owner does not exist' };
    const version = before === undefined ? 0 : before.version + 1;
    const { type, mesh, name } = write.key;
    const time = new Date(0);
    this.rows.set(idOf(write.key), {
      ...{ type, mesh, name, version, creationTime: before?.creationTime ?? time, modificationTime: time },
      labels: write.labels,
      spec: write.spec,
      status: write.status ?? before?.status ?? {},
      owner: write.owner ?? before?.owner ?? null,
      syncVersion: write.syncVersion ?? null,
    });
    return { result: before === undefined ? 'created' : 'updated', version };
  }
}

function isOwn({ labels, syncVersion }: Resource, written: Labels): boolean {
  const keys = ['kuma.io/origin', 'kuma.io/zone'];
  const namespace = 'k8s.kuma.io/namespace';
  return (
    syncVersion === null &&
    (labels[namespace] ?? '') === (written[namespace] ?? '') &&
    keys.every((key) => labels[key] === undefined || labels[key] === written[key])
  );
}

function idOf({ type, mesh, name }: ResourceKey): string {
  return JSON.stringify([type, mesh, name]);
}
