// Limits how many peers receive their first state at once: without a limit 500 joining zones cost 1.8 GB (engine 20). A peer has one
// permit at most, for the newest of its streams: a zone that reconnects within seconds does not wait for its dead stream, and a zone
// with thousands of streams delays only itself. A stalled peer loses its permit to a waiting one. A peer that requests its full
// state again and again waits until its byte budget and the rate of full states allow it. A peer that does not ask for its full state takes
// a part of a permit, until it is sent much. Decision 39 says why a semaphore is not enough.
import type { Clock } from '../../base/clock.ts';
import { TokenBuckets } from '../../base/token-buckets.ts';

const MAX_PERMITS = 8;
/**
 * The limit of the messages of all first states at a time, in bytes. A peer that joins alone gets large messages and needs few
 * round trips.
 */
const IN_FLIGHT_BYTES = MAX_PERMITS * 1024 * 1024;
/**
 * The number of parts of a permit, and of those that a peer with a probably small first state takes: 64 such peers at once need
 * little memory.
 */
const PARTS = 8;
const PARTS_OF_SMALL = 1;
/** A first state with more bytes is not small. */
const SMALL_BYTES = IN_FLIGHT_BYTES / MAX_PERMITS / PARTS;
/** A peer that has not answered for this long is stalled. */
const STALL_MS = 250;
/** The largest number of stalled peers with revoked permits. Each may still have a message in flight. */
const MAX_REVOKED = 64;
/** A permit lasts no longer than this: a peer that never acknowledges everything must not delay the others. */
const MAX_MS = 10_000;
/**
 * The time for which a stream that replaced another of its peer keeps the permit. Without it every stream of a flood would get its
 * first state.
 */
const MIN_HELD_MS = 1_000;

/** The bytes of first states that a peer gets without a wait. After that the limit is a rate per second. */
const FREE_BYTES = 32 * 1024 * 1024;
const BYTES_A_SECOND = 1024 * 1024;
/** The number of peers whose bytes, and whose full states, are remembered. */
const MAX_BYTE_BUDGETS = 10_000;
const MAX_FULL_STATES = 50_000;

/**
 * The rate at which a peer gets its full state. A full state costs a global the walk over all resources and the bytes of them; a
 * peer that says which versions it has costs the difference.
 */
export type FullStateLimits = {
  /** The number of full states without a wait. */
  readonly atOnce: number;
  /** The milliseconds for each further full state. */
  readonly intervalMs: number;
};

/** The handle of one stream, which has the permit or waits for it. */
export type Permit = {
  /** Call it when a message of this many bytes was sent. */
  readonly sent: (bytes: number) => void;
  /** Call it when the peer has answered. */
  readonly progress: () => void;
  /** Gives the permit back, or ends the wait for it. Idempotent. */
  readonly leave: () => void;
};

export type Entering = {
  /**
   * The versions that the peer has named. With `none` it gets everything; with `some` probably little; with `unknown` nothing that it could have
   * named yet.
   */
  readonly versions: 'unknown' | 'some' | 'none';
  /** It is called when the rate of full states delays the stream by this many milliseconds. */
  readonly onWait?: (waitMs: number) => void;
};

/** One stream that waits for the permit of its peer, or has it. */
type Stream = { readonly go: () => void; readonly versions: Entering['versions'] };

/** A permit that a stream has. */
type Grant = {
  readonly stream: Stream;
  /** A newer stream of the peer may take it over. */
  isReplaceable: boolean;
  isStalled: boolean;
  /** The parts of a permit. */
  parts: number;
  sentBytes: number;
  /** The parts of a revoked permit no longer count. */
  isRevoked: boolean;
  /** Starts the time again after which the permit counts as stalled. */
  readonly watch: () => void;
  readonly stop: () => void;
};

export class InitialSyncLimiter {
  /** The waiting streams by peer, in the order of the first stream of each; the streams of a peer oldest first. */
  readonly #waiting = new Map<string, Set<Stream>>();
  readonly #grants = new Map<string, Grant>();
  readonly #bytes: TokenBuckets;
  /** Parts of permits that count, and revoked permits. */
  #parts = 0;
  #revoked = 0;
  /** Ends when the first waiting peer has its budget again. */
  #cancelLook = (): void => undefined;
  readonly #clock: Clock;
  /** It is null without limits: what it remembers of peers takes memory from the start. */
  readonly #fullStates: TokenBuckets | null;

  /** @param fullStates the limits of a peer; without them it gets any number */
  constructor(clock: Clock, fullStates?: FullStateLimits) {
    this.#clock = clock;
    const now = (): number => clock.elapsed();
    this.#bytes = new TokenBuckets({ burst: FREE_BYTES, msAToken: 1_000 / BYTES_A_SECOND, most: MAX_BYTE_BUDGETS }, now);
    this.#fullStates = fullStates === undefined ? null : fullStateBuckets(fullStates, now);
  }

