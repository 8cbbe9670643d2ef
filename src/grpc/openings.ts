// How often a peer may open a stream. Each stream costs the store some statements and the log a line, so a peer that opens and closes
// streams without end would delay the others. A peer that connects again after a fault stays far below the limit.
import { LRUCache } from 'lru-cache';

/** Streams that a peer may open at once, and how many a second after that. */
const AT_ONCE = 20;
export const OPENINGS_A_SECOND = 2;
/** Openings that may wait; one more is refused. */
const MAX_WAITING = 20;
/** Peers that are remembered. */
const MAX_KNOWN = 50_000;

/** The allowance that is left at a time in milliseconds; negative: the number of waiting streams. */
type Allowance = { readonly left: number; readonly at: number };

export class Openings {
  readonly #now: () => number;
  readonly #allowances = new LRUCache<string, Allowance>({ max: MAX_KNOWN });

  /** @param now milliseconds, of a clock that never goes back */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * @param peer who opens it, and of which kind the stream is
   * @returns the milliseconds after which the stream may open; null where too many wait already
   */
  take(peer: string): number | null {
    const now = this.#now();
    const { left: before, at } = this.#allowances.get(peer) ?? { left: AT_ONCE, at: now };
    const left = Math.min(AT_ONCE, before + ((now - at) / 1_000) * OPENINGS_A_SECOND) - 1;
    if (left < -MAX_WAITING) return null;
    this.#allowances.set(peer, { left, at: now });
    return Math.max(0, (-left / OPENINGS_A_SECOND) * 1_000);
  }
}
