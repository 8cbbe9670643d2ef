// Limits the requests of one address: a token bucket. Invariants: requests from the machine itself are never limited. The number of
// stored addresses is bounded.
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../base/clock.ts';
import { isLoopback } from '../token/request-facts.ts';
import { ApiError } from './error-body.ts';

export type RateLimit = {
  /** 0 sets no limit. */
  readonly requestsPerSecond: number;
  /** The largest number of requests at once after a pause. */
  readonly burst: number;
};

type Bucket = { left: number; at: number };

/** The number of stored addresses. A dropped address starts with a full bucket. */
const MAX_ADDRESSES = 10_000;

/** Decides on one request after the other. */
export class RateLimiter {
  readonly #limit: RateLimit;
  readonly #clock: Clock;
  /** The buckets in the order of their last use. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(limit: RateLimit, clock: Clock) {
    this.#limit = limit;
    this.#clock = clock;
  }

  /** @returns 0 if the request is allowed, else the seconds until the next one is */
  take(address: string): number {
    const { requestsPerSecond, burst } = this.#limit;
    const most = Math.max(1, burst);
    const at = this.#clock.elapsed();
    const known = this.#buckets.get(address) ?? { left: most, at };
    const left = Math.min(most, known.left + ((at - known.at) / 1000) * requestsPerSecond);
    this.#buckets.delete(address);
    this.#buckets.set(address, { left: left >= 1 ? left - 1 : left, at });
    for (const oldest of this.#buckets.keys()) {
      if (this.#buckets.size <= MAX_ADDRESSES) break;
      this.#buckets.delete(oldest);
    }
    return left >= 1 ? 0 : (1 - left) / requestsPerSecond;
  }
}

export function limitRate(app: FastifyInstance, limit: RateLimit | undefined, clock: Clock): void {
  if (limit === undefined || limit.requestsPerSecond === 0) return;
  const limiter = new RateLimiter(limit, clock);
  app.addHook('onRequest', async ({ socket }) => {
    const { remoteAddress = '' } = socket;
    if (isLoopback(remoteAddress)) return;
    const waitSeconds = limiter.take(remoteAddress);
    if (waitSeconds === 0) return;
    const detail = `more than ${String(limit.requestsPerSecond)} requests a second came from this address; apiServer.rateLimit sets the limit`;
    throw new ApiError('unavailable', 'Too many requests', detail, [], {
      status: 429,
      retryAfterS: Math.ceil(waitSeconds),
    });
  });
}
