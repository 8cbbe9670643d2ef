// The policy indexes of the requested meshes: read once, then kept current by the change feed of the store.
// Invariants: an answer contains everything that was committed before the request. No request lists the rows of a mesh.
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import { resourceTypes } from '../resource/type-registry.ts';
import { keyText, type Resource, type ResourceKey } from '../resource/types.ts';
import { FeedFollower, type Hints } from '../store/follow-feed.ts';
import type { ResourceStore } from '../store/resource-store.ts';

export type MeshIndexesOptions = {
  readonly store: ResourceStore;
  readonly log: Logger;
  readonly clock: Clock;
  /** Ends the indexes; later requests are refused. */
  readonly signal: AbortSignal;
};

/** The types that policies depend on, without Mesh. */
const TYPES: ReadonlySet<string> = new Set([
  'Dataplane',
  'MeshService',
  'MeshExternalService',
  'MeshMultiZoneService',
  'MeshIdentity',
  ...resourceTypes.flatMap(({ name, policy }) => (policy === null ? [] : [name])),
]);
/** The time limit of a request's wait for the feed, in milliseconds. */
const MAX_WAIT_MS = 10_000;

export class MeshIndexes {
  readonly #options: MeshIndexesOptions;
  readonly #indexes = new Map<string, MeshIndex>();
  /** The disabled zones. A zone does not know any. */
  #disabledZones: ReadonlySet<string> = new Set();
  readonly #follower: FeedFollower;
  /** Reads of the store one after the other: an older one never overwrites a newer (engine 9). */
  #reads: Promise<unknown> = Promise.resolve();
  #following: Promise<void> | null = null;

  constructor(options: MeshIndexesOptions) {
    this.#options = options;
    this.#follower = new FeedFollower({ ...options, types: ['Mesh', 'Zone', ...TYPES], maxLagMs: MAX_WAIT_MS });
  }

  /**
   * The index of a mesh with all committed changes. The first call reads the mesh.
   * @throws MeridianError `unavailable` when the store does not answer
   */
  async indexOf(mesh: string): Promise<MeshIndex> {
    this.#following ??= this.#follower.run((hints) => this.#inTurn(() => this.#apply(hints)), this.#options.signal);
    await this.#follower.caughtUp();
    return this.#indexes.get(mesh) ?? (await this.#inTurn(async () => this.#indexes.get(mesh) ?? (await this.#read(mesh))));
  }

  /** Resolves after the signal, when everything has ended. */
  async ended(): Promise<void> {
    await this.#following;
    await this.#reads;
  }

  async #apply({ types, keys }: Hints): Promise<void> {
    for (const type of types) {
      if (type === 'Zone') await this.#readZones();
      else if (type === 'Mesh') await this.#reread([...this.#indexes.keys()].map((name) => ({ type, mesh: '', name })));
      else for (const index of this.#indexes.values()) await this.#reload(index, type);
    }
    await this.#reread(keys);
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
    const rows = new Map((await this.#options.store.getMany(keys)).map((row) => [keyText(row), row]));
    for (const key of keys) {
      const index = this.#indexFor(key);
      const row = rows.get(keyText(key));
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

/** A new status or version alone does not affect policies. */
function putIfNew(index: MeshIndex | undefined, row: Resource): void {
  const held = index?.get(row.type, row.name);
  if (held !== undefined && isDeepStrictEqual(held.labels, row.labels) && isDeepStrictEqual(held.spec, row.spec)) return;
  index?.put(row);
}
