// The topics `zones` and `lag`: the state of a zone when it changes, and how far it is behind while it is. A zone is looked at when its
// rows change, while it has not answered, and once a minute, because a state may end by time.
import { isDeepStrictEqual } from 'node:util';
import { every, type Clock } from '../base/clock.ts';
import { compareText } from '../base/compare-text.ts';
import { together } from '../base/supervise.ts';
import { isBehind } from '../kds/sender/open-senders.ts';
import type { SyncEvent } from '../kds/protocol/sync-events.ts';
import type { ZoneProfile } from '../resource/zone-profile.ts';
import type { Following } from '../store/follow-feed.ts';
import type { LagOf, ZoneSync } from '../zone-status/zone-sync.ts';
import type { EventSource, Tell } from './event-hub.ts';
import type { EventItem } from './event-ring.ts';
import { syncOf, type ZoneFacts } from './zone-facts.ts';
import { readZoneFacts, ZoneRows, type ZoneRowsStore } from './zone-rows.ts';
import { zoneCondition, zoneSummary, type ZoneSummary } from './zone-summary.ts';

/** Milliseconds between two polls of zones that have not answered. */
const POLL_MS = 1_000;
/** Milliseconds between two polls of all zones. */
const POLL_ALL_MS = 60_000;
/** A shorter lag is not reported. */
const LAGGING_MS = 1_000;

type ZoneNow = ZoneFacts & { readonly sync: ZoneSync };
/** The last event of a zone. */
type Last = { readonly state: string; readonly profile: ZoneProfile };
type Options = Following & { readonly store: ZoneRowsStore; readonly lagOf: LagOf };

