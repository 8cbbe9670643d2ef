// Writes the state of this process's streams to ZoneInsight rows (kds-wire 2.6). `observe` only updates memory, so no stream waits
// for the store. One write per zone is in flight, and later events share the next. Counts are written
// in few statements, for a part of the zones at a time, so that the rows a second do not grow with the fleet. A deleted zone leaves nothing in memory.
import type { SyncEvent } from '../kds/protocol/sync-events.ts';
import { isDeepStrictEqual } from 'node:util';
import { every, type Clock } from '../base/clock.ts';
import { CoalescedKeys } from '../base/coalesced-keys.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { SubscriptionKeeper } from './kds-subscription.ts';
import {
  closeInsight,
  countResponse,
  dropStored,
  emptyInsight,
  foldInsight,
  isKeptHere,
  isResponseEvent,
  mergeInsight,
  raiseGeneration,
  renderStatus,
  type InsightState,
} from './zone-insight.ts';
import { writeWithRetries } from './retried-write.ts';
import { competingControlPlanes } from './competing-control-planes.ts';
import { lagToStore, type LagOf } from './zone-sync.ts';
import type { Lag } from '../kds/sender/open-senders.ts';
import type { JsonObject, Resource, ResourceKey } from '../resource/types.ts';
import type { ResourceStore, Write, WriteOutcome } from '../store/resource-store.ts';

export type ZoneInsightWriterOptions = {
  readonly store: ResourceStore;
  readonly keeper: SubscriptionKeeper;
  /** The own name of a zone, for all events. Global has none, because there the peer is the zone. */
  readonly zone?: string;
  readonly log: Logger;
  readonly clock: Clock;
  /**
   * The maximum delay of counts in a fleet of at most `ZONES_A_FLUSH` zones, in milliseconds (`zoneInsightFlushInterval`). It grows with a
   * larger fleet. Opening and closing have no delay.
   */
  readonly flushIntervalMs?: number;
  /** Half of `metrics.zone.idleTimeout`, in milliseconds. */
  readonly generationIntervalMs?: number;
  /** The value of `metrics.zone.subscriptionLimit`. */
  readonly subscriptionLimit?: number;
  /** Finds the changes that the zones with a stream to this process have not confirmed, for the other replicas. */
  readonly lagOf?: LagOf;
};

/**
 * The number of zones of the fleet whose counts are stored in one interval, by all replicas together: 50 rows a second by
 * default.
 */
const ZONES_A_FLUSH = 500;
/** A zone is stored before its generation would be raised twice more: an unchanged one counts as that of a dead replica. */
const MAX_GENERATIONS = 1.5;
/** The number of rows of one statement. */
const BATCH = 500;
/** The milliseconds for which urgent states wait while that of a single zone is stored. */
const MAX_URGENT_MS = 50;
/**
 * The milliseconds for each zone of an urgent batch until the next one, and the longest pause: zones that return have several
 * events each.
 */
const URGENT_PAUSE_MS = 4;
const MAX_URGENT_PAUSE_MS = 1_000;
/**
 * The milliseconds between two batches of zones that are urgent for their problems: those of a zone that refuses everything
 * change with each change.
 */
const PROBLEMS_MS = 1_000;

/** The events that are written without delay; counts may wait. */
const AT_ONCE: ReadonlySet<SyncEvent['kind']> = new Set(['opened', 'closed', 'node']);

type Row = Pick<Resource, 'labels' | 'spec' | 'status' | 'version'>;

/**
 * @property stored the spec as it was last read or written, with the state of other processes
 * @property row the row that this process wrote last, while the zone has a stream here: then others rarely write it. It is null
 * if it must be read first
 * @property isLagging whether the row says that changes wait for the zone
 * @property isUrgent an event during a flush does not wait for the next flush
 */
type Entry = {
  state: InsightState;
  dirty: boolean;
  flushing: Promise<void> | null;
  stored: JsonObject;
  row: Row | null;
  isLagging: boolean;
  isUrgent: boolean;
};

/** A state of a zone on its way to the store. */
type Sent = { readonly zone: string; readonly entry: Entry; readonly state: InsightState };
type PlannedWrite = Extract<Write, { op: 'create' | 'update' }>;

