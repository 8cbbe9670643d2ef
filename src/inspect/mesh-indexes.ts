// The policy indexes of the meshes that somebody asks about: read once, then kept by the change feed of the store.
// Invariants: an answer contains everything that was committed before the request. No request lists the rows of a mesh.
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { FeedBarrier } from '../store/feed-barrier.ts';
import type { Logger } from '../base/log.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import { resourceTypes } from '../resource/type-registry.ts';
import type { Resource, ResourceKey } from '../resource/types.ts';
import type { ResourceStore, StoreChange } from '../store/resource-store.ts';

export type MeshIndexesOptions = {
  readonly store: ResourceStore;
  readonly log: Logger;
  readonly clock: Clock;
  /** Ends the following; questions are refused from then on. */
  readonly signal: AbortSignal;
};

/** What policy looks at, the Mesh itself aside. */
const TYPES: ReadonlySet<string> = new Set([
  'Dataplane',
  'MeshService',
  'MeshExternalService',
  'MeshMultiZoneService',
  'MeshIdentity',
  ...resourceTypes.flatMap(({ name, policy }) => (policy === null ? [] : [name])),
]);
/** Milliseconds that a question waits for the feed. */
const MAX_WAIT_MS = 10_000;

export class MeshIndexes {
  readonly #options: MeshIndexesOptions;
  readonly #indexes = new Map<string, MeshIndex>();
  /** Of all meshes. A zone knows of none. */
  #disabledZones: ReadonlySet<string> = new Set();
  readonly #barrier: FeedBarrier;
  /** Reads of the store one after the other: an older one never overwrites a newer (engine 9). */
  #reads: Promise<unknown> = Promise.resolve();
  #following: Promise<void> | null = null;

  constructor(options: MeshIndexesOptions) {
    this.#options = options;
    const { store, clock, log, signal } = options;
    this.#barrier = new FeedBarrier({ mark: (id) => store.mark(id), clock, log, signal, limitMs: MAX_WAIT_MS });
  }

  /**
   * The index of a mesh with all that is committed now. It is read when it is first asked for.
   * @throws MeridianError `unavailable` when the store does not answer
   */
  async indexOf(mesh: string): Promise<MeshIndex> {
    this.#following ??= this.#follow();
    await this.#barrier.wait();
    return this.#indexes.get(mesh) ?? (await this.#inTurn(async () => this.#indexes.get(mesh) ?? (await this.#read(mesh))));
  }

  /** Resolves when nothing runs any more; after the signal. */
  async ended(): Promise<void> {
    await this.#following;
    await this.#reads;
  }

  async #follow(): Promise<void> {
    const { store, signal, log, clock } = this.#options;
    while (!signal.aborted) {
      try {
        for await (const change of store.changes(signal)) await this.#inTurn(async () => this.#take(change));
      } catch (error) {
        // What was missed is read with the next question.
        this.#indexes.clear();
        if (signal.aborted) return;
        log.warn({ reason: messageOf(error) }, 'cannot follow the store for inspect; trying again');
        await clock.sleep(500, signal);
      }
    }
  }

  async #take(change: StoreChange): Promise<void> {
    if (change.kind === 'mark') this.#barrier.pass(change.id);
    else if (change.kind === 'all') {
      const release = this.#barrier.lost();
      await this.#rereadMeshes();
      await this.#readZones();
      for (const index of this.#indexes.values()) for (const type of TYPES) await this.#reload(index, type);
      release();
    } else if (change.kind === 'keys') await this.#reread(change.keys);
    else if (change.type === 'Mesh') await this.#rereadMeshes();
    else if (change.type === 'Zone') await this.#readZones();
    else if (TYPES.has(change.type)) for (const index of this.#indexes.values()) await this.#reload(index, change.type);
  }

  async #rereadMeshes(): Promise<void> {
    await this.#reread([...this.#indexes.keys()].map((name) => ({ type: 'Mesh', mesh: '', name })));
  }

  async #readZones(): Promise<void> {
    const zones = await this.#options.store.list({ type: 'Zone' });
    this.#disabledZones = new Set(zones.filter(({ spec }) => spec['enabled'] === false).map(({ name }) => name));
    for (const index of this.#indexes.values()) index.disableZones(this.#disabledZones);
  }

  async #reread(changed: readonly ResourceKey[]): Promise<void> {
    if (changed.some(({ type }) => type === 'Zone')) await this.#readZones();
    const keys = changed.filter((key) => this.#indexFor(key) !== undefined);
    if (keys.length === 0) return;
    const rows = new Map((await this.#options.store.getMany(keys)).map((row) => [idOf(row), row]));
    for (const key of keys) {
      const index = this.#indexFor(key);
      const row = rows.get(idOf(key));
      if (row !== undefined) putIfNew(index, row);
      else if (key.type === 'Mesh') this.#indexes.delete(key.name);
      else index?.remove(key);
    }
  }

  async #reload(index: MeshIndex, type: string): Promise<void> {
    const rows = await this.#options.store.list({ type, mesh: index.mesh });
    const names = new Set(rows.map(({ name }) => name));
    for (const row of [...index.resources(type)]) if (!names.has(row.name)) index.remove(row);
    for (const row of rows) putIfNew(index, row);
  }

  async #read(mesh: string): Promise<MeshIndex> {
    const { store } = this.#options;
    const lists = await Promise.all([...TYPES].map(async (type) => store.list({ type, mesh })));
    const row = await store.get({ type: 'Mesh', mesh: '', name: mesh });
    const index = new MeshIndex(mesh, [...(row === undefined ? [] : [row]), ...lists.flat()]);
    index.disableZones(this.#disabledZones);
    // The name of a missing mesh may be any text: do not cache it.
    if (row !== undefined) this.#indexes.set(mesh, index);
    return index;
  }

  #indexFor({ type, mesh, name }: ResourceKey): MeshIndex | undefined {
    if (type === 'Mesh') return this.#indexes.get(name);
    return TYPES.has(type) ? this.#indexes.get(mesh) : undefined;
  }

  async #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const turn = this.#reads.then(task);
    this.#reads = turn.catch(() => undefined);
    return await turn;
  }
}

/** A new status or version alone changes nothing that policy looks at. */
function putIfNew(index: MeshIndex | undefined, row: Resource): void {
  const held = index?.get(row.type, row.name);
  if (held !== undefined && isDeepStrictEqual(held.labels, row.labels) && isDeepStrictEqual(held.spec, row.spec)) return;
  index?.put(row);
}

function idOf({ type, mesh, name }: ResourceKey): string {
  return JSON.stringify([type, mesh, name]);
}