  /**
   * The largest number of bytes of resources in one message. There are few sizes, so that peers that join together get the same
   * messages.
   */
  get messageBytes(): number {
    return IN_FLIGHT_BYTES / 2 ** Math.ceil(Math.log2(Math.max(1, this.#parts / PARTS)));
  }

  /** Calls `go` when the stream has its permit, at once or later. */
  enter(peer: string, go: () => void, { versions, onWait }: Entering = { versions: 'none' }): Permit {
    const stream: Stream = { go, versions };
    const waitMs = this.#fullStateWaitOf(peer, stream);
    if (waitMs > 0) onWait?.(waitMs);
    const queue = this.#waiting.get(peer) ?? new Set();
    this.#waiting.set(peer, queue.add(stream));
    this.#replace(peer);
    this.#admitNext();
    return {
      sent: (bytes) => this.#count(peer, stream, bytes),
      progress: () => this.#progress(peer, stream),
      leave: () => this.#leave(peer, stream),
    };
  }

  #count(peer: string, stream: Stream, bytes: number): void {
    const grant = this.#grants.get(peer);
    if (grant?.stream !== stream) return;
    grant.sentBytes += bytes;
    if (grant.sentBytes > SMALL_BYTES) this.#setParts(grant, PARTS);
    this.#bytes.take(peer, bytes);
  }

  /** Milliseconds until this stream of the peer may be sent its first state. */
  #waitOf(peer: string, stream: Stream): number {
    return Math.max(this.#bytes.waitOf(peer, 0), this.#fullStateWaitOf(peer, stream));
  }

  #fullStateWaitOf(peer: string, { versions }: Stream): number {
    return versions === 'none' ? (this.#fullStates?.waitOf(peer, 1) ?? 0) : 0;
  }

  /**
   * Plans the next look.
   * @param waitMs the milliseconds until then; Infinity where no peer waits for its budget
   */
  #lookLater(waitMs: number): void {
    this.#cancelLook();
    if (waitMs === Infinity) return;
    this.#cancelLook = this.#clock.after(Math.ceil(waitMs), () => {
      for (const peer of [...this.#waiting.keys()]) this.#replace(peer);
      this.#admitNext();
    });
  }

  #progress(peer: string, stream: Stream): void {
    const grant = this.#grants.get(peer);
    if (grant?.stream !== stream) return;
    grant.isStalled = false;
    grant.watch();
  }

  #leave(peer: string, stream: Stream): void {
    this.#unqueue(peer, stream);
    const grant = this.#grants.get(peer);
    if (grant?.stream === stream) this.#free(peer, grant);
    this.#admitNext();
  }

  #free(peer: string, grant: Grant): void {
    grant.stop();
    this.#grants.delete(peer);
    this.#setParts(grant, 0);
    if (grant.isRevoked) this.#revoked -= 1;
  }

  #setParts(grant: Grant, parts: number): void {
    if (!grant.isRevoked) this.#parts += parts - grant.parts;
    grant.parts = parts;
  }

  /** Gives the permit of a peer to its newest waiting stream. */
  #replace(peer: string): void {
    const grant = this.#grants.get(peer);
    const stream = newest(this.#waiting.get(peer));
    if (grant?.isReplaceable !== true || stream === undefined || this.#waitOf(peer, stream) > 0) return;
    this.#free(peer, grant);
    this.#admit(peer, stream, { isReplaceable: false, isRevoked: grant.isRevoked });
  }

  #admitNext(): void {
    this.#lookLater(this.#admitAll());
  }

  /**
   * Stops at the first peer without a permit: thousands may wait, and every free permit starts this loop again.
   * @returns the least wait of the passed peers in milliseconds; Infinity if none waits for its budget
   */
  #admitAll(): number {
    let leastMs = Infinity;
    for (const [peer, queue] of this.#waiting) {
      const stream = newest(queue);
      if (stream === undefined) continue;
      const waitMs = this.#waitOf(peer, stream);
      leastMs = waitMs > 0 ? Math.min(leastMs, waitMs) : leastMs;
      if (waitMs > 0 || this.#grants.has(peer)) continue;
      if (!this.#makeRoom(partsOf(stream))) break;
      this.#admit(peer, stream, { isReplaceable: true, isRevoked: false });
    }
    return leastMs;
  }

  /** @returns false if too few parts are free, and too few holders are stalled */
  #makeRoom(parts: number): boolean {
    while (this.#parts + parts > MAX_PERMITS * PARTS) {
      if (this.#revoked >= MAX_REVOKED) return false;
      const grant = [...this.#grants.values()].find(({ isStalled, isRevoked }) => isStalled && !isRevoked);
      if (grant === undefined) return false;
      this.#parts -= grant.parts;
      grant.isRevoked = true;
      this.#revoked += 1;
    }
    return true;
  }

  #admit(peer: string, stream: Stream, { isReplaceable, isRevoked }: Pick<Grant, 'isReplaceable' | 'isRevoked'>): void {
    this.#unqueue(peer, stream);
    if (stream.versions === 'none') this.#fullStates?.take(peer, 1);
    const onStall = (): void => {
      grant.isStalled = true;
      this.#admitNext();
    };
    const allowReplacement = (): void => {
      grant.isReplaceable = true;
      this.#replace(peer);
    };
    const clock = this.#clock;
    let cancelStall = clock.after(STALL_MS, onStall);
    const watch = (): void => {
      cancelStall();
      cancelStall = clock.after(STALL_MS, onStall);
    };
    const cancelEnd = clock.after(MAX_MS, () => this.#leave(peer, stream));
    const cancelHold = clock.after(MIN_HELD_MS, allowReplacement);
    const stop = (): void => {
      for (const cancel of [cancelStall, cancelEnd, cancelHold]) cancel();
    };
    const grant: Grant = { stream, parts: 0, sentBytes: 0, isReplaceable, isRevoked, isStalled: false, watch, stop };
    this.#grants.set(peer, grant);
    this.#setParts(grant, partsOf(stream));
    if (isRevoked) this.#revoked += 1;
    // The next stream of this peer waits behind the other peers.
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

function fullStateBuckets({ atOnce, intervalMs }: FullStateLimits, now: () => number): TokenBuckets {
  return new TokenBuckets({ burst: atOnce, msAToken: intervalMs, most: MAX_FULL_STATES }, now);
}

function partsOf({ versions }: Stream): number {
  return versions === 'none' ? PARTS : PARTS_OF_SMALL;
}

function newest(queue: ReadonlySet<Stream> = new Set()): Stream | undefined {
  return [...queue].at(-1);
}
