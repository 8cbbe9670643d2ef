// The zones that exist, with the facts of their Zone rows, from the store. Profiles change in memory before listeners are called,
// so a listener sees the new state. Reads are serialised, so an older one never overwrites a newer. The time of creation shows
// that a row was deleted and created again between two reads.
import { isDeepStrictEqual } from 'node:util';
import { MeridianError } from '../base/errors.ts';
import type { ZoneChange, ZoneRegistry } from '../kds/protocol/zone-access.ts';
import { RFC_1035_LABEL } from '../resource/stored-name.ts';
import type { Resource, ResourceKey } from '../resource/types.ts';
import { ANY_ZONE, profileOf, type ZoneProfile } from '../resource/zone-profile.ts';
import { FeedFollower, type Following } from '../store/follow-feed.ts';
import type { ResourceStore } from '../store/resource-store.ts';

/** @property created in milliseconds: it tells rows of one name apart */
type KnownZone = { readonly profile: ZoneProfile; readonly created: number };

export class KnownZones implements ZoneRegistry {
  readonly #store: ResourceStore;
  readonly #follower: FeedFollower;
  readonly #zones = new Map<string, KnownZone>();
  readonly #listeners = new Listeners<ZoneChange>();
  readonly #watchers = new Map<string, Listeners<ZoneChange>>();
  readonly #goneListeners = new Listeners<string>();
  readonly #loaded = Promise.withResolvers<void>();
  #isLoaded = false;

  constructor(store: ResourceStore, following: Following) {
    this.#store = store;
    this.#follower = new FeedFollower({ ...following, store, types: ['Zone'] });
  }

  /** Resolves when all Zone rows are known. Before that every zone counts as enabled and as a member of every mesh. */
  get loaded(): Promise<void> {
    return this.#loaded.promise;
  }

  /** Follows the Zone rows until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#follower.run(async ({ types, keys }) => {
      if (types.length > 0) this.#take(await this.#store.list({ type: 'Zone' }), null);
      else if (keys.length > 0) this.#take(await this.#store.getMany(keys), keys);
    }, signal);
  }

  async caughtUp(): Promise<void> {
    await this.loaded;
    await this.#follower.caughtUp();
  }

  async ensure(zone: string): Promise<void> {
    if (!RFC_1035_LABEL.test(zone)) {
      const reason =
        'must be a lower-case RFC 1035 label: a letter first, then letters, digits and hyphens, at most 63 characters';
      throw new MeridianError('invalid', `${JSON.stringify(zone)} cannot be the name of a zone: it ${reason}. Rename the zone.`, {
        violations: [{ field: 'name', reason }],
      });
    }
    // When the row is deleted, the listeners of `onGone` end what the zone has open.
    if (this.#zones.has(zone)) return;
    const outcome = await this.#store.write({ op: 'create', key: zoneKey(zone), labels: {}, spec: { enabled: true } });
    if (outcome.result === 'rejected') {
      throw new MeridianError('internal', `Zone ${JSON.stringify(zone)} could not be created: ${outcome.message}`);
    }
  }

  has(zone: string): boolean {
    return this.#zones.has(zone);
  }

  profileOf(zone: string): ZoneProfile {
    return this.#zones.get(zone)?.profile ?? ANY_ZONE;
  }

  /** The number of all Zone rows. */
  get size(): number {
    return this.#zones.size;
  }

  /** The names of all Zone rows, in no particular order. */
  names(): string[] {
    return [...this.#zones.keys()];
  }

  onChange(listener: (change: ZoneChange) => void): () => void {
    return this.#listeners.add(listener);
  }

  watch(zone: string, listener: (change: ZoneChange) => void): () => void {
    const watchers = this.#watchers.get(zone) ?? new Listeners<ZoneChange>();
    this.#watchers.set(zone, watchers);
    const stop = watchers.add(listener);
    return () => {
      stop();
      if (watchers.isEmpty && this.#watchers.get(zone) === watchers) this.#watchers.delete(zone);
    };
  }

  onGone(listener: (zone: string) => void): () => void {
    return this.#goneListeners.add(listener);
  }

  /** @param keys null for all rows */
  #take(rows: readonly Resource[], keys: readonly ResourceKey[] | null): void {
    this.#apply(keys === null ? [...this.#zones.keys(), ...rows.map(({ name }) => name)] : keys.map(({ name }) => name), rows);
    if (keys !== null || this.#isLoaded) return;
    this.#isLoaded = true;
    this.#loaded.resolve();
  }

  #apply(names: readonly string[], rows: readonly Resource[]): void {
    const now = new Map(rows.map((row) => [row.name, knownZone(row)]));
    const changed: ZoneChange[] = [];
    const gone: string[] = [];
    for (const name of new Set(names)) {
      const [before, after] = [this.#zones.get(name), now.get(name)];
      if (!isDeepStrictEqual(before?.profile, after?.profile))
        changed.push({ zone: name, before: before?.profile ?? ANY_ZONE, after: after?.profile ?? ANY_ZONE });
      if (before !== undefined && before.created !== after?.created) gone.push(name);
      if (after === undefined) this.#zones.delete(name);
      else this.#zones.set(name, after);
    }
    // The first read shows no changes. Only a zone that is disabled or no member of all meshes differs from the assumed state.
    const news = this.#isLoaded ? changed : changed.filter(({ after }) => !after.isEnabled || after.meshes !== null);
    for (const change of news) {
      this.#listeners.call(change);
      // The streams of a deleted zone end.
      if (!gone.includes(change.zone)) this.#watchers.get(change.zone)?.call(change);
    }
    for (const name of gone) this.#goneListeners.call(name);
  }
}

class Listeners<Event> {
  readonly #entries = new Set<(event: Event) => void>();

  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  add(listener: (event: Event) => void): () => void {
    // A wrapper, so that a function that is registered twice is called twice and removed separately.
    const entry = (event: Event): void => listener(event);
    this.#entries.add(entry);
    return () => void this.#entries.delete(entry);
  }

  call(event: Event): void {
    for (const listener of [...this.#entries]) listener(event);
  }
}

function knownZone(row: Resource): KnownZone {
  return { profile: profileOf(row), created: row.creationTime.getTime() };
}

function zoneKey(name: string): { type: string; mesh: string; name: string } {
  return { type: 'Zone', mesh: '', name };
}
