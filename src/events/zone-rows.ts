// The rows of all zones in memory while a stream of events is open: one follower for all streams. Invariant: the event of a changed Zone
// or ZoneInsight comes after its row is here.
import type { Resource, ResourceKey } from '../resource/types.ts';
import { FeedFollower, type Following, type Hints } from '../store/follow-feed.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { zoneFacts, type ZoneFacts } from './zone-facts.ts';

/** The insights of connected zones change often; those of this time are read together. */
const GATHER_MS = 250;
const [ZONE, INSIGHT] = ['Zone', 'ZoneInsight'];

export type ZoneRowsStore = Pick<ResourceStore, 'changes' | 'mark' | 'getMany' | 'list'>;

export class ZoneRows {
  readonly #store: ZoneRowsStore;
  readonly #following: Following;
  #zones = new Map<string, ZoneFacts>();
  #follower: FeedFollower | null = null;

  constructor(store: ZoneRowsStore, following: Following) {
    this.#store = store;
    this.#following = following;
  }

  get(name: string): ZoneFacts | undefined {
    return this.#zones.get(name);
  }

  /** It is true while the zones here are those of the store, but for changes on their way. */
  get isCurrent(): boolean {
    return this.#follower?.isCurrent === true;
  }

  /**
   * Whether every change is here that is committed now, once it is. False while nothing is followed, and when the store or its feed does
   * not answer in time.
   */
  async caughtUp(): Promise<boolean> {
    const follower = this.#follower;
    if (follower?.isCurrent !== true) return false;
    return await follower.caughtUp().then(
      () => true,
      () => false,
    );
  }

  all(): IterableIterator<ZoneFacts> {
    return this.#zones.values();
  }

  names(): IterableIterator<string> {
    return this.#zones.keys();
  }

  /**
   * Follows until the signal aborts, then forgets everything.
   * @param changed the zones whose rows may have changed, those of the first read included
   */
  async run(changed: (names: Iterable<string>) => void, signal: AbortSignal): Promise<void> {
    const follower = new FeedFollower({ ...this.#following, store: this.#store, types: [ZONE, INSIGHT], gatherMs: GATHER_MS });
    this.#follower = follower;
    try {
      await follower.run(async (hints) => changed(await this.#read(hints)), signal);
    } finally {
      this.#follower = null;
      this.#zones = new Map();
    }
  }

  async #read({ types, keys }: Hints): Promise<Iterable<string>> {
    if (types.length > 0) {
      const before = this.#zones;
      this.#zones = await readZoneFacts(this.#store);
      return new Set([...before.keys(), ...this.#zones.keys()]);
    }
    const names = [...new Set(keys.map(({ name }) => name))];
    const rows = await this.#store.getMany(
      names.flatMap((name): ResourceKey[] => [ZONE, INSIGHT].map((type) => ({ type, mesh: '', name }))),
    );
    const found = factsOf(
      rows.filter(({ type }) => type === ZONE),
      rows.filter(({ type }) => type === INSIGHT),
    );
    for (const name of names) {
      const facts = found.get(name);
      if (facts === undefined) this.#zones.delete(name);
      else this.#zones.set(name, facts);
    }
    return names;
  }
}

/** All zones by name. Rejects when the store does not answer. */
export async function readZoneFacts(store: Pick<ResourceStore, 'list'>): Promise<Map<string, ZoneFacts>> {
  const [zones, insights] = await Promise.all([store.list({ type: ZONE }), store.list({ type: INSIGHT })]);
  return factsOf(zones, insights);
}

function factsOf(zones: readonly Resource[], insights: readonly Resource[]): Map<string, ZoneFacts> {
  const byName = new Map(insights.map((row) => [row.name, row]));
  return new Map(zones.map((zone) => [zone.name, zoneFacts(zone, byName.get(zone.name))]));
}
