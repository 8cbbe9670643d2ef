// The policy index of one mesh, and the changes that it has not taken yet. Meshes have lanes of their own: the work of one does not wait for
// that of another. Invariants: reads of a mesh come one after the other, so an older one never overwrites a newer (engine 9). Changes that
// arrive during work are merged, and taken together when it ends.
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { runInSlices } from '../base/steps.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import { parseSteps } from '../policy/parse-steps.ts';
import { hasDemandedTls, mayBeginToDemandTls, withDemandedTls } from '../policy/demanded-tls.ts';
import { isMeshIdentityReady } from '../resource/mesh-identity.ts';
import { movesOf } from '../resource/section-places.ts';
import { isServiceType } from '../resource/type-registry.ts';
import { keyText, type Resource, type ResourceKey } from '../resource/types.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import type { SharedOutbounds } from './shared-outbounds.ts';

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
  /** The index has changed. The next change of the mesh waits. @param next rows that it holds now */
  readonly after: (next: readonly Resource[]) => Promise<void>;
  /** It is called when the mesh is gone. */
  readonly ended: () => void;
};

type MeshLaneOptions = {
  readonly mesh: string;
  /** Types of the rows of the index, without Mesh. */
  readonly types: ReadonlySet<string>;
  readonly store: Pick<ResourceStore, 'get' | 'getMany' | 'list'>;
  readonly log: Logger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly outbounds: SharedOutbounds;
  /** The present disabled zones. A zone does not know any. */
  readonly disabledZones: () => ReadonlySet<string>;
  /** It is called when there is no such mesh, or not any more: the lane has come to its end. */
  readonly onEnd: () => void;
};

/** Milliseconds of work in one turn of the event loop. */
const SLICE_MS = 5;
/** The milliseconds from an error to the next attempt: the minimum, and a random part. */
const MIN_PAUSE_MS = 200;
const PAUSE_SPREAD_MS = 800;

export class MeshLane {
  readonly #options: MeshLaneOptions;
  #index: MeshIndex | null = null;
  readonly #observers = new Set<MeshObserver>();
  /** Rows and types to read again. */
  readonly #keys = new Map<string, ResourceKey>();
  readonly #types = new Set<string>();
  /** The last turn. */
  #slices: Promise<unknown> = Promise.resolve();
  /** A turn that takes what is added has not begun. */
  #isAwaited = false;
  #isEnded = false;

  constructor(options: MeshLaneOptions) {
    this.#options = options;
    this.#addAll();
  }

  /** The index as it was after the last change; null before the first read. */
  get index(): MeshIndex | null {
    return this.#index;
  }

  /** Adds rows that may have changed. */
  addKeys(keys: Iterable<ResourceKey>): void {
    for (const key of keys) this.#keys.set(keyText(key), key);
    this.wake();
  }

  /** Adds types of which all rows may have changed. */
  addTypes(types: Iterable<string>): void {
    for (const type of types) this.#types.add(type);
    this.wake();
  }

