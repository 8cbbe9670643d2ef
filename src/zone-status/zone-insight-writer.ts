// Writes the state of this process's streams to ZoneInsight rows (kds-wire 2.6). `observe` only updates memory, so no stream waits
// for the store. One write per zone is in flight, and later events share the next. A deleted zone leaves nothing in memory.
import type { SyncEvent } from '../kds/sync-events.ts';
import { isDeepStrictEqual } from 'node:util';
import { every, type Clock } from '../base/clock.ts';
import { MeridianError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { SubscriptionKeeper } from './kds-subscription.ts';
import {
  closeInsight,
  dropStored,
  emptyInsight,
  foldInsight,
  mergeInsight,
  raiseGeneration,
  type InsightState,
} from './zone-insight.ts';
import { rivalSpeakers } from './rival-speakers.ts';
import { lagToStore, type LagOf } from './zone-sync.ts';
import type { Lag } from '../kds/open-senders.ts';
import type { JsonObject } from '../resource/types.ts';
import { renderStatus } from './zone-insight.ts';
import type { ResourceStore, WriteOutcome } from '../store/resource-store.ts';

export type ZoneInsightWriterOptions = {
  readonly store: ResourceStore;
  readonly keeper: SubscriptionKeeper;
  /** On a zone: its own name, used for all events. Left out on global, where the peer is the zone. */
  readonly zone?: string;
  readonly log: Logger;
  readonly clock: Clock;
  /** The maximum delay of counts, in milliseconds; opening and closing have no delay (`zoneInsightFlushInterval`). */
  readonly flushIntervalMs?: number;
  /** Half of `metrics.zone.idleTimeout`, in milliseconds. */
  readonly generationIntervalMs?: number;
  /** `metrics.zone.subscriptionLimit`. */
  readonly subscriptionLimit?: number;
  /** What the zones with a stream to this process have not confirmed, for the other replicas. */
  readonly lagOf?: LagOf;
};

/** The waits before each attempt, in milliseconds. A conflict is retried at once; a Zone row may not exist yet. */
const RETRY_DELAYS_MS = [0, 50, 250, 1000, 2000];

/** The events that are written without delay; counts may wait. */
const AT_ONCE: ReadonlySet<SyncEvent['kind']> = new Set(['opened', 'closed', 'node']);

/** Why a state is not stored. `refused`: a retry with the same state would fail too. */
type Failure = { readonly kind: 'failed' | 'refused'; readonly reason: string };

/**
 * @property stored the spec as it was last read or written, with the state of other processes
 * @property isLagging whether the row says that changes wait for the zone
 */
type Entry = { state: InsightState; dirty: boolean; flushing: Promise<void> | null; stored: JsonObject; isLagging: boolean };

export class ZoneInsightWriter {
  readonly #options: ZoneInsightWriterOptions;
  readonly #entries = new Map<string, Entry>();
  /** Ends retries when the process stops. */
  readonly #stop = new AbortController();

  constructor(options: ZoneInsightWriterOptions) {
    this.#options = options;
  }

  /** Records an event; never throws, never waits. */
  observe(event: SyncEvent): void {
    if (this.#stop.signal.aborted) return;
    const { keeper, clock, zone = event.peer } = this.#options;
    const entry = this.#entry(zone);
    const state = foldInsight(entry.state, event, keeper, clock.now());
    if (state === entry.state) return;
    const isUrgent = AT_ONCE.has(event.kind) || state.problems !== entry.state.problems;
    entry.state = state;
    entry.dirty = true;
    if (isUrgent) void this.#flushZone(zone, entry);
  }

  /** Flushes on the interval and raises generations until the signal aborts; then closes and stores the open subscriptions. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, flushIntervalMs = 10_000, generationIntervalMs = 150_000 } = this.#options;
    await Promise.all([
      every(clock, flushIntervalMs, signal, () => {
        this.#noteLags();
        return this.flush();
      }),
      every(clock, generationIntervalMs, signal, () => this.#changeAll(raiseGeneration)),
    ]);
    this.#changeAll((state) => closeInsight(state, clock.now()));
    this.#stop.abort();
    await this.flush();
  }

  /** Stores all unsaved states; resolves when they are stored, or have failed until the next flush. */
  async flush(): Promise<void> {
    const waiting = [...this.#entries].filter(([, entry]) => entry.dirty || entry.flushing !== null);
    await Promise.all(waiting.map(([zone, entry]) => this.#flushZone(zone, entry)));
  }

  /** Drops a deleted zone. A zone with an open stream is dropped when the stream ends. */
  forget(zone: string): void {
    const entry = this.#entries.get(zone);
    if (entry !== undefined && !hasOpenStream(entry)) this.#entries.delete(zone);
  }

  /** The zones with streams to this process that two control planes claim. */
  contended(): string[] {
    const now = this.#options.clock.now();
    return [...this.#entries].filter(([, { stored }]) => rivalSpeakers(stored, now).length > 0).map(([zone]) => zone);
  }

  /** The number of zones in memory. */
  get size(): number {
    return this.#entries.size;
  }

  /** No event says that a zone has become slow to answer. */
  #noteLags(): void {
    for (const [zone, entry] of this.#entries) if (entry.isLagging !== (this.#lagOf(zone) !== null)) entry.dirty = true;
  }

  #lagOf(zone: string): Lag | null {
    const { lagOf, clock } = this.#options;
    return lagToStore(lagOf?.(zone), clock.now());
  }

  #changeAll(edit: (state: InsightState) => InsightState): void {
    for (const entry of this.#entries.values()) {
      const state = edit(entry.state);
      if (state === entry.state) continue;
      entry.state = state;
      entry.dirty = true;
    }
  }

  #entry(zone: string): Entry {
    const known = this.#entries.get(zone);
    if (known !== undefined) return known;
    const entry: Entry = { state: emptyInsight, dirty: false, flushing: null, stored: {}, isLagging: false };
    this.#entries.set(zone, entry);
    return entry;
  }

  #flushZone(zone: string, entry: Entry): Promise<void> {
    if (entry.dirty) entry.flushing ??= this.#storeUntilClean(zone, entry);
    return entry.flushing ?? Promise.resolve();
  }

  async #storeUntilClean(zone: string, entry: Entry): Promise<void> {
    while (entry.dirty) {
      entry.dirty = false;
      const { state } = entry;
      const failure = await this.#store(zone, state);
      if (failure === null) {
        entry.state = dropStored(entry.state, state);
        continue;
      }
      if (failure.kind === 'failed') entry.dirty = true;
      else if (await this.#isGone(zone)) this.forget(zone);
      if (this.#entries.get(zone) === entry)
        this.#options.log.warn(
          { zone, reason: failure.reason },
          'the insight of the zone could not be stored; it is tried again',
        );
      break;
    }
    // Without an await since the last check of `dirty`: a later event starts the next flush.
    entry.flushing = null;
  }

  /** True when the store has no such Zone; false also while the store is unavailable. */
  async #isGone(zone: string): Promise<boolean> {
    const find = this.#options.store.get({ type: 'Zone', mesh: '', name: zone });
    return await find.then(
      (row) => row === undefined,
      () => false,
    );
  }

  /** Merges and writes with retries. Returns null, or why it failed. */
  async #store(zone: string, state: InsightState): Promise<Failure | null> {
    let failure: Failure = { kind: 'failed', reason: '' };
    for (const delay of [...RETRY_DELAYS_MS, 0]) {
      try {
        const outcome = await this.#mergeInto(zone, state);
        if (outcome === null || outcome.result === 'created' || outcome.result === 'updated') return null;
        failure =
          outcome.result === 'rejected'
            ? { kind: 'refused', reason: outcome.message }
            : { kind: 'failed', reason: outcome.result };
      } catch (error) {
        failure = { kind: 'failed', reason: messageOf(error) };
        if (!(error instanceof MeridianError)) return failure;
      }
      if (delay > 0) await this.#options.clock.sleep(delay, this.#stop.signal);
    }
    return failure;
  }

  /** One attempt; null when the row needs no change. */
  async #mergeInto(zone: string, state: InsightState): Promise<WriteOutcome | null> {
    const { store, clock, subscriptionLimit = 10 } = this.#options;
    const key = { type: 'ZoneInsight', mesh: '', name: zone };
    const row = await store.get(key);
    const spec = mergeInsight(row?.spec ?? {}, state, subscriptionLimit, clock.now());
    const lag = this.#lagOf(zone);
    const status = renderStatus(row?.status ?? {}, state, lag);
    const entry = this.#entries.get(zone);
    if (entry !== undefined) Object.assign(entry, { stored: spec, isLagging: lag !== null });
    if (row === undefined)
      return store.write({ op: 'create', key, labels: {}, spec, status, owner: { type: 'Zone', mesh: '', name: zone } });
    if (isDeepStrictEqual(spec, row.spec) && isDeepStrictEqual(status, row.status)) return null;
    return store.write({ op: 'update', key, labels: row.labels, spec, status, expectVersion: row.version });
  }
}

function hasOpenStream({ state }: Entry): boolean {
  return state.subscriptions.some(({ disconnectTime }) => disconnectTime === null);
}
