// Limits how often a peer may open a stream. Each stream costs the store some statements and the log a line, so a peer that opens
// and closes streams without end would delay the others. A peer that connects again after a fault stays far below the limit.
import { TokenBuckets } from '../base/token-buckets.ts';

/** The number of streams that a peer may open at once, and after that in each second. */
const AT_ONCE = 20;
export const OPENINGS_A_SECOND = 2;
/** The number of streams that may wait; one more is refused. */
const MAX_WAITING = 20;
/** The number of peers that are remembered. */
const MAX_KNOWN = 50_000;

export class StreamOpenRate {
  readonly #allowances: TokenBuckets;

  /** @param now milliseconds, of a clock that never goes back */
  constructor(now: () => number) {
    this.#allowances = new TokenBuckets({ burst: AT_ONCE, msAToken: 1_000 / OPENINGS_A_SECOND, most: MAX_KNOWN }, now);
  }

  /**
   * @param peer the peer that opens it, with the kind of the stream
   * @returns the milliseconds after which the stream may open; null where too many wait already
   */
  take(peer: string): number | null {
    if (this.#allowances.leftOf(peer) - 1 < -MAX_WAITING) return null;
    const wait = this.#allowances.waitOf(peer, 1);
    this.#allowances.take(peer, 1);
    return wait;
  }
}
