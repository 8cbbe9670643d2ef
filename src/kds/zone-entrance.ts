// Which zones may connect now, when many come at once: as many at a time as the event loop and the heap allow, the one that has waited
// longest first. A zone that must wait keeps its open streams and is sent nothing, which costs neither side anything. Invariants: some
// zones are always let in; a zone that leaves while it waits keeps its place for a minute; a zone that says nothing frees its place.
import { getHeapStatistics } from 'node:v8';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../base/clock.ts';

/** The zones that enter at the same time: at first, and the bounds. */
const FIRST = 32;
const LEAST = 16;
const MOST = 256;
const MORE = 16;
/** The same while the heap is nearly full. */
const LEAST_OF_LITTLE_HEAP = 1;
/** Milliseconds between two looks at the load, while zones wait. */
const LOOK_MS = 50;
/** A look that comes later than this by fewer milliseconds allows more zones, by more than the other fewer. */
const SHORT_DELAY_MS = 50;
const LONG_DELAY_MS = 250;
/** Used parts of the heap: from the first on there are fewer zones, from the second on one at a time. */
const MUCH_HEAP = 0.7;
const FULL_HEAP = 0.85;
/** A zone that enters and does nothing for this long frees its place, and one that is not done after the other time. */
const SILENT_MS = 1_000;
const ENTER_MS = 10_000;
/** How long a zone that left keeps its place among those that wait, and how many zones do. */
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
  /** When it began to wait. */
  readonly since: number;
  streams: number;
  state: 'waits' | 'enters' | 'in';
  /** Its streams that wait. */
  readonly waiting: Set<() => void>;
  stop: () => void;
  watch: () => void;
};

export class ZoneEntrance {
  readonly #clock: Clock;
  readonly #usedHeap: UsedHeap;
  readonly #zones = new Map<string, Entry>();
  /** Those that wait, the first to enter first. */
  readonly #queue: Entry[] = [];
  /** Zones that left while they waited, in milliseconds: since when they had waited, and when they left. */
  readonly #left = new LRUCache<string, { readonly since: number; readonly at: number }>({ max: MAX_KEPT });
  #entering = 0;
  #limit = FIRST;
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
    this.#admit();
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
    this.#admit();
  }

  #arrive(zone: string): Entry {
    const now = this.#clock.elapsed();
    const before = this.#left.get(zone);
    const since = before !== undefined && now - before.at < KEEP_MS ? before.since : now;
    const none = (): void => undefined;
    const entry: Entry = { zone, since, streams: 0, state: 'waits', waiting: new Set(), stop: none, watch: none };
    this.#zones.set(zone, entry);
    // Nearly all come at the end.
    let at = this.#queue.length;
    while (at > 0 && (this.#queue[at - 1]?.since ?? 0) > since) at -= 1;
    this.#queue.splice(at, 0, entry);
    return entry;
  }

  #leave(entry: Entry): void {
    this.#zones.delete(entry.zone);
    if (entry.state === 'waits') {
      this.#queue.splice(this.#queue.indexOf(entry), 1);
      this.#left.set(entry.zone, { since: entry.since, at: this.#clock.elapsed() });
    } else if (entry.state === 'enters') this.#done(entry);
    this.#admit();
  }

  #done(entry: Entry): void {
    entry.stop();
    entry.watch = () => undefined;
    entry.state = 'in';
    this.#entering -= 1;
  }

  #admit(): void {
    while (this.#queue.length > 0 && this.#entering < (this.#usedHeap() > FULL_HEAP ? LEAST_OF_LITTLE_HEAP : this.#limit)) {
      const next = this.#queue.shift();
      if (next === undefined) break;
      this.#letIn(next);
    }
    if (this.#queue.length > 0) this.#lookLater();
  }

  #letIn(entry: Entry): void {
    const clock = this.#clock;
    entry.state = 'enters';
    this.#entering += 1;
    this.#left.delete(entry.zone);
    const giveUp = (): void => this.settled(entry.zone);
    let cancelSilent = clock.after(SILENT_MS, giveUp);
    const cancelEnd = clock.after(ENTER_MS, giveUp);
    entry.watch = () => {
      cancelSilent();
      cancelSilent = clock.after(SILENT_MS, giveUp);
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
    const due = this.#clock.elapsed() + LOOK_MS;
    this.#cancelLook = this.#clock.after(LOOK_MS, () => {
      this.#cancelLook = null;
      this.#adapt(this.#clock.elapsed() - due);
      this.#admit();
    });
  }

  /** @param delayMs of the event loop */
  #adapt(delayMs: number): void {
    const heap = this.#usedHeap();
    if (delayMs > LONG_DELAY_MS || heap > MUCH_HEAP) this.#limit = Math.max(LEAST, Math.floor(this.#limit / 2));
    else if (delayMs < SHORT_DELAY_MS) this.#limit = Math.min(MOST, Math.max(LEAST, this.#limit + MORE));
  }
}
