// Limits the heavy requests that one caller makes at once: each holds copies of a mesh while it waits in the queue.
import { ApiError } from './error-body.ts';

const RETRY_AFTER_S = 1;

export class CallerSlots {
  readonly #most: number;
  readonly #what: string;
  readonly #taken = new Map<string, number>();

  /** @param what the noun for the requests in the refusal: `previews` */
  constructor(most: number, what: string) {
    this.#most = most;
    this.#what = what;
  }

  /** @throws ApiError 429 if the caller has as many as are allowed, else what the task throws */
  async during<T>(caller: string, task: () => Promise<T>): Promise<T> {
    const taken = this.#taken.get(caller) ?? 0;
    if (taken >= this.#most) {
      const detail = `${String(taken)} ${this.#what} of this caller are being answered; wait for one of them`;
      throw new ApiError('unavailable', 'Too many requests', detail, [], { status: 429, retryAfterS: RETRY_AFTER_S });
    }
    this.#taken.set(caller, taken + 1);
    try {
      return await task();
    } finally {
      const left = (this.#taken.get(caller) ?? 1) - 1;
      if (left === 0) this.#taken.delete(caller);
      else this.#taken.set(caller, left);
    }
  }
}
