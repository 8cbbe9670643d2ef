// Refuses tokens that are not valid. The first refusals of an address come at once. More of them wait, so that a caller that tries tokens without
// end costs the others little. Invariants: a request with a valid token never waits for those of its address. The answers that wait are bounded.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../base/clock.ts';
import { ApiError, unauthenticated } from './error-body.ts';
import { RateLimiter } from './rate-limit.ts';
import { callerWork } from './caller-work.ts';

/** The limits of the ports for zones and proxies (src/grpc/address-limiter.ts). */
const REFUSALS = { requestsPerSecond: 20, burst: 100 };
/** The milliseconds for which the answer to one more waits. */
const HELD_MS = 1_000;
/** The number of answers of one address that may wait. A connection that brings more is closed. */
const MAX_HELD = 256;

export class RefusedTokens {
  readonly #clock: Clock;
  readonly #refusals: RateLimiter;
  readonly #held = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#refusals = new RateLimiter(REFUSALS, clock);
  }

  /**
   * @param reason why the token is not valid
   * @throws ApiError 401; 429 after a pause when too many tokens of the address were refused. Without an error there is no answer
   */
  async refuse(reason: string, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { remoteAddress: address = '' } = request.socket;
    if (this.#refusals.take(address) === 0) throw unauthenticated(reason);
    const held = this.#held.get(address) ?? 0;
    if (held >= MAX_HELD) {
      reply.hijack();
      request.socket.destroy();
      return;
    }
    this.#held.set(address, held + 1);
    try {
      await this.#clock.sleep(HELD_MS, callerWork(request).left, { ref: false });
    } finally {
      const left = (this.#held.get(address) ?? 1) - 1;
      if (left === 0) this.#held.delete(address);
      else this.#held.set(address, left);
    }
    throw tooMany(reason);
  }
}

function tooMany(reason: string): ApiError {
  const rate = `more than ${String(REFUSALS.requestsPerSecond)} tokens a second from this address are not valid`;
  const options = { status: 429, retryAfterS: Math.ceil(HELD_MS / 1_000) };
  return new ApiError('unavailable', 'Too many requests', `${reason}; ${rate}`, [], options);
}
