// Limits how many peers receive their first state at once: without a limit 500 joining zones cost 1.8 GB (engine 20). Peers take
// turns. Each peer has at most one permit, so a peer with thousands of streams delays only itself. The newest stream of a peer has
// its permit: a zone that reconnects within seconds does not wait for its dead stream. A stalled peer loses its permit to a waiting
// one, and its bytes in flight count against a separate limit. A peer that requests its full state again and again waits until its
// byte budget allows it.
import { LRUCache } from 'lru-cache';

const AT_ONCE = 8;
/** Bytes of the messages of all first states at a time. A peer that joins alone gets large messages and needs few round trips. */
const IN_FLIGHT_BYTES = AT_ONCE * 1024 * 1024;
/** A peer that has not answered for this long is stalled. */
const STILL_MS = 250;
/** Stalled places that lost their permits. Each may have a message in flight with the size for one of eight permits. */
const MAX_BESIDE = 64;
/** A peer that never acknowledges keeps its place no longer than this, or it would delay the others. */
const MAX_MS = 10_000;
/** A stream that took the place over has this long before the next may, or a flood of streams would all be sent to at once. */
const TAKE_OVER_MS = 1_000;

/** Bytes of first states that a peer may be sent without a wait, and how many a second after that. */
const FREE_BYTES = 32 * 1024 * 1024;
const BYTES_A_SECOND = 1024 * 1024;
/** Peers whose byte budgets are kept. */
const MAX_PEERS = 10_000;

/** A stream's part in it. */
export type Permit = {
  /** So many bytes were sent. */
  readonly spent: (bytes: number) => void;
  /** The peer has answered something. */
  readonly progress: () => void;
  /** Leaves the place, or the queue; calling it again does nothing. */
  readonly leave: () => void;
};

/** One stream that waits for the place of its peer, or has it. */
type Stream = { readonly go: () => void };

type Place = {
  readonly stream: Stream;
  mayBeTaken: boolean;
  standsStill: boolean;
  /** Not one of the eight any more. */
  isBeside: boolean;
  readonly still: NodeJS.Timeout;
  readonly timers: readonly NodeJS.Timeout[];
};

export class InitialSyncLimiter {
  /** By peer, in the order of their first waiting stream; the streams of a peer oldest first. */
  readonly #waiting = new Map<string, Set<Stream>>();
  readonly #places = new Map<string, Place>();
  /** What a peer was sent lately: bytes at a time in milliseconds. */
  readonly #debts = new LRUCache<string, { readonly bytes: number; readonly at: number }>({ max: MAX_PEERS });
  #beside = 0;
  /** For the peer that may first come again. */
  #later: NodeJS.Timeout | undefined;

  /** How many bytes of resources one message may hold now: few sizes, so that peers side by side get the same messages. */
  get messageBytes(): number {
    return IN_FLIGHT_BYTES / 2 ** Math.ceil(Math.log2(Math.max(1, this.#inside)));
  }

  get #inside(): number {
    return this.#places.size - this.#beside;
  }

  /** Calls `go` when there is room, at once or later. */
  enter(peer: string, go: () => void): Permit {
    const stream: Stream = { go };
    const queue = this.#waiting.get(peer) ?? new Set();
    this.#waiting.set(peer, queue.add(stream));
    this.#takeOver(peer);
    this.#admitNext();
    return {
      spent: (bytes) => this.#spend(peer, stream, bytes),
      progress: () => this.#progress(peer, stream),
      leave: () => this.#leave(peer, stream),
    };
  }

  #spend(peer: string, stream: Stream, bytes: number): void {
    if (this.#places.get(peer)?.stream !== stream) return;
    this.#debts.set(peer, { bytes: this.#debtOf(peer) + bytes, at: performance.now() });
  }

  #debtOf(peer: string): number {
    const debt = this.#debts.get(peer);
    return debt === undefined ? 0 : Math.max(0, debt.bytes - ((performance.now() - debt.at) / 1_000) * BYTES_A_SECOND);
  }

  /** Milliseconds until the peer may be sent the next first state. */
  #waitOf(peer: string): number {
    return (Math.max(0, this.#debtOf(peer) - FREE_BYTES) / BYTES_A_SECOND) * 1_000;
  }

  /** @param waitMs Infinity where no peer waits for its budget */
  #lookLater(waitMs: number): void {
    clearTimeout(this.#later);
    if (waitMs === Infinity) return;
    this.#later = setTimeout(() => {
      for (const peer of [...this.#waiting.keys()]) this.#takeOver(peer);
      this.#admitNext();
    }, Math.ceil(waitMs)).unref();
  }

  #progress(peer: string, stream: Stream): void {
    const place = this.#places.get(peer);
    if (place?.stream !== stream) return;
    place.standsStill = false;
    place.still.refresh();
  }

  #leave(peer: string, stream: Stream): void {
    this.#unqueue(peer, stream);
    const place = this.#places.get(peer);
    if (place?.stream === stream) this.#free(peer, place);
    this.#admitNext();
  }

