// Which store speaks for which zone, in Config rows that the Zones own: the first store that comes is remembered, another one is
// refused until a person accepts it. What is stored decides, so replicas agree; the feed only tells when to look again.
import { systemClock, type Clock } from '../base/clock.ts';
import { MeridianError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { ZoneStores } from '../kds/zone-stores.ts';
import type { Resource } from '../resource/types.ts';
import { isOnline } from '../resource/zone-insight.ts';
import { create } from '../store/create-defaults.ts';
import { acceptedPeer, currentRefusal, recordRefusal, zoneOfStoreKey, zoneStoreKey } from '../store/peer-identity.ts';
import type { ResourceStore, StoreChange } from '../store/resource-store.ts';

type Listener = (zone: string, storeId: string, reason: string) => void;

export class RememberedStores implements ZoneStores {
  readonly #store: ResourceStore;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #listeners = new Set<Listener>();
  /** The rows as the feed brought them last, by zone. */
  readonly #rows = new Map<string, Resource>();

  constructor(store: ResourceStore, log: Logger, clock: Clock = systemClock) {
    this.#store = store;
    this.#log = log;
    this.#clock = clock;
  }

  async admit(zone: string, storeId: string | null): Promise<string | null> {
    const key = zoneStoreKey(zone);
    const owner = { type: 'Zone', mesh: '', name: zone };
    for (;;) {
      const row = await this.#store.get(key);
      const known = acceptedPeer(row);
      if (known === storeId) return null;
      const isFirst = known === null && !(await this.#isOnline(zone));
      if (row !== undefined && !isFirst) {
        await recordRefusal(this.#store, row, storeId ?? '', this.#clock.now());
        return refusalOf(zone, known, storeId);
      }
      const id = isFirst ? (storeId ?? '') : '';
      const write = create(key, {}, { config: id }, owner);
      const { result } = await this.#store.write(
        row === undefined ? write : { ...write, op: 'update', expectVersion: row.version },
      );
      if (result === 'rejected')
        throw new MeridianError('unavailable', `the Zone "${zone}" was removed; connect again to join anew`);
      if (isFirst && (result === 'created' || result === 'updated'))
        this.#log.info({ zone, storeId }, 'this store speaks for the zone from now on');
    }
  }

  /** A zone that is online and has no known store is one of Kuma. It shows no id, and keeps its name while it is connected. */
  async #isOnline(zone: string): Promise<boolean> {
    const insight = await this.#store.get({ type: 'ZoneInsight', mesh: '', name: zone });
    return insight !== undefined && isOnline(insight.spec);
  }

  onAccepted(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Zones for which a second store was refused within the last minute. */
  conflicts(): string[] {
    const now = this.#clock.now();
    return [...this.#rows].filter(([, row]) => currentRefusal(row, now) !== null).map(([zone]) => zone);
  }

  /** Follows the rows until the signal aborts. Throws when the store fails; run again, it reads everything again. */
  async run(signal: AbortSignal): Promise<void> {
    for await (const change of this.#store.changes(signal)) await this.#follow(change);
  }

  async #follow(change: StoreChange): Promise<void> {
    if (change.kind === 'keys') {
      const keys = change.keys.filter((key) => zoneOfStoreKey(key) !== null);
      if (keys.length > 0) this.#apply(keys.map(zoneOfStoreKey), await this.#store.getMany(keys));
    } else if (change.kind === 'all' || (change.kind === 'type' && change.type === 'Config')) {
      const rows = (await this.#store.list({ type: 'Config' })).filter((row) => zoneOfStoreKey(row) !== null);
      this.#apply([...this.#rows.keys()], rows);
    }
  }

  /** @param zones that were looked for; what is not among the rows does not exist */
  #apply(zones: readonly (string | null)[], rows: readonly Resource[]): void {
    const found = new Map(rows.map((row) => [zoneOfStoreKey(row) ?? '', row]));
    for (const zone of zones) if (zone !== null && !found.has(zone)) this.#rows.delete(zone);
    for (const [zone, row] of found) {
      const accepted = acceptedPeer(row);
      const isNew = accepted !== null && accepted !== acceptedPeer(this.#rows.get(zone));
      this.#rows.set(zone, row);
      if (isNew) for (const listener of [...this.#listeners]) listener(zone, accepted, refusalOf(zone, accepted, null));
    }
  }
}

/** Why the store may not speak for the zone. @param storeId null where the speaker shows none, or it is not known */
function refusalOf(zone: string, known: string | null, storeId: string | null): string {
  const owner = known === null ? 'is served by a connected control plane without a store id' : `belongs to store ${known}`;
  const speaker = storeId === null ? 'this control plane does not show that id' : `this control plane has store ${storeId}`;
  return (
    `zone ${JSON.stringify(zone)} ${owner}, and ${speaker}: nothing of it was stored, and nothing was sent to it. If it replaces ` +
    `the other one, stop that and accept this one on global: meridian zone adopt ${zone}. If not, stop this control plane, or ` +
    'change its multizone.zone.name'
  );
}
