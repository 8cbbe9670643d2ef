// The policy indexes of the requested meshes: read once, then kept current by the change feed of the store, each in its own lane.
// Invariants: an answer contains everything that was committed before the request. No request lists the rows of a mesh.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import { resourceTypes } from '../resource/type-registry.ts';
import type { ResourceKey } from '../resource/types.ts';
import { FeedFollower, type Hints } from '../store/follow-feed.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { MeshLane, type MeshObserver } from './mesh-lane.ts';
import { SharedOutbounds } from './shared-outbounds.ts';

type MeshIndexesOptions = {
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

export class MeshIndexes {
  readonly #options: MeshIndexesOptions;
  readonly #lanes = new Map<string, MeshLane>();
  readonly #outbounds = new SharedOutbounds();
  /** The disabled zones. A zone does not know any. */
  #disabledZones: ReadonlySet<string> = new Set();
  readonly #follower: FeedFollower;
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
    return await this.#inTurn(mesh, (index) => index);
  }

  /**
   * Tells an observer of every change of the index of a mesh from now on.
   * @param make makes the observer of the index as it is now
   * @returns the observer; null where there is no such mesh
   */
  async observe<T extends MeshObserver>(mesh: string, make: (index: MeshIndex) => T): Promise<T | null> {
    return await this.#inTurn(mesh, (index, lane) => {
      if (lane.index !== index) return null;
      const observer = make(index);
      lane.observe(observer);
      return observer;
    });
  }

  /** The indexes of the meshes that were asked for. */
  known(): MeshIndex[] {
    return [...this.#lanes.values()].flatMap(({ index }) => index ?? []);
  }

  /** Runs a task when the index of a mesh stands still. It changes after the task has ended. */
  async settled<T>(mesh: string, task: () => T | Promise<T>): Promise<T> {
    const lane = this.#lanes.get(mesh);
    return await (lane === undefined ? task() : lane.inTurn(task));
  }

  /** Resolves after the signal, when everything has ended. */
  async ended(): Promise<void> {
    await this.#following;
    await Promise.all([...this.#lanes.values()].map((lane) => lane.ended()));
  }

  async #inTurn<T>(mesh: string, task: (index: MeshIndex, lane: MeshLane) => T): Promise<T> {
    this.#following ??= this.#follower.run((hints) => this.#apply(hints), this.#options.signal);
    await this.#follower.caughtUp();
    const lane = this.#laneOf(mesh);
    return await lane.inTurn((index) => task(index, lane));
  }

  #laneOf(mesh: string): MeshLane {
    let lane = this.#lanes.get(mesh);
    if (lane !== undefined) return lane;
    const onEnd = (): void => void (this.#lanes.get(mesh) === lane && this.#lanes.delete(mesh));
    const own = { mesh, types: TYPES, outbounds: this.#outbounds, disabledZones: () => this.#disabledZones, onEnd };
    lane = new MeshLane({ ...this.#options, ...own });
    this.#lanes.set(mesh, lane);
    return lane;
  }

  /** Hands the hints over. What waits for them waits for the lane of its mesh. */
  async #apply({ types, keys }: Hints): Promise<void> {
    if (types.includes('Zone') || keys.some(({ type }) => type === 'Zone')) await this.#readZones();
    const ofLanes = types.filter((type) => type !== 'Zone');
    if (ofLanes.length > 0) for (const lane of this.#lanes.values()) lane.addTypes(ofLanes);
    for (const [lane, ofLane] of Map.groupBy(keys, (key) => this.#laneFor(key))) lane?.addKeys(ofLane);
  }

  async #readZones(): Promise<void> {
    const zones = await this.#options.store.list({ type: 'Zone' });
    this.#disabledZones = new Set(zones.filter(({ spec }) => spec['enabled'] === false).map(({ name }) => name));
    for (const lane of this.#lanes.values()) lane.wake();
  }

  #laneFor({ type, mesh, name }: ResourceKey): MeshLane | undefined {
    if (type === 'Mesh') return this.#lanes.get(name);
    return TYPES.has(type) ? this.#lanes.get(mesh) : undefined;
  }
}