export class ZoneInsightWriter {
  /** The number of zones of the fleet, of all replicas. Until it is known, the number of this process. */
  fleetSize = (): number => this.#entries.size;
  readonly #options: ZoneInsightWriterOptions;
  /** The zones that were stored with others last are at the end. */
  readonly #entries = new Map<string, Entry>();
  /** Zones whose states do not wait for a flush, in the order of their events. */
  readonly #urgent = new Set<string>();
  #isFlushingUrgent = false;
  /** Zones whose problems have changed. */
  readonly #troubled: CoalescedKeys;
  /** Ends retries when the process stops. */
  readonly #stop = new AbortController();

  constructor(options: ZoneInsightWriterOptions) {
    this.#options = options;
    this.#troubled = new CoalescedKeys(options.clock, {
      paceMs: PROBLEMS_MS,
      maxKeys: BATCH,
      publish: (zones) => this.#hurry(zones),
    });
  }

  /** Records an event; never throws, never waits. */
  observe(event: SyncEvent): void {
    if (this.#stop.signal.aborted) return;
    const { keeper, clock, zone = event.peer } = this.#options;
    const entry = this.#entry(zone);
    if (isResponseEvent(event)) {
      if (countResponse(entry.state, event, clock.now())) entry.dirty = true;
      return;
    }
    const state = foldInsight(entry.state, event, keeper, clock.now());
    if (state === entry.state) return;
    // After these rows are deleted nothing else tells the counts.
    const replacesRows = event.kind === 'counted' && event.replacesRows;
    const hasOtherProblems = state.problems !== entry.state.problems;
    entry.state = state;
    entry.dirty = true;
    if (AT_ONCE.has(event.kind) || replacesRows) this.#hurry([zone]);
    else if (hasOtherProblems) this.#troubled.touch(zone);
  }

  #hurry(zones: readonly string[]): void {
    for (const zone of zones) {
      const entry = this.#entries.get(zone);
      if (entry?.dirty !== true) continue;
      entry.isUrgent = true;
      this.#urgent.add(zone);
    }
    void this.#flushUrgent();
  }

  /** Flushes on the interval and raises generations until the signal aborts; then closes and stores the open subscriptions. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, flushIntervalMs = 10_000, generationIntervalMs = 150_000 } = this.#options;
    await Promise.all([
      every(clock, flushIntervalMs, signal, () => {
        this.#noteLags();
        return this.#flushShare(flushIntervalMs, generationIntervalMs);
      }),
      every(clock, generationIntervalMs, signal, () => this.#changeAll(raiseGeneration)),
    ]);
    this.#changeAll((state) => closeInsight(state, clock.now()));
    this.#stop.abort();
    this.#troubled.stop();
    await this.flush();
  }

  /** Stores all unsaved states; resolves when they are stored, or have failed until the next flush. */
  async flush(): Promise<void> {
    // What changes while it is being stored is unsaved again when that ends.
    await Promise.all(this.#flying());
    await this.#flushTogether(this.#entries.size);
  }

  #flying(): Promise<void>[] {
    return [...this.#entries.values()].flatMap(({ flushing }) => flushing ?? []);
  }

  /** Stores the zones that wait longest. Each has its turn in an interval that grows with the fleet. */
  async #flushShare(flushIntervalMs: number, generationIntervalMs: number): Promise<void> {
    const longestMs = Math.max(flushIntervalMs, generationIntervalMs * MAX_GENERATIONS);
    const turns = Math.max(1, Math.min(this.fleetSize() / ZONES_A_FLUSH, longestMs / flushIntervalMs));
    await this.#flushTogether(Math.ceil(this.#entries.size / turns));
  }

  /** Stores at most `most` unsaved states, the longest waiting first, and waits for those that are being stored. */
  async #flushTogether(most: number): Promise<void> {
    const flying = this.#flying();
    const due = [...this.#entries].filter(([, { dirty, flushing }]) => dirty && flushing === null).slice(0, most);
    for (const one of due) {
      this.#entries.delete(one[0]);
      this.#entries.set(...one);
    }
    const batches: Promise<Promise<void>[]>[] = [];
    for (let from = 0; from < due.length; from += BATCH) batches.push(this.#flushBatch(due.slice(from, from + BATCH)));
    const retries = await Promise.all(batches);
    await Promise.all([...flying, ...retries.flat()]);
  }

  /** Stores urgent states, a batch at a time, so that the states of many zones that come together share statements. */
  async #flushUrgent(): Promise<void> {
    if (this.#isFlushingUrgent) return;
    this.#isFlushingUrgent = true;
    try {
      while (this.#urgent.size > 0) {
        const due = this.#takeUrgent();
        const flushes = due.length === 0 ? [] : await this.#flushBatch(due);
        // Zones that come meanwhile are the next batch. A single zone may need its retries.
        if (due.length === 1) await Promise.race([...flushes, this.#rest(MAX_URGENT_MS)]);
        else if (due.length > 1) await this.#rest(Math.min(MAX_URGENT_PAUSE_MS, due.length * URGENT_PAUSE_MS));
      }
    } finally {
      this.#isFlushingUrgent = false;
    }
  }

  async #rest(ms: number): Promise<void> {
    await this.#options.clock.sleep(ms, this.#stop.signal, { ref: false });
  }

  /** Takes the next urgent zones, without those that are being stored: that flush stores what came meanwhile. */
  #takeUrgent(): [zone: string, entry: Entry][] {
    const due: [string, Entry][] = [];
    for (const zone of this.#urgent) {
      const entry = this.#entries.get(zone);
      if (entry?.dirty === true && entry.flushing === null) due.push([zone, entry]);
      this.#urgent.delete(zone);
      if (due.length === BATCH) break;
    }
    return due;
  }

  /**
   * Stores states in one statement, or a single one alone.
   * @returns those that are stored alone: what another writer changed meanwhile, and what the store refuses, is tried again
   */
  async #flushBatch(zones: readonly (readonly [zone: string, entry: Entry])[]): Promise<Promise<void>[]> {
    const [first] = zones;
    if (first !== undefined && zones.length === 1) return [this.#flushZone(...first)];
    const batch = this.#storeBatch(zones);
    for (const [, entry] of zones) {
      entry.dirty = false;
      entry.isUrgent = false;
      entry.flushing = batch.then(() => undefined);
    }
    const stored = await batch;
    const again: Promise<void>[] = [];
    for (const [zone, entry] of zones) {
      entry.flushing = null;
      const isStored = stored?.has(zone) === true;
      if (!isStored) entry.dirty = true;
      // Without the store every zone waits for the next flush.
      if ((stored !== null && !isStored) || entry.isUrgent) again.push(this.#flushZone(zone, entry));
    }
    return again;
  }

  /** Stores states in one statement. @returns the zones that are stored; null without the store */
  async #storeBatch(zones: readonly (readonly [zone: string, entry: Entry])[]): Promise<ReadonlySet<string> | null> {
    const { store, log } = this.#options;
    try {
      const sent = zones.map(([zone, entry]) => ({ zone, entry, state: entry.state }));
      const unknown = sent.filter(({ entry }) => entry.row === null);
      const found = unknown.length === 0 ? [] : await store.getMany(unknown.map(({ zone }) => insightKey(zone)));
      const rows = new Map<string, Row>(found.map((row) => [row.name, row]));
      const planned = sent.map((one) => ({ ...one, write: this.#planWrite(one, one.entry.row ?? rows.get(one.zone)) }));
      const writes = planned.flatMap(({ write }) => write ?? []);
      const outcomes = writes.length === 0 ? [] : await store.writeBatch(writes);
      const byZone = new Map(outcomes.map((outcome, index) => [writes[index]?.key.name ?? '', outcome]));
      const stored = planned.filter(({ zone, entry, write }) => write === null || this.#keepRow(entry, write, byZone.get(zone)));
      for (const { entry, state } of stored) entry.state = dropStored(entry.state, state);
      return new Set(stored.map(({ zone }) => zone));
    } catch (error) {
      const about = { zones: zones.length, reason: messageOf(error) };
      log.warn(about, 'the insights of zones could not be stored; they are tried again with the next flush');
      return null;
    }
  }

  /** Drops a deleted zone. A zone with an open stream is dropped when the stream ends. */
  forget(zone: string): void {
    const entry = this.#entries.get(zone);
    if (entry === undefined) return;
    // A new Zone of the name has another row, whose version may be the same.
    entry.row = null;
    if (!hasOpenStream(entry)) this.#entries.delete(zone);
  }

  /** The zones with streams to this process that two control planes claim. */
  contended(): string[] {
    const now = this.#options.clock.now();
    return [...this.#entries].filter(([, { stored }]) => competingControlPlanes(stored, now).length > 0).map(([zone]) => zone);
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
    const entry: Entry = {
      state: emptyInsight,
      dirty: false,
      flushing: null,
      stored: {},
      row: null,
      isLagging: false,
      isUrgent: false,
    };
    this.#entries.set(zone, entry);
    return entry;
  }

  #flushZone(zone: string, entry: Entry): Promise<void> {
    if (entry.dirty) entry.flushing ??= this.#storeUntilClean(zone, entry);
    return entry.flushing ?? Promise.resolve();
  }

  async #storeUntilClean(zone: string, entry: Entry): Promise<void> {
    const { clock, log } = this.#options;
    while (entry.dirty) {
      entry.dirty = false;
      entry.isUrgent = false;
      const { state } = entry;
      const failure = await writeWithRetries(() => this.#mergeInto({ zone, entry, state }), clock, this.#stop.signal);
      if (failure === null) {
        entry.state = dropStored(entry.state, state);
        continue;
      }
      if (failure.kind === 'failed') entry.dirty = true;
      else if (await this.#isGone(zone)) this.forget(zone);
      if (this.#entries.get(zone) === entry)
        log.warn({ zone, reason: failure.reason }, 'the insight of the zone could not be stored; it is tried again');
      break;
    }
    // There was no await since the last check of `dirty`: a later event starts the next flush.
    entry.flushing = null;
  }

  /** Resolves to true when the store has no such Zone; false also while the store is unavailable. */
  async #isGone(zone: string): Promise<boolean> {
    const find = this.#options.store.get({ type: 'Zone', mesh: '', name: zone });
    return await find.then(
      (row) => row === undefined,
      () => false,
    );
  }

  /** Makes one attempt. It resolves to null when the row needs no change. */
  async #mergeInto(sent: Sent): Promise<WriteOutcome | null> {
    const { store } = this.#options;
    const { zone, entry } = sent;
    const write = this.#planWrite(sent, entry.row ?? (await store.get(insightKey(zone))));
    if (write === null) return null;
    const outcome = await store.write(write);
    this.#keepRow(entry, write, outcome);
    return outcome;
  }

  /** Keeps the row as it is now; after any other outcome it is read again. @returns whether it is stored */
  #keepRow(entry: Entry, { labels, spec, status = {} }: PlannedWrite, outcome: WriteOutcome | undefined): boolean {
    const isStored = outcome !== undefined && 'version' in outcome;
    entry.row = isStored && hasOpenStream(entry) ? { labels, spec, status, version: outcome.version } : null;
    return isStored;
  }

  /** Plans the write of a row. @returns null when the row needs no change */
  #planWrite({ zone, entry, state }: Sent, row: Row | undefined): PlannedWrite | null {
    const { clock, keeper, subscriptionLimit = 10 } = this.#options;
    const key = insightKey(zone);
    const now = clock.now();
    const spec = mergeInsight(row?.spec ?? {}, state, subscriptionLimit, now);
    const lag = this.#lagOf(zone);
    const status = renderStatus(row?.status ?? {}, state, { now, isKept: isKeptHere(spec, row?.spec ?? {}, keeper), lag });
    Object.assign(entry, { stored: spec, isLagging: lag !== null });
    if (row === undefined) return { op: 'create', key, labels: {}, spec, status, owner: { type: 'Zone', mesh: '', name: zone } };
    if (isDeepStrictEqual(spec, row.spec) && isDeepStrictEqual(status, row.status)) return null;
    return { op: 'update', key, labels: row.labels, spec, status, expectVersion: row.version };
  }
}

function insightKey(name: string): ResourceKey {
  return { type: 'ZoneInsight', mesh: '', name };
}

function hasOpenStream({ state }: Entry): boolean {
  return state.subscriptions.some(({ disconnectTime }) => disconnectTime === null);
}