  #free(peer: string, { timers, isBeside }: Place): void {
    for (const timer of timers) clearTimeout(timer);
    this.#places.delete(peer);
    if (isBeside) this.#beside -= 1;
  }

  /** Gives the place of a peer to the newest stream of it that waits. */
  #takeOver(peer: string): void {
    const place = this.#places.get(peer);
    const stream = newest(this.#waiting.get(peer));
    if (place?.mayBeTaken !== true || stream === undefined || this.#waitOf(peer) > 0) return;
    this.#free(peer, place);
    this.#admit(peer, stream, { mayBeTaken: false, isBeside: place.isBeside });
  }

  #admitNext(): void {
    this.#lookLater(this.#admitAll());
  }

  /**
   * Ends with the first peer that finds no room: thousands may wait, and the next place that is left brings all of them here again.
   * @returns the least wait of the passed peers in milliseconds; Infinity if none waits for its budget
   */
  #admitAll(): number {
    let leastMs = Infinity;
    for (const [peer, queue] of this.#waiting) {
      const waitMs = this.#waitOf(peer);
      leastMs = waitMs > 0 ? Math.min(leastMs, waitMs) : leastMs;
      const stream = waitMs > 0 || this.#places.has(peer) ? undefined : newest(queue);
      if (stream === undefined) continue;
      if (!this.#makeRoom()) break;
      this.#admit(peer, stream, { mayBeTaken: true, isBeside: false });
    }
    return leastMs;
  }

  /** @returns false where all places are taken and none of them is stalled */
  #makeRoom(): boolean {
    if (this.#inside < AT_ONCE) return true;
    if (this.#beside >= MAX_BESIDE) return false;
    const place = [...this.#places.values()].find(({ standsStill, isBeside }) => standsStill && !isBeside);
    if (place === undefined) return false;
    place.isBeside = true;
    this.#beside += 1;
    return true;
  }

  #admit(peer: string, stream: Stream, { mayBeTaken, isBeside }: Pick<Place, 'mayBeTaken' | 'isBeside'>): void {
    this.#unqueue(peer, stream);
    const standStill = (): void => {
      place.standsStill = true;
      this.#admitNext();
    };
    const yieldPlace = (): void => {
      place.mayBeTaken = true;
      this.#takeOver(peer);
    };
    const still = setTimeout(standStill, STILL_MS).unref();
    const timers = [still, setTimeout(() => this.#leave(peer, stream), MAX_MS).unref()];
    if (!mayBeTaken) timers.push(setTimeout(yieldPlace, TAKE_OVER_MS).unref());
    const place: Place = { stream, mayBeTaken, isBeside, standsStill: false, still, timers };
    this.#places.set(peer, place);
    if (isBeside) this.#beside += 1;
    // Behind the others for its next stream.
    const queue = this.#waiting.get(peer);
    if (queue !== undefined && this.#waiting.delete(peer)) this.#waiting.set(peer, queue);
    stream.go();
  }

  #unqueue(peer: string, stream: Stream): void {
    const queue = this.#waiting.get(peer);
    queue?.delete(stream);
    if (queue?.size === 0) this.#waiting.delete(peer);
  }
}

function newest(queue: ReadonlySet<Stream> = new Set()): Stream | undefined {
  return [...queue].at(-1);
}
