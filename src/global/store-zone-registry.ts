// Which zones exist and which are disabled, from the Zone rows of the store. Flags change in memory before listeners hear of
// it, so whoever re-evaluates on a call sees the new state; reads are serialised, so an older one never overwrites a newer.
import { MeridianError } from '../base/errors.ts';
import type { ZoneRegistry } from '../kds/zone-registry.ts';
import type { Resource } from '../resource/types.ts';
import type { ResourceStore, StoreChange } from '../store/resource-store.ts';

const RFC_1035_LABEL = /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/;

export class StoreZoneRegistry implements ZoneRegistry {
  readonly #store: ResourceStore;
  readonly #enabled = new Map<string, boolean>();
  readonly #listeners = new Set<(zone: string) => void>();
  readonly #loaded = Promise.withResolvers<void>();
  #isLoaded = false;

  constructor(store: ResourceStore) {
    this.#store = store;
  }

  /** Resolves once all Zone rows are known; before it every zone passes for enabled. */
  get loaded(): Promise<void> {
    return this.#loaded.promise;
  }

  /** Follows the Zone rows until the signal aborts. Throws when the store fails; run again, it reads everything anew. */
  async run(signal: AbortSignal): Promise<void> {
    for await (const change of this.#store.changes(signal)) await this.#follow(change);
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

  isEnabled(zone: string): boolean {
    return this.#enabled.get(zone) ?? true;
  }

  /** The names of all Zone rows, in no particular order. */
  names(): string[] {
    return [...this.#enabled.keys()];
  }

  onChange(listener: (zone: string) => void): () => void {
    // A wrapper, so that one function that is registered twice is called and removed twice.
    const entry = (zone: string): void => listener(zone);
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  async #follow(change: StoreChange): Promise<void> {
    if (change.kind === 'keys') {
      const keys = change.keys.filter((key) => key.type === 'Zone');
      if (keys.length === 0) return;
      const rows = await this.#store.getMany(keys);
      this.#apply(
        keys.map((key) => key.name),
        rows,
      );
    } else if (change.kind === 'all' || (change.kind === 'type' && change.type === 'Zone')) {
      const rows = await this.#store.list({ type: 'Zone' });
      this.#apply([...this.#enabled.keys(), ...rows.map((row) => row.name)], rows);
      this.#isLoaded = true;
      this.#loaded.resolve();
    }
  }

  #apply(names: readonly string[], rows: readonly Resource[]): void {
    const flags = new Map(rows.map((row) => [row.name, row.spec['enabled'] !== false]));
    const changed = [...new Set(names)].filter((name) => this.#enabled.get(name) !== flags.get(name));
    for (const name of changed) {
      const flag = flags.get(name);
      if (flag === undefined) this.#enabled.delete(name);
      else this.#enabled.set(name, flag);
    }
    // What the first read shows was so before: of that, only a disabled zone differs from what was assumed.
    const news = this.#isLoaded ? changed : changed.filter((name) => !this.isEnabled(name));
    for (const name of news) for (const listener of [...this.#listeners]) listener(name);
  }
}

function zoneKey(name: string): { type: string; mesh: string; name: string } {
  return { type: 'Zone', mesh: '', name };
}
