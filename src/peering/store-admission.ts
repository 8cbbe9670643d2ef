// Keeps the store of each zone, in Config rows that the Zones own. The first store that connects is saved; another one is refused
// until a person accepts it. The stored rows decide, so replicas agree. A store that speaks for its zone already is admitted by the rows in
// memory: when another one was accepted, the feed ends its streams.
import type { Clock } from '../base/clock.ts';
import { MeridianError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { ZoneStores } from '../kds/protocol/zone-access.ts';
import type { JsonObject, Resource, ResourceKey } from '../resource/types.ts';
import { create } from '../defaults/create-defaults.ts';
import { acceptedPeer, currentRefusal, recordRefusal, zoneOfStoreKey, zoneStoreKey } from './peer-identity.ts';
import { followRows } from '../store/follow-rows.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { ANSWER_MS, isAsked, livenessOf, withAnswer, withQuestion } from './live-streams.ts';

type Listener = (zone: string, storeId: string, reason: string) => void;

type StoreAdmissionOptions = {
  readonly store: ResourceStore;
  /** The id of this process in the subscriptions of ZoneInsights. */
  readonly instanceId: string;
  readonly log: Logger;
  readonly clock: Clock;
};

export class StoreAdmission implements ZoneStores {
  readonly #store: ResourceStore;
  readonly #instanceId: string;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #listeners = new Set<Listener>();
  /** The latest rows, by zone. */
  readonly #rows = new Map<string, Resource>();
  #follower: { readonly isCurrent: boolean } = { isCurrent: false };

  constructor({ store, instanceId, log, clock }: StoreAdmissionOptions) {
    this.#store = store;
    this.#instanceId = instanceId;
    this.#log = log;
    this.#clock = clock;
  }

  async admit(zone: string, storeId: string | null): Promise<string | null> {
    if (this.#isKnown(zone, storeId)) return null;
    const key = zoneStoreKey(zone);
    const owner = { type: 'Zone', mesh: '', name: zone };
    for (;;) {
      const row = await this.#store.get(key);
      const known = acceptedPeer(row);
      if (known === storeId) return null;
      const insight = known === null ? await this.#insightOf(zone) : {};
      const now = this.#clock.now();
      const liveness = known === null ? livenessOf(insight, row?.status ?? {}, this.#instanceId, now) : 'live';
      if (row !== undefined && liveness === 'live') {
        await recordRefusal(this.#store, row, storeId ?? '', now);
        return refusalOf(zone, known, storeId);
      }
      if (liveness === 'asked') return waitingFor(zone);
      const isFirst = liveness === 'gone';
      const status = liveness === 'unknown' ? withQuestion(row?.status ?? {}, insight, now) : {};
      const write = { ...create(key, {}, { config: isFirst ? (storeId ?? '') : '' }, owner), status };
      const { result } = await this.#store.write(
        row === undefined ? write : { ...write, op: 'update', expectVersion: row.version },
      );
      if (result === 'rejected')
        throw new MeridianError('unavailable', `the Zone "${zone}" was removed; connect again to rejoin`);
      if (isFirst && (result === 'created' || result === 'updated'))
        this.#log.info({ zone, storeId }, 'this store speaks for the zone from now on');
    }
  }

  #isKnown(zone: string, storeId: string | null): boolean {
    return storeId !== null && this.#follower.isCurrent && acceptedPeer(this.#rows.get(zone)) === storeId;
  }

  /** The known state of a zone's streams. A peer without a store id, such as a Kuma zone, keeps its name while it is connected. */
  async #insightOf(zone: string): Promise<JsonObject> {
    return (await this.#store.get({ type: 'ZoneInsight', mesh: '', name: zone }))?.spec ?? {};
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

  /** Follows the rows until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const take = (rows: readonly Resource[], keys: readonly ResourceKey[] | null): Promise<void> =>
      this.#apply(keys === null ? [...this.#rows.keys()] : keys.map(zoneOfStoreKey), rows);
    const isWanted = (key: ResourceKey): boolean => zoneOfStoreKey(key) !== null;
    const begins = (follower: { readonly isCurrent: boolean }): void => void (this.#follower = follower);
    const followed = { type: 'Config', isWanted, take, begins };
    await followRows(this.#store, followed, { clock: this.#clock, log: this.#log }, signal);
  }

  /** @param zones the requested zones; one without a row does not exist */
  async #apply(zones: readonly (string | null)[], rows: readonly Resource[]): Promise<void> {
    const found = new Map(rows.map((row) => [zoneOfStoreKey(row) ?? '', row]));
    for (const zone of zones) if (zone !== null && !found.has(zone)) this.#rows.delete(zone);
    for (const [zone, row] of found) {
      const accepted = acceptedPeer(row);
      const isNew = accepted !== null && accepted !== acceptedPeer(this.#rows.get(zone));
      this.#rows.set(zone, row);
      if (isNew) for (const listener of [...this.#listeners]) listener(zone, accepted, refusalOf(zone, accepted, null));
      if (isAsked(row.status)) await this.#answer(zone, row);
    }
  }

  /**
   * Answers in the row that a stream of the zone is open here, if one is. A write that loses a race is dropped: the feed reports the
   * newer row.
   */
  async #answer(zone: string, row: Resource): Promise<void> {
    const status = withAnswer(row.status, await this.#insightOf(zone), this.#instanceId);
    if (status === null) return;
    const { labels, spec, syncVersion, version: expectVersion } = row;
    await this.#store.write({ op: 'update', key: row, labels, spec, syncVersion, status, expectVersion });
  }
}

/** The reason why the store may not speak for the zone yet. */
function waitingFor(zone: string): string {
  return (
    `another control plane without a store id was connected as zone ${JSON.stringify(zone)} to another instance of global, which was ` +
    `asked whether it still is: nothing was stored or sent. Without an answer within ${String(ANSWER_MS / 1000)} s this one is accepted`
  );
}

/** The reason why the store may not speak for the zone. @param storeId null if the speaker has none, or it is unknown */
function refusalOf(zone: string, known: string | null, storeId: string | null): string {
  const owner = known === null ? 'is served by a connected control plane without a store id' : `belongs to store ${known}`;
  const speaker = storeId === null ? 'this control plane does not show that id' : `this control plane has store ${storeId}`;
  return (
    `zone ${JSON.stringify(zone)} ${owner}, and ${speaker}: nothing of it was stored, and nothing was sent to it. If it replaces ` +
    `the other one, stop that and accept this one on global: meridian zone adopt ${zone}. If not, stop this control plane, or ` +
    'change its multizone.zone.name'
  );
}
