// Keeps DataplaneInsight rows in step with the streams of this process. `observe` only updates memory, so no stream waits for the
// store. Changes are written in few statements: openings, ends and refusals at once, counts with the next flush.
import { isDeepStrictEqual } from 'node:util';
import type { ProxyConnectionFacts, ProxyEvent, StreamCounter } from '../ads/proxy-events.ts';
import type { XdsType } from '../ads/session-messages.ts';
import { every, rest, type Clock } from '../base/clock.ts';
import { MeridianError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { describeKey, keyText, nameText, type Resource } from '../resource/types.ts';
import { isOpen, subscriptionsOf } from '../resource/online-status.ts';
import { FeedFollower } from '../store/follow-feed.ts';
import type { ResourceStore, Write, WriteOutcome } from '../store/resource-store.ts';
import { timeOf } from '../subscriptions/merge-subscriptions.ts';
import { isLive } from './proxy-subscription.ts';
import { CountedProxy } from './counted-proxy.ts';
import { HoldQueue } from './hold-queue.ts';
import { dataplaneKey, insightKey, type DataplaneName } from './proxy-keys.ts';
import {
  beginRun,
  closeProxy,
  dropStored,
  foldProxy,
  holdOf,
  insightLabels,
  isConnected,
  isLeavingRun,
  mergeProxy,
  raiseGeneration,
  unknownProxy,
  type Hold,
  type ProxyState,
} from './dataplane-insight.ts';

type DataplaneInsightWriterOptions = {
  readonly store: ResourceStore;
  readonly instanceId: string;
  readonly log: Logger;
  readonly clock: Clock;
  /** The value of `xdsServer.dataplaneStatusFlushInterval` in milliseconds: the maximum delay of counts. */
  readonly flushIntervalMs: number;
  /** Half of `metrics.dataplane.idleTimeout`, in milliseconds. */
  readonly generationIntervalMs: number;
  /** The value of `metrics.dataplane.subscriptionLimit`. */
  readonly subscriptionLimit: number;
};

/** The number of rows of one statement. */
const BATCH = 500;
/** The pause after a batch, as a multiple of its duration. Without it each of a thousand joining proxies would have its own statements. */
const REST_TIMES = 4;
/** The number of attempts at one row while others write it; the next flush tries again. */
const ATTEMPTS = 5;

/** @property tries the number of attempts since the last event */
type Entry = { readonly at: DataplaneName; readonly proxy: CountedProxy; isDirty: boolean; tries: number };

/** A proxy that brings its Dataplane. */
type Holding = {
  readonly id: string;
  readonly at: DataplaneName;
  readonly run: string;
  readonly plan: (stored: Resource | undefined) => Write | null;
};
type PlannedHold = {
  readonly entry: Entry;
  readonly state: ProxyState;
  readonly writes: readonly Write[];
  readonly isInsightWritten: boolean;
};

export class DataplaneInsightWriter {
  readonly #options: DataplaneInsightWriterOptions;
  readonly #entries = new Map<string, Entry>();
  /** Proxies that are written without delay. */
  readonly #urgent = new Set<Entry>();
  #flushing: Promise<void> | null = null;
  /** Proxies whose rows were written here: the next hint reports this write. */
  readonly #echoes = new Set<string>();
  /** The calls of `hold` that are under way. */
  readonly #holding = new Set<Promise<void>>();
  readonly #holds = new HoldQueue<Holding>(
    (held) => this.#storeTogether(held),
    (one) => this.#storeAlone(one),
  );
  #isStopping = (): boolean => false;
  #isStopped = false;

  constructor(options: DataplaneInsightWriterOptions) {
    this.#options = options;
  }

  /** Takes an event in; never throws, never waits. */
  observe(event: ProxyEvent): void {
    if (this.#isStopped) return;
    const { instanceId, clock } = this.#options;
    const entry = this.#entry(event);
    // The stream ends because this control plane stops.
    if (event.kind === 'closed' && this.#isStopping()) this.change(event, (state) => closeProxy(state, clock.now()));
    const said = entry.proxy.take(event, instanceId, clock.now());
    if (said !== 'nothing') this.#touch(entry, said === 'news');
  }

  /** Counts the events of one stream as `observe` would: the proxy is looked up once. */
  counter(facts: ProxyConnectionFacts): StreamCounter {
    const { clock } = this.#options;
    let entry: Entry | null = null;
    const count = (kind: 'sent' | 'accepted', type: XdsType): void => {
      if (this.#isStopped) return;
      // The entry stays for as long as the stream is open.
      entry ??= this.#entry(facts);
      const isCounted = entry.proxy.count(kind, type, facts.streamId, clock.now());
      if (isCounted === true) this.#touch(entry, false);
      else if (isCounted === null && kind === 'accepted') this.observe({ ...facts, kind, type, standing: [] });
    };
    return { sent: (type) => count('sent', type), accepted: (type) => count('accepted', type) };
  }

  /** Changes the state of a proxy, and stores it at once; nothing happens where none is known. */
  change(at: DataplaneName, edit: (state: ProxyState) => ProxyState): void {
    if (this.#isStopped) return;
    const entry = this.#entries.get(nameText(at));
    const state = entry === undefined ? undefined : edit(entry.proxy.state);
    if (entry !== undefined && state !== undefined && state !== entry.proxy.state) this.#set(entry, state, true);
  }

  /** The known state of a proxy. */
  stateOf(at: DataplaneName): ProxyState | undefined {
    return this.#entries.get(nameText(at))?.proxy.state;
  }

  /**
   * Stores a Dataplane together with the open stream of the proxy that brings it: both or neither. A Dataplane that was there
   * before is not held: it stays when the stream ends. On an error the stream counts as ended.
   * A run that drains already changes nothing of its Dataplane.
   * @param plan the write of the Dataplane; null where the stored one is the same already
   * @throws MeridianError `invalid` for a row that cannot be stored, `unavailable` while others write it, or when this control
   * plane stops
   */
  async hold(facts: ProxyConnectionFacts, plan: (stored: Resource | undefined) => Write | null): Promise<void> {
    if (this.#isStopped) throw new MeridianError('unavailable', 'this control plane stops');
    const { run } = facts;
    const entry = this.#entry(facts);
    const { instanceId, clock } = this.#options;
    entry.proxy.state = foldProxy(entry.proxy.state, { ...facts, kind: 'opened' }, instanceId, clock.now());
    const storing = this.#holds.add({ id: nameText(facts), at: entry.at, run, plan });
    this.#holding.add(storing);
    try {
      await storing;
    } catch (error) {
      this.release(facts, 'released');
      throw error;
    } finally {
      this.#holding.delete(storing);
    }
  }

  /**
   * Stores registrations of different Dataplanes in one transaction. Resolves to false if one of them cannot be stored: then none
   * is.
   */
  async #storeTogether(held: readonly Holding[]): Promise<boolean> {
    const { store } = this.#options;
    const found = await store.getMany(held.flatMap(({ at }) => [dataplaneKey(at), insightKey(at)]));
    const rows = new Map(found.map((row) => [keyText(row), row]));
    const planned: PlannedHold[] = [];
    for (const one of held) {
      try {
        planned.push(this.#planHold(one, rows));
      } catch {
        // It fails alone, with its own error.
        return false;
      }
    }
    const outcomes = await store.writeAll(planned.flatMap(({ writes }) => writes));
    if (!outcomes.every((outcome) => 'version' in outcome)) return false;
    for (const one of planned) this.#held(one);
    return true;
  }

  async #storeAlone(one: Holding): Promise<void> {
    const { store } = this.#options;
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const found = await store.getMany([dataplaneKey(one.at), insightKey(one.at)]);
      const planned = this.#planHold(one, new Map(found.map((row) => [keyText(row), row])));
      const outcomes = await store.writeAll(planned.writes);
      const failed = outcomes.find((outcome) => !('version' in outcome));
      if (failed === undefined) return this.#held(planned);
      if (failed.result === 'rejected') throw new MeridianError('invalid', failed.message);
    }
    throw new MeridianError('unavailable', `${describeKey(dataplaneKey(one.at))} is being written by others; try again`);
  }

  /** @param rows the stored rows, by the text of their key */
  #planHold({ at, run, plan }: Holding, rows: ReadonlyMap<string, Resource>): PlannedHold {
    const dataplane = rows.get(keyText(dataplaneKey(at)));
    const insight = rows.get(keyText(insightKey(at)));
    const isLeaving = dataplane !== undefined && insight !== undefined && isLeavingRun(insight.status, run);
    const write = isLeaving ? null : plan(dataplane);
    const isHeld = dataplane === undefined || (insight !== undefined && holdOf(insight.status) !== null);
    const entry = this.#entry(at);
    entry.proxy.state = { ...entry.proxy.state, hold: isHeld ? 'held' : null };
    const { state } = entry.proxy;
    const own = this.#write(at, insight, state, run);
    return { entry, state, isInsightWritten: own !== null, writes: [write, own].filter((one) => one !== null) };
  }

  #held({ entry, state, isInsightWritten }: PlannedHold): void {
    if (isInsightWritten) this.#echoes.add(nameText(entry.at));
    this.#stored(entry, state);
  }

  /** Notes the end of a stream that held a Dataplane. */
  release(facts: ProxyConnectionFacts, hold: Hold): void {
    this.observe({ ...facts, kind: 'closed' });
    this.change(facts, (state) =>
      state.hold === null || state.hold === hold || isConnected(state) ? state : { ...state, hold },
    );
  }

  /** Flushes on the interval and raises generations until the signal aborts; then closes and stores the open subscriptions. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, flushIntervalMs, generationIntervalMs } = this.#options;
    this.#isStopping = () => signal.aborted;
    await Promise.all([
      every(clock, flushIntervalMs, signal, () => this.flush()),
      every(clock, generationIntervalMs, signal, () => this.#changeAll(raiseGeneration)),
    ]);
    this.#changeAll((state) => closeProxy(state, clock.now()));
    this.#isStopped = true;
    // A later write would leave subscriptions open.
    await Promise.allSettled(this.#holding);
    await this.flush();
  }

  /**
   * Reads the rows that others write, until the signal aborts. If a row closes a proxy that is connected here, it is opened again.
   * @param superseded takes a stream of a proxy that has a newer one at another replica
   */
  async follow(superseded: (at: DataplaneName, streamId: string) => void, signal: AbortSignal): Promise<void> {
    const { store, log, clock } = this.#options;
    const follower = new FeedFollower({ store, log, clock, types: ['DataplaneInsight'] });
    await follower.run(async ({ types, keys }) => {
      const named = types.length > 0 ? [...this.#entries.keys()] : keys.map(nameText).filter((id) => !this.#echoes.delete(id));
      const ours = named.flatMap((id) => {
        const entry = this.#entries.get(id);
        return entry !== undefined && isConnected(entry.proxy.state) ? [entry] : [];
      });
      for (let from = 0; from < ours.length; from += BATCH) {
        const rows = await store.getMany(ours.slice(from, from + BATCH).map(({ at }) => insightKey(at)));
        for (const row of rows) this.#look(row, superseded);
      }
    }, signal);
  }

  #look(row: Resource, superseded: (at: DataplaneName, streamId: string) => void): void {
    const entry = this.#entries.get(nameText(row));
    const live = entry?.proxy.state.subscriptions.filter(isLive) ?? [];
    const newest = subscriptionsOf(row.spec).findLast(isOpen);
    if (entry === undefined || live.length === 0 || live.some(({ id }) => id === newest?.['id'])) return;
    if (newest === undefined) return this.#set(entry, entry.proxy.state, true);
    const since = timeOf(newest['connectTime']);
    for (const { id, connectTime } of live) if (connectTime.getTime() < since) superseded(entry.at, id);
  }

  /** Stores everything that waits; resolves when it is stored or was given up until the next flush. */
  async flush(): Promise<void> {
    for (const entry of this.#entries.values()) {
      if (!entry.isDirty) continue;
      entry.tries = 0;
      this.#urgent.add(entry);
    }
    await this.#storeUrgent();
  }

  /** The number of proxies that are kept in memory. */
  get size(): number {
    return this.#entries.size;
  }

  #changeAll(edit: (state: ProxyState) => ProxyState): void {
    for (const entry of this.#entries.values()) {
      const state = edit(entry.proxy.state);
      if (state !== entry.proxy.state) this.#set(entry, state, false);
    }
  }

  #entry(at: DataplaneName): Entry {
    const id = nameText(at);
    const known = this.#entries.get(id);
    if (known !== undefined) return known;
    const { mesh, name } = at;
    const entry: Entry = { at: { mesh, name }, proxy: new CountedProxy(unknownProxy), isDirty: false, tries: 0 };
    this.#entries.set(id, entry);
    return entry;
  }

  #set(entry: Entry, state: ProxyState, isUrgent: boolean): void {
    entry.proxy.state = state;
    this.#touch(entry, isUrgent);
  }

  #touch(entry: Entry, isUrgent: boolean): void {
    entry.isDirty = true;
    entry.tries = 0;
    if (!isUrgent) return;
    this.#urgent.add(entry);
    void this.#storeUrgent();
  }

  async #storeUrgent(): Promise<void> {
    this.#flushing ??= this.#storeAll();
    await this.#flushing;
  }

  async #storeAll(): Promise<void> {
    const { clock } = this.#options;
    // Events of the same turn share a batch.
    await Promise.resolve();
    while (this.#urgent.size > 0) {
      const batch = [...this.#urgent].slice(0, BATCH);
      for (const entry of batch) this.#urgent.delete(entry);
      const began = clock.elapsed();
      await this.#storeBatch(batch);
      // The end of a stream is stored at once.
      if (!this.#isStopped) await rest(clock, began, REST_TIMES);
    }
    // This is the same step as the last look at what is urgent: an event that comes now starts the next.
    this.#flushing = null;
  }

  async #storeBatch(batch: readonly Entry[]): Promise<void> {
    const { store, log } = this.#options;
    for (const entry of batch) entry.isDirty = false;
    try {
      const found = await store.getMany(batch.map(({ at }) => insightKey(at)));
      const rows = new Map(found.map((row) => [nameText(row), row]));
      const planned = batch.map((entry) => {
        const { at } = entry;
        const { state } = entry.proxy;
        return { entry, state, write: this.#write(at, rows.get(nameText(at)), state) };
      });
      const writes = planned.flatMap(({ write }) => (write === null ? [] : [write]));
      const outcomes = writes.length === 0 ? [] : await store.writeBatch(writes);
      // The answers come in the order of the writes.
      const answers = outcomes.values();
      for (const { entry, state, write } of planned) this.#take(entry, state, write === null ? null : answers.next().value);
    } catch (error) {
      for (const entry of batch) entry.isDirty = true;
      log.warn(
        { reason: messageOf(error), proxies: batch.length },
        'insights of proxies could not be stored; they are tried again',
      );
    }
  }

  /** Takes the outcome of a write. @param outcome null where the row said it all already */
  #take(entry: Entry, state: ProxyState, outcome: WriteOutcome | undefined | null): void {
    const isWritten = outcome !== null && outcome !== undefined && 'version' in outcome;
    if (isWritten) this.#echoes.add(nameText(entry.at));
    if (outcome === null || isWritten) return this.#stored(entry, state);
    // The Dataplane is gone, and its insight with it.
    if (outcome?.result === 'rejected') return this.#stored(entry, state);
    entry.isDirty = true;
    entry.tries += 1;
    if (entry.tries < ATTEMPTS) this.#urgent.add(entry);
  }

  #stored(entry: Entry, state: ProxyState): void {
    entry.proxy.state = dropStored(entry.proxy.state, state);
    if (entry.proxy.state.subscriptions.length === 0 && !entry.isDirty) {
      this.#entries.delete(nameText(entry.at));
      this.#echoes.delete(nameText(entry.at));
    }
  }

  /** Returns null when the row says it all already. @param run the run of a proxy that brings its Dataplane now */
  #write(at: DataplaneName, row: Resource | undefined, state: ProxyState, run: string | null = null): Write | null {
    const { clock, subscriptionLimit } = this.#options;
    const key = insightKey(at);
    const stored = row ?? { spec: {}, status: {} };
    const begun = run === null ? stored : { ...stored, status: beginRun(stored.status, { ...state, run }) };
    const { spec, status } = mergeProxy(begun, state, subscriptionLimit, clock.now());
    const labels = insightLabels(row?.labels ?? {}, at.name, state);
    if (row === undefined) return { op: 'create', key, labels, spec, status, owner: dataplaneKey(at) };
    if (
      [
        [spec, row.spec],
        [status, row.status],
        [labels, row.labels],
      ].every(([a, b]) => isDeepStrictEqual(a, b))
    )
      return null;
    return { op: 'update', key, labels, spec, status, expectVersion: row.version };
  }
}
