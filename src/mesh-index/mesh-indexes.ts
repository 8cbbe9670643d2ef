// The policy indexes of the requested meshes: read once, then kept current by the change feed of the store.
// Invariants: an answer contains everything that was committed before the request. No request lists the rows of a mesh.
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import { isMeshIdentityReady } from '../resource/mesh-identity.ts';
import { resourceTypes } from '../resource/type-registry.ts';
import { keyText, type Resource, type ResourceKey } from '../resource/types.ts';
import { FeedFollower, type Hints } from '../store/follow-feed.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { SharedOutbounds } from './shared-outbounds.ts';

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
  'MeshZoneAddress',
  'MeshOpenTelemetryBackend',
  'MeshIdentity',
  'MeshTrust',
  // An egress shows certificates to external services.
  'Secret',
  ...resourceTypes.flatMap(({ name, policy }) => (policy === null ? [] : [name])),
]);
/** The time limit of a request's wait for the feed, in milliseconds. */
const MAX_WAIT_MS = 10_000;

/** An observer of the index of one mesh. */
export type MeshObserver = {
  /**
   * The index is about to change.
   * @param held rows that it holds, and that will be replaced or removed
   * @param next rows that it will hold
   */
  readonly before: (held: readonly Resource[], next: readonly Resource[]) => void;
  /** Everything may differ after the change that follows. */
  readonly beforeEverything: () => void;
  /** The index has changed. The next change waits. @param next rows that it holds now */
  readonly after: (next: readonly Resource[]) => Promise<void>;
  /** The mesh is gone. */
  readonly ended: () => void;
};

export class MeshIndexes {
  readonly #options: MeshIndexesOptions;
  readonly #indexes = new Map<string, MeshIndex>();
  readonly #observers = new Map<string, MeshObserver>();
  readonly #outbounds = new SharedOutbounds();
  /** The disabled zones. A zone does not know any. */
  #disabledZones: ReadonlySet<string> = new Set();
  readonly #follower: FeedFollower;
  /** Reads of the store one after the other: an older one never overwrites a newer (engine 9). */
  #reads: Promise<unknown> = Promise.resolve();
  #following: Promise<void> | null = null;

  constructor(options: MeshIndexesOptions) {
    this.#options = options;
    const { store, log, clock } = options;
    this.#follower = new FeedFollower({ store, log, clock, types: ['Mesh', 'Zone', ...TYPES], maxLagMs: MAX_WAIT_MS });
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

  /**
   * Tells an observer of every change of the index of a mesh from now on.
   * @param make makes the observer of the index as it is now
   * @returns the observer; null where there is no such mesh
   */
  async observe<T extends MeshObserver>(mesh: string, make: (index: MeshIndex) => T): Promise<T | null> {
    await this.indexOf(mesh);
    return await this.#inTurn(() => {
      const index = this.#indexes.get(mesh);
      if (index === undefined) return Promise.resolve(null);
      const observer = make(index);
      this.#observers.set(mesh, observer);
      return Promise.resolve(observer);
    });
  }

  /** The indexes of the meshes that were asked for. */
  known(): Iterable<MeshIndex> {
    return this.#indexes.values();
  }

  /** Runs a task when the indexes stand still. They change after it has ended. */
  async settled<T>(task: () => T | Promise<T>): Promise<T> {
    return await this.#inTurn(async () => await task());
  }

  /** True while every committed change that the feed has reported is in the indexes. */
  get isCurrent(): boolean {
    return this.#follower.isCurrent;
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
    for (const [mesh, index] of this.#indexes) {
      if (!index.wouldDisable(this.#disabledZones)) continue;
      this.#observers.get(mesh)?.beforeEverything();
      index.disableZones(this.#disabledZones);
      await this.#observers.get(mesh)?.after([]);
    }
  }

  async #reread(changed: readonly ResourceKey[]): Promise<void> {
    if (changed.some(({ type }) => type === 'Zone')) await this.#readZones();
    const keys = changed.filter((key) => this.#indexFor(key) !== undefined);
    if (keys.length === 0) return;
    const found = await this.#options.store.getMany(keys);
    const rows = new Map(found.map((row) => [keyText(row), this.#outbounds.share(row)]));
    for (const [index, ofIndex] of Map.groupBy(keys, (key) => this.#indexFor(key))) {
      if (index === undefined) continue;
      const [gone, held] = partition(ofIndex, (key) => !rows.has(keyText(key)));
      if (gone.some(({ type }) => type === 'Mesh')) this.#end(index.mesh);
      else
        await this.#change(
          index,
          held.flatMap((key) => rows.get(keyText(key)) ?? []),
          gone,
        );
    }
  }

  async #reload(index: MeshIndex, type: string): Promise<void> {
    const found = await this.#options.store.list({ type, mesh: index.mesh });
    const rows = found.map((row) => this.#outbounds.share(row));
    const names = new Set(rows.map(({ name }) => name));
    await this.#change(
      index,
      rows,
      [...index.resources(type)].filter(({ name }) => !names.has(name)),
    );
  }

  /** Applies rows that were read and removes rows that are gone. */
  async #change(index: MeshIndex, read: readonly Resource[], gone: readonly ResourceKey[]): Promise<void> {
    const next = read.filter((row) => isNew(index, row));
    const held = [...next, ...gone].flatMap(({ type, name }) => index.get(type, name) ?? []);
    if (next.length === 0 && held.length === 0) return;
    const observer = this.#observers.get(index.mesh);
    observer?.before(held, next);
    for (const key of gone) index.remove(key);
    for (const row of next) index.put(row);
    await observer?.after(next);
  }

  #end(mesh: string): void {
    this.#indexes.delete(mesh);
    this.#observers.get(mesh)?.ended();
    this.#observers.delete(mesh);
  }

  async #read(mesh: string): Promise<MeshIndex> {
    const { store } = this.#options;
    const lists = await Promise.all([...TYPES].map(async (type) => store.list({ type, mesh })));
    const row = await store.get({ type: 'Mesh', mesh: '', name: mesh });
    const index = new MeshIndex(mesh, [
      ...(row === undefined ? [] : [row]),
      ...lists.flat().map((one) => this.#outbounds.share(one)),
    ]);
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

/**
 * A new status or version alone does not affect proxies, but for what it says about TLS and the egress. A row that was made again has a new
 * age: of several services the oldest counts.
 */
function isNew(index: MeshIndex, row: Resource): boolean {
  const held = index.get(row.type, row.name);
  return (
    held === undefined ||
    held.creationTime.getTime() !== row.creationTime.getTime() ||
    !isDeepStrictEqual(held.labels, row.labels) ||
    !isDeepStrictEqual(held.spec, row.spec) ||
    !isDeepStrictEqual(statusForProxies(held), statusForProxies(row))
  );
}

/** The part of a status on which the configuration of proxies depends. */
function statusForProxies(row: Resource): unknown {
  if (row.type === 'MeshService') return row.status['tls'] ?? null;
  if (row.type === 'MeshExternalService') return row.status['zoneEgress'] ?? null;
  return row.type === 'MeshIdentity' ? [isMeshIdentityReady(row), row.status['authority'] ?? ''] : null;
}

function partition<T>(items: readonly T[], isFirst: (item: T) => boolean): [T[], T[]] {
  return [items.filter(isFirst), items.filter((item) => !isFirst(item))];
}
