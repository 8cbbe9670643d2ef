// Ends a stream whose peer leaves a response without an answer for too long. One timer for all types of the stream: the clock is asked
// when messages are sent, and a timer for each message would cost more than the message.
import type { Clock } from '../../base/clock.ts';
import { MeridianError } from '../../base/errors.ts';

/**
 * The time without an answer after which a stream is stuck, in milliseconds. The largest message takes this long over a link of 40
 * kB/s.
 */
export const STUCK_MS = 300_000;

/** A response that waits for its answer. @property since the time at which it was sent, in milliseconds of the clock */
export type Unanswered = { readonly type: string; readonly since: number };

export type AnswerWatchOptions = {
  readonly clock: Pick<Clock, 'after' | 'elapsed'>;
  /** The response that has waited longest now; null while none waits. */
  readonly oldest: () => Unanswered | null;
  /** Ends the stream, so that the peer opens a new one (Kuma issue 13624). */
  readonly fail: (error: Error) => void;
};

export class AnswerWatch {
  readonly #options: AnswerWatchOptions;
  #cancel: (() => void) | null = null;

  constructor(options: AnswerWatchOptions) {
    this.#options = options;
  }

  /** Call it when a response was sent. */
  sent(): void {
    if (this.#cancel === null) this.#lookAfter(STUCK_MS);
  }

  close(): void {
    this.#cancel?.();
    this.#cancel = null;
  }

  #lookAfter(ms: number): void {
    this.#cancel = this.#options.clock.after(ms, () => this.#look());
  }

  #look(): void {
    this.#cancel = null;
    const { clock, oldest, fail } = this.#options;
    const waiting = oldest();
    if (waiting === null) return;
    const left = waiting.since + STUCK_MS - clock.elapsed();
    if (left > 0) return this.#lookAfter(Math.ceil(left));
    const text = `no answer to the ${waiting.type} of this stream for ${String(STUCK_MS / 60_000)} minutes; connect again`;
    fail(new MeridianError('unavailable', text));
  }
}