  /** Takes what was added, and the disabled zones, in a turn of its own. */
  wake(): void {
    if (this.#isAwaited) return;
    this.#isAwaited = true;
    this.inTurn(() => undefined).catch((error: unknown) => void this.#retry(error));
  }

  /**
   * Runs a task when everything that was added before is in the index. The index changes after the task has ended.
   * @param task gets an index without rows for a mesh that does not exist
   * @throws the error of the store
   */
  async inTurn<T>(task: (index: MeshIndex) => T | Promise<T>): Promise<T> {
    const turn = this.#slices.then(async () => {
      this.#isAwaited = false;
      return await task(await this.#current());
    });
    this.#slices = turn.catch(() => undefined);
    return await turn;
  }

  /** Adds an observer in a turn, from when it is called. */
  observe(observer: MeshObserver): void {
    this.#observers.add(observer);
  }

  /** Resolves when the present turns have ended. */
  async ended(): Promise<void> {
    await this.#slices;
  }

  #addAll(): void {
    for (const type of ['Mesh', ...this.#options.types]) this.#types.add(type);
  }

  async #retry(error: unknown): Promise<void> {
    const { clock, log, mesh, signal } = this.#options;
    if (signal.aborted) return;
    log.warn({ mesh, err: messageOf(error) }, 'cannot read the store; trying again');
    await clock.sleep(MIN_PAUSE_MS + Math.random() * PAUSE_SPREAD_MS, signal);
    if (!signal.aborted) this.wake();
  }

  /** Reads what was added. After an error everything is read again. */
  async #current(): Promise<MeshIndex> {
    const types = [...this.#types];
    const keys = [...this.#keys.values()].filter(({ type }) => !this.#types.has(type));
    this.#types.clear();
    this.#keys.clear();
    try {
      if (this.#index !== null) await this.#update(this.#index, types, keys);
      return this.#index ?? (await this.#read());
    } catch (error) {
      this.#addAll();
      throw error;
    }
  }

  async #update(index: MeshIndex, types: readonly string[], keys: readonly ResourceKey[]): Promise<void> {
    const zones = this.#options.disabledZones();
    if (index.wouldDisable(zones)) {
      for (const observer of this.#observers) observer.beforeEverything();
      index.disableZones(zones);
      await this.#tellAfter([]);
    }
    const isMeshNamed = types.includes('Mesh');
    for (const type of types) if (type !== 'Mesh') await this.#reload(index, type);
    await this.#reread(index, isMeshNamed ? [{ type: 'Mesh', mesh: '', name: index.mesh }, ...keys] : keys);
  }

  async #reread(index: MeshIndex, keys: readonly ResourceKey[]): Promise<void> {
    if (keys.length === 0) return;
    const found = await this.#options.store.getMany(keys);
    const rows = new Map(found.map((row) => [keyText(row), this.#options.outbounds.share(row)]));
    const gone = keys.filter((key) => !rows.has(keyText(key)));
    if (gone.some(({ type }) => type === 'Mesh')) this.#end();
    else await this.#change(index, [...rows.values()], gone);
  }

  async #reload(index: MeshIndex, type: string): Promise<void> {
    const rows = await this.#list(type);
    const names = new Set(rows.map(({ name }) => name));
    await this.#change(
      index,
      rows,
      [...index.resources(type)].filter(({ name }) => !names.has(name)),
    );
  }

  /** Applies rows that were read and removes rows that are gone. */
  async #change(index: MeshIndex, read: readonly Resource[], gone: readonly ResourceKey[]): Promise<void> {
    const next = read.filter((row) => {
      const isForLater = saysKnownDemand(index, row);
      if (isForLater) index.put(row);
      return !isForLater && isNew(index, row);
    });
    const held = [...next, ...gone].flatMap(({ type, name }) => index.get(type, name) ?? []);
    if (next.length === 0 && held.length === 0) return;
    await this.#parse(next);
    for (const observer of this.#observers) observer.before(held, next);
    for (const key of gone) index.remove(key);
    for (const row of next) index.put(row);
    await this.#tellAfter(next);
  }

  async #tellAfter(next: readonly Resource[]): Promise<void> {
    await Promise.all([...this.#observers].map(async (observer) => await observer.after(next)));
  }

  /** Later turns read for themselves: no change reaches this lane any more. */
  #end(): void {
    this.#isEnded = true;
    this.#index = null;
    this.#options.onEnd();
    for (const observer of this.#observers) observer.ended();
    this.#observers.clear();
  }

  /** The first read. The name of a missing mesh may be any text: nothing is kept of it. */
  async #read(): Promise<MeshIndex> {
    const { store, mesh, types, disabledZones } = this.#options;
    const lists = await Promise.all([...types].map((type) => this.#list(type)));
    const row = await store.get({ type: 'Mesh', mesh: '', name: mesh });
    await this.#parse(lists.flat());
    const index = new MeshIndex(mesh, [...(row === undefined ? [] : [row]), ...lists.flat()]);
    index.disableZones(disabledZones());
    if (row !== undefined && !this.#isEnded) this.#index = index;
    else if (!this.#isEnded) this.#end();
    return index;
  }

  async #parse(rows: readonly Resource[]): Promise<void> {
    for (const row of rows) await runInSlices(parseSteps(row), SLICE_MS, this.#options.clock);
  }

  async #list(type: string): Promise<Resource[]> {
    const { store, mesh, outbounds } = this.#options;
    return (await store.list({ type, mesh })).map((row) => outbounds.share(row));
  }
}

/**
 * A new status or version alone does not affect proxies, but for what it says about TLS, the egress, places, addresses and hostnames. A row
 * that was made again has a new age: of several services the oldest counts.
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

/**
 * Whether a row of a Dataplane differs in this alone: its Envoy demands TLS, as its services say already. It changes no configuration until one of
 * them does, and so costs none.
 */
function saysKnownDemand(index: MeshIndex, row: Resource): boolean {
  if (row.type !== 'Dataplane' || !hasDemandedTls(row)) return false;
  const proxy = index.proxy(row.name);
  if (proxy === undefined || hasDemandedTls(proxy.resource)) return false;
  return !isNew(index, { ...row, status: withDemandedTls(row.status, false) }) && mayBeginToDemandTls(index, proxy);
}

/** The part of a status on which the configuration and the names of proxies depend. */
function statusForProxies(row: Resource): unknown {
  const { tls, zoneEgress, vips, vip, addresses } = row.status;
  if (isServiceType(row.type)) return [tls ?? null, zoneEgress ?? null, vips ?? vip ?? null, addresses ?? null];
  if (row.type === 'Dataplane') return [movesOf(row), hasDemandedTls(row)];
  return row.type === 'MeshIdentity' ? [isMeshIdentityReady(row), row.status['authority'] ?? ''] : null;
}
