// Which zones exist and which are disabled, from the Zone rows of the store. Flags change in memory before listeners are called, so
// a listener sees the new state. Reads are serialised, so an older one never overwrites a newer. The time of creation shows that a
// row was deleted and created again between two reads.
import { MeridianError } from '../base/errors.ts';
import type { ZoneRegistry } from '../kds/zone-access.ts';
import { RFC_1035_LABEL } from '../resource/stored-name.ts';
import type { Resource, ResourceKey } from '../resource/types.ts';
import type { Following } from '../store/follow-feed.ts';
import { followRows } from '../store/follow-rows.ts';
import type { ResourceStore } from '../store/resource-store.ts';

type Listener = (zone: string) => void;

/** @property created milliseconds: which row of the name it is */
type KnownZone = { readonly isEnabled: boolean; readonly created: number };

export class KnownZones implements ZoneRegistry {
  readonly #store: ResourceStore;
  readonly #following: Following;
  readonly #zones = new Map<string, KnownZone>();
  readonly #listeners = new Set<Listener>();
  readonly #goneListeners = new Set<Listener>();
  readonly #loaded = Promise.withResolvers<void>();
  #isLoaded = false;

  constructor(store: ResourceStore, following: Following) {
    this.#store = store;
    this.#following = following;
  }

  /** Resolves when all Zone rows are known. Before that every zone counts as enabled. */
  get loaded(): Promise<void> {
    return this.#loaded.promise;
  }

  /** Follows the Zone rows until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await followRows(this.#store, { type: 'Zone', take: (rows, keys) => this.#take(rows, keys) }, this.#following, signal);
  }

  async ensure(zone: string): Promise<void> {
    if (!RFC_1035_LABEL.test(zone)) {
      const reason =
        'must be a lower-case RFC 1035 label: a letter first, then letters, digits and hyphens, at most 63 characters';
      throw new MeridianError('invalid', `${JSON.stringify(zone)} cannot be the name of a zone: it ${reason}. Rename the zone.`, {
        violations: [{ field: 'name', reason }],
      });
    }
    const outcome = await this.#store.write({ op: 'create', key: zoneKey(zone), labels: {}, spec: { enabled: true } });
    if (outcome.result === 'rejected') {
      throw new MeridianError('internal', `Zone ${JSON.stringify(zone)} could not be created: ${outcome.message}`);
    }
  }

  has(zone: string): boolean {
    return this.#zones.has(zone);
  }

  isEnabled(zone: string): boolean {
    return this.#zones.get(zone)?.isEnabled ?? true;
  }

  /** The names of all Zone rows, in no particular order. */
  names(): string[] {
    return [...this.#zones.keys()];
  }

  onChange(listener: Listener): () => void {
    return listen(this.#listeners, listener);
  }

  onGone(listener: Listener): () => void {
    return listen(this.#goneListeners, listener);
  }

  /** @param keys null: all rows */
  #take(rows: readonly Resource[], keys: readonly ResourceKey[] | null): void {
    this.#apply(keys === null ? [...this.#zones.keys(), ...rows.map(({ name }) => name)] : keys.map(({ name }) => name), rows);
    if (keys !== null || this.#isLoaded) return;
    this.#isLoaded = true;
    this.#loaded.resolve();
  }

  #apply(names: readonly string[], rows: readonly Resource[]): void {
    const now = new Map(rows.map((row) => [row.name, knownZone(row)]));
    const changed: string[] = [];
    const gone: string[] = [];
    for (const name of new Set(names)) {
      const [before, after] = [this.#zones.get(name), now.get(name)];
      if (before?.isEnabled !== after?.isEnabled) changed.push(name);
      if (before !== undefined && before.created !== after?.created) gone.push(name);
      if (after === undefined) this.#zones.delete(name);
      else this.#zones.set(name, after);
    }
    // The first read shows no changes. Only a disabled zone differs from the assumed state.
    const news = this.#isLoaded ? changed : changed.filter((name) => !this.isEnabled(name));
    for (const name of news) for (const listener of [...this.#listeners]) listener(name);
    for (const name of gone) for (const listener of [...this.#goneListeners]) listener(name);
  }
}

function knownZone({ spec, creationTime }: Resource): KnownZone {
  return { isEnabled: spec['enabled'] !== false, created: creationTime.getTime() };
}

function listen(listeners: Set<Listener>, listener: Listener): () => void {
  // A wrapper, so that a function that is registered twice is called twice and removed separately.
  const entry = (zone: string): void => listener(zone);
  listeners.add(entry);
  return () => void listeners.delete(entry);
}

function zoneKey(name: string): { type: string; mesh: string; name: string } {
  return { type: 'Zone', mesh: '', name };
}