export class ZoneEvents implements EventSource {
  readonly name = 'zones';
  readonly render: EventSource['render'] = { zones: (zone) => this.#zone(zone), lag: (zone) => this.#lag(zone) };
  readonly #clock: Clock;
  readonly #lagOf: LagOf;
  readonly #store: ZoneRowsStore;
  readonly #rows: ZoneRows;
  readonly #listeners = new Set<(names: readonly string[]) => void>();
  readonly #last = new Map<string, Last>();
  /** Zones that streams know to be behind. */
  readonly #lagging = new Set<string>();
  /** Zones that may be behind; null while no stream is open. */
  #waiting: Set<string> | null = null;

  constructor({ store, lagOf, clock, log }: Options) {
    this.#store = store;
    this.#rows = new ZoneRows(store, { clock, log });
    this.#clock = clock;
    this.#lagOf = lagOf;
  }

  /** Records an event of a stream; never throws, never waits. */
  observe({ kind, peer }: SyncEvent): void {
    if (kind === 'opened' || kind === 'sent' || kind === 'closed') this.#waiting?.add(peer);
  }

  /** Calls back with the zones that are looked at, all of them first. Returns a function that ends the calls. */
  onLook(listener: (names: readonly string[]) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  names(): Iterable<string> {
    return this.#rows.names();
  }

  /** A zone as it is now; null if there is none of the name. */
  stateOf(name: string): ZoneNow | null {
    const facts = this.#rows.get(name);
    return facts === undefined ? null : { ...facts, sync: syncOf(facts, this.#lagOf(name), this.#clock.now()) };
  }

  /**
   * The summary of each zone, by name: from memory while it is followed, else from the store. Rejects when the store does not
   * answer.
   */
  async summaries(): Promise<ZoneSummary[]> {
    const zones = this.followed() ?? this.#inOrder((await readZoneFacts(this.#store)).values());
    const now = this.#clock.now();
    return zones.map((zone) => zoneSummary(zone, now));
  }

  /** Whether `followed` has every change that is committed now, once it has. False while the zones are not followed. */
  async caughtUp(): Promise<boolean> {
    return await this.#rows.caughtUp();
  }

  /** Each zone as it is now, by name; null while the zones are not followed. */
  followed(): ZoneNow[] | null {
    return this.#rows.isCurrent ? this.#inOrder(this.#rows.all()) : null;
  }

  #inOrder(zones: Iterable<ZoneFacts>): ZoneNow[] {
    const now = this.#clock.now();
    const known = [...zones].map((facts) => ({ ...facts, sync: syncOf(facts, this.#lagOf(facts.name), now) }));
    return known.sort((a, b) => compareText(a.name, b.name));
  }

  async run({ touch, loaded }: Tell, signal: AbortSignal): Promise<void> {
    const waiting = new Set<string>();
    this.#waiting = waiting;
    let isFirst = true;
    const look = (names: readonly string[]): void => {
      if (names.length === 0) return;
      for (const listener of this.#listeners) listener(names);
      for (const name of names) {
        if (this.#zoneNews(name) !== null) touch('zones', name);
        if (this.#lagNews(name) !== null) touch('lag', name);
      }
    };
    const take = (names: Iterable<string>): void => {
      // A stream begins with lists that a client reads after this: only differences are news.
      if (isFirst)
        for (const name of names) {
          this.#zone(name);
          this.#lag(name);
          waiting.add(name);
        }
      look([...names]);
      // Call the listeners also if there are no zones.
      if (isFirst) for (const listener of this.#listeners) listener([]);
      if (isFirst) loaded();
      isFirst = false;
    };
    try {
      await together(
        signal,
        (either) => this.#rows.run(take, either),
        (either) =>
          every(this.#clock, POLL_MS, either, () => look([...new Set([...this.#stillWaiting(waiting), ...this.#lagging])])),
        (either) => every(this.#clock, POLL_ALL_MS, either, () => look([...this.#rows.names()])),
      );
    } finally {
      this.#waiting = null;
      this.#last.clear();
      this.#lagging.clear();
    }
  }

  /** The zones among these that are behind, or were at the last look. */
  #stillWaiting(waiting: Set<string>): string[] {
    const names = [...waiting];
    for (const name of names) if (!isBehind(this.#lagOf(name))) waiting.delete(name);
    return names;
  }

  #zone(name: string): EventItem | null {
    const news = this.#zoneNews(name);
    if (news === null) return null;
    if (news.last === null) {
      this.#last.delete(name);
      this.#lagging.delete(name);
    } else this.#last.set(name, news.last);
    return { json: JSON.stringify(news.item), type: 'Zone' };
  }

  /** The state of a zone, if it differs from the last event. @property last null for a zone that is gone */
  #zoneNews(name: string): { readonly last: Last | null; readonly item: object } | null {
    const zone = this.stateOf(name);
    const before = this.#last.get(name);
    if (zone === null) return before === undefined ? null : { last: null, item: { name, isRemoved: true } };
    const { lagMs, pending, ...sync } = zone.sync;
    const { syncProblems } = zone.insight.status;
    const problems = Array.isArray(syncProblems) ? syncProblems.length : 0;
    const { version, profile } = zone;
    const condition = zoneCondition(zone, this.#clock.now());
    // A growing lag has its own topic.
    const state = JSON.stringify([sync, version, problems, condition]);
    const hasNewProfile = before !== undefined && !isSameProfile(before.profile, profile);
    if (before?.state === state && !hasNewProfile) return null;
    const known = { name, sync: { ...sync, lagMs, pending }, ...(version !== null && { version }), syncProblems: problems };
    return { last: { state, profile }, item: { ...known, ...condition, ...(hasNewProfile && { hasNewProfile }) } };
  }

  #lag(name: string): EventItem | null {
    const json = this.#lagNews(name);
    if (json === null) return null;
    if (json.lagMs > 0) this.#lagging.add(name);
    else this.#lagging.delete(name);
    return { json: JSON.stringify(json), type: 'Zone' };
  }

  /** The lag of a zone that is behind, and once a lag of 0 when it is no longer behind. */
  #lagNews(name: string): { readonly name: string; readonly lagMs: number; readonly pending: readonly string[] } | null {
    const zone = this.stateOf(name);
    if (zone === null) return null;
    const { lagMs, pending } = zone.sync;
    if (lagMs >= LAGGING_MS) return { name, lagMs, pending };
    return this.#lagging.has(name) ? { name, lagMs: 0, pending: [] } : null;
  }
}

/** Each change of an insight reads the Zone again, and so makes a new object. */
function isSameProfile(a: ZoneProfile, b: ZoneProfile): boolean {
  return a === b || isDeepStrictEqual(a, b);
}
