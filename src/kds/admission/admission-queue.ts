// Limits how many zones connect at the same time: as many as the event loop and the heap allow, the zone that waits longest first. A
// waiting zone keeps its streams open and gets no message, so the wait is free for both sides. Invariants: at least one zone may always
// enter; a zone that leaves while it waits keeps its place for a minute; a silent zone frees its place.
import { getHeapStatistics } from 'node:v8';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../base/clock.ts';

/** The number of zones that enter at the same time: at the start, its bounds, and the number that each check may add. */
const START_ZONES = 32;
const MIN_ZONES = 16;
const MAX_ZONES = 256;
const ZONES_A_CHECK = 16;
/** The limit while the heap is nearly full. */
const MIN_ZONES_FULL_HEAP = 1;
/**
 * The milliseconds for which zones are gathered while others enter, and between two checks of the load while zones wait for a
 * place.
 */
const CHECK_MS = 50;
/** A check with a shorter delay than the first raises the limit. A check with a longer delay than the second halves it. */
const SHORT_DELAY_MS = 50;
const LONG_DELAY_MS = 250;
/** Parts of the heap in use. Above the first the limit is halved; above the second zones enter one at a time. */
const HIGH_HEAP = 0.7;
const FULL_HEAP = 0.85;
/** A zone frees its place after this time without an answer, and after the longer time in any case. */
const MAX_SILENCE_MS = 1_000;
const MAX_ENTRY_MS = 10_000;
/** The milliseconds for which the place of a zone that left is kept, and the number of such zones. */
const KEEP_MS = 60_000;
const MAX_KEPT = 50_000;

/** @returns the used part of the heap, 0 to 1 */
export type UsedHeap = () => number;

export function usedHeap(): number {
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
  return used / limit;
}

type Entry = {
  readonly zone: string;
  /** The time at which the zone began to wait. */
  readonly since: number;
  streams: number;
  state: 'waits' | 'enters' | 'in';
  /** The streams of the zone that wait. */
  readonly waiting: Set<() => void>;
  stop: () => void;
  watch: () => void;
};

export class AdmissionQueue {
  readonly #clock: Clock;
  readonly #usedHeap: UsedHeap;
  readonly #zones = new Map<string, Entry>();
  /** The waiting zones, in the order in which they enter. */
  readonly #queue: Entry[] = [];
  /** Zones that left while they waited: the start of the wait and the end, in milliseconds. */
  readonly #left = new LRUCache<string, { readonly since: number; readonly at: number }>({ max: MAX_KEPT });
  #entering = 0;
  #limit = START_ZONES;
  /** It is true while zones wait for a place. */
  #isFull = false;
  #cancelLook: (() => void) | null = null;

  constructor(clock: Clock, heap: UsedHeap = usedHeap) {
    this.#clock = clock;
    this.#usedHeap = heap;
  }

  /** The zones that wait, and the milliseconds of the longest wait. */
  get waiting(): { readonly zones: number; readonly longestMs: number } {
    const [first] = this.#queue;
    return { zones: this.#queue.length, longestMs: first === undefined ? 0 : this.#clock.elapsed() - first.since };
  }

  /** Calls `go` when the streams of the zone may be served, at once or later. Call the result when the stream has ended. */
  enter(zone: string, go: () => void): () => void {
    const entry = this.#zones.get(zone) ?? this.#arrive(zone);
    entry.streams += 1;
    if (entry.state === 'waits') entry.waiting.add(go);
    else go();
    this.#admitOrGather();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      entry.waiting.delete(go);
      entry.streams -= 1;
      if (entry.streams === 0) this.#leave(entry);
    };
  }

  /** The zone has answered. */
  progress(zone: string): void {
    this.#zones.get(zone)?.watch();
  }

  /** The zone has its first state. */
  settled(zone: string): void {
    const entry = this.#zones.get(zone);
    if (entry?.state !== 'enters') return;
    this.#done(entry);
    this.#admitOrGather();
  }

  #arrive(zone: string): Entry {
    const now = this.#clock.elapsed();
    const left = this.#left.get(zone);
    const since = left !== undefined && now - left.at < KEEP_MS ? left.since : now;
    const none = (): void => undefined;
    const entry: Entry = { zone, since, streams: 0, state: 'waits', waiting: new Set(), stop: none, watch: none };
    this.#zones.set(zone, entry);
    // Nearly every zone belongs at the end, so search from there.
    const before = this.#queue.findLastIndex((other) => other.since <= since);
    this.#queue.splice(before + 1, 0, entry);
    return entry;
  }

  #leave(entry: Entry): void {
    this.#zones.delete(entry.zone);
    if (entry.state === 'waits') {
      this.#queue.splice(this.#queue.indexOf(entry), 1);
      this.#left.set(entry.zone, { since: entry.since, at: this.#clock.elapsed() });
    } else if (entry.state === 'enters') this.#done(entry);
    this.#admitOrGather();
  }

  #done(entry: Entry): void {
    entry.stop();
    entry.watch = () => undefined;
    entry.state = 'in';
    this.#entering -= 1;
  }

  /** While others enter, those that come are gathered until the next check: zones that enter together share statements of the store. */
  #admitOrGather(): void {
    if (this.#entering === 0) this.#admit();
    else if (this.#queue.length > 0) this.#lookLater();
  }

  #admit(): void {
    while (this.#queue.length > 0 && this.#entering < (this.#usedHeap() > FULL_HEAP ? MIN_ZONES_FULL_HEAP : this.#limit)) {
      const next = this.#queue.shift();
      if (next === undefined) break;
      this.#letIn(next);
    }
    this.#isFull = this.#queue.length > 0;
    if (this.#isFull) this.#lookLater();
  }

  #letIn(entry: Entry): void {
    const clock = this.#clock;
    entry.state = 'enters';
    this.#entering += 1;
    this.#left.delete(entry.zone);
    const giveUp = (): void => this.settled(entry.zone);
    let cancelSilent = clock.after(MAX_SILENCE_MS, giveUp);
    const cancelEnd = clock.after(MAX_ENTRY_MS, giveUp);
    entry.watch = () => {
      cancelSilent();
      cancelSilent = clock.after(MAX_SILENCE_MS, giveUp);
    };
    entry.stop = () => {
      cancelSilent();
      cancelEnd();
    };
    for (const go of entry.waiting) go();
    entry.waiting.clear();
  }

  #lookLater(): void {
    if (this.#cancelLook !== null) return;
    const due = this.#clock.elapsed() + CHECK_MS;
    this.#cancelLook = this.#clock.after(CHECK_MS, () => {
      this.#cancelLook = null;
      if (this.#isFull) this.#adapt(this.#clock.elapsed() - due);
      this.#admit();
    });
  }

  /** @param delayMs the delay of the event loop */
  #adapt(delayMs: number): void {
    const heap = this.#usedHeap();
    if (delayMs > LONG_DELAY_MS || heap > HIGH_HEAP) this.#limit = Math.max(MIN_ZONES, Math.floor(this.#limit / 2));
    else if (delayMs < SHORT_DELAY_MS) this.#limit = Math.min(MAX_ZONES, Math.max(MIN_ZONES, this.#limit + ZONES_A_CHECK));
  }
}
