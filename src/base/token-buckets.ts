// Token buckets by key. They limit how often, or how much, each peer may do something. A bucket that was quiet for long is full.
import { LRUCache } from 'lru-cache';

type TokenBucketLimits = {
  /** The number of tokens of a full bucket. */
  readonly burst: number;
  /** The milliseconds until a bucket has one more token. */
  readonly msAToken: number;
  /** The number of buckets that are remembered; the others count as full. */
  readonly most: number;
};

export class TokenBuckets {
  readonly #limits: TokenBucketLimits;
  readonly #now: () => number;
  /** The tokens that were left at a time in milliseconds. Negative where more were taken. */
  readonly #left: LRUCache<string, { readonly tokens: number; readonly at: number }>;

  /** @param now milliseconds, of a clock that never goes back */
  constructor(limits: TokenBucketLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
    this.#left = new LRUCache({ max: limits.most });
  }

  /** Tokens of the bucket now; negative where more were taken than it had. */
  leftOf(key: string): number {
    const { burst, msAToken } = this.#limits;
    const known = this.#left.get(key);
    return known === undefined ? burst : Math.min(burst, known.tokens + (this.#now() - known.at) / msAToken);
  }

  /** The milliseconds until the bucket has this number of tokens; 0 if it has them now. */
  waitOf(key: string, tokens: number): number {
    return Math.max(0, tokens - this.leftOf(key)) * this.#limits.msAToken;
  }

  /** Takes tokens, also those that the bucket does not have yet. */
  take(key: string, tokens: number): void {
    this.#left.set(key, { tokens: this.leftOf(key) - tokens, at: this.#now() });
  }
}
