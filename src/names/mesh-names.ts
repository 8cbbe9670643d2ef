// The names of the proxies of one mesh, for the streams of their launchers. A change of the mesh costs a look at each stream, and nothing
// more for those whose names stay.
import type { Clock } from '../base/clock.ts';
import { runInSlices, type Steps } from '../base/steps.ts';
import type { MeshObserver } from '../mesh-index/mesh-lane.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import type { ProxyPermit } from '../resource/proxy-permit.ts';
import type { Resource } from '../resource/types.ts';
import { namesOf, type NameTable } from '../xds/name-table.ts';

/** A stream that is kept current. */
export type NameFollower = {
  /** Stored name of the Dataplane. */
  readonly name: string;
  /** Of its token: the names follow no Dataplane that it does not permit. */
  readonly permit: ProxyPermit;
  readonly changed: (table: NameTable) => void;
  /** The Dataplane or its mesh is gone. */
  readonly ended: () => void;
};

/** Milliseconds of one slice. */
const SLICE_MS = 5;

export class MeshNames implements MeshObserver {
  readonly #index: MeshIndex;
  readonly #clock: Clock;
  readonly #onEnd: () => void;
  readonly #followers = new Map<NameFollower, Resource>();
  /** By stored name of a Dataplane that does not exist yet. */
  readonly #waiting = new Map<string, Set<() => void>>();

  /** @param onEnd called when the mesh is gone */
  constructor(index: MeshIndex, clock: Clock, onEnd: () => void) {
    this.#index = index;
    this.#clock = clock;
    this.#onEnd = onEnd;
  }

  readonly before = (): void => undefined;
  readonly beforeEverything = (): void => undefined;

  async after(next: readonly Resource[]): Promise<void> {
    for (const { type, name } of next) if (type === 'Dataplane') this.#wake(name);
    await runInSlices(this.#tellAll(), SLICE_MS, this.#clock);
  }

  ended(): void {
    this.#onEnd();
    for (const { ended } of [...this.#followers.keys()]) ended();
    for (const name of [...this.#waiting.keys()]) this.#wake(name);
  }

  /** The stored Dataplane; it is waited for until the signal aborts. @returns undefined then, and when the mesh is gone */
  async whenStored(name: string, signal: AbortSignal): Promise<Resource | undefined> {
    const known = this.#index.get('Dataplane', name);
    if (known !== undefined || signal.aborted) return known;
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(name) ?? new Set();
    this.#waiting.set(name, waiting.add(resolve));
    signal.addEventListener('abort', () => resolve());
    await promise;
    waiting.delete(resolve);
    if (waiting.size === 0 && this.#waiting.get(name) === waiting) this.#waiting.delete(name);
    return this.#index.get('Dataplane', name);
  }

  /**
   * Tells of each change from now on. Call it in a turn of the index.
   * @returns its names now; null where there is no such Dataplane
   */
  follow(follower: NameFollower): NameTable | null {
    const proxy = this.#index.proxy(follower.name);
    if (proxy === undefined) return null;
    this.#followers.set(follower, proxy.resource);
    return this.#tableOf(follower.name);
  }

  leave(follower: NameFollower): void {
    this.#followers.delete(follower);
  }

  /** How many streams are kept current. */
  get size(): number {
    return this.#followers.size;
  }

  *#tellAll(): Steps<void> {
    for (const [follower, row] of [...this.#followers]) {
      this.#tell(follower, row);
      yield;
    }
  }

  #tell(follower: NameFollower, row: Resource): void {
    if (!this.#followers.has(follower)) return;
    const proxy = this.#index.proxy(follower.name);
    if (proxy === undefined) return follower.ended();
    if (proxy.resource !== row) {
      if (follower.permit.refusesDataplane(proxy.resource) !== null) return;
      this.#followers.set(follower, proxy.resource);
    }
    const table = this.#tableOf(follower.name);
    if (table !== null) follower.changed(table);
  }

  #tableOf(name: string): NameTable | null {
    const proxy = this.#index.proxy(name);
    return proxy === undefined ? null : namesOf(this.#index, proxy);
  }

  #wake(name: string): void {
    for (const wake of this.#waiting.get(name) ?? []) wake();
  }
}
