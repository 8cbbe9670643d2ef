// How often a peer gets its full state: the first ones without a wait, then one in each interval. A full state costs a global the walk
// over all resources and the bytes of them; a peer that says which versions it has costs the difference.
import { LRUCache } from 'lru-cache';

export type FullStateLimits = {
  /** Full states without a wait. */
  readonly atOnce: number;
  /** Milliseconds for each one after that. */
  readonly intervalMs: number;
};

/** Peers that are remembered. */
const MAX_PEERS = 50_000;

export class FullStateRate {
  readonly #limits: FullStateLimits;
  readonly #now: () => number;
  /** The full states that are left, at a time in milliseconds. */
  readonly #left = new LRUCache<string, { readonly left: number; readonly at: number }>({ max: MAX_PEERS });

  /** @param now milliseconds, of a clock that never goes back */
  constructor(limits: FullStateLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Milliseconds until the peer may get the next one; 0 if it may now. */
  waitOf(peer: string): number {
    return Math.max(0, 1 - this.#leftOf(peer)) * this.#limits.intervalMs;
  }

  /** The peer gets one now. */
  take(peer: string): void {
    this.#left.set(peer, { left: this.#leftOf(peer) - 1, at: this.#now() });
  }

  #leftOf(peer: string): number {
    const { atOnce, intervalMs } = this.#limits;
    const known = this.#left.get(peer);
    return known === undefined ? atOnce : Math.min(atOnce, known.left + (this.#now() - known.at) / intervalMs);
  }
}

/** Why the full state of a zone waits. */
export function waitsForFullState(waitMs: number): string {
  const seconds = String(Math.ceil(waitMs / 1_000));
  return (
    `the zone asks for its full state too often: the next one is sent in ${seconds} s. Check why its connection does not last, and ` +
    'why it does not say which versions it has; multizone.global.kds.quotas.fullStates and fullStateInterval on global are the limit'
  );
}
