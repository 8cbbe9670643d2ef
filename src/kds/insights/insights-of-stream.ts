// The insights of proxies on one stream. Global stores them in turns. When the turn of a Meridian zone comes, global subscribes again, and
// the zone sends its newest insights. Invariants: global neither stores nor answers a response that must wait, so only the place in the
// queue takes memory; each response is answered before the sender of the zone ends the stream; global subscribes again only while the zone
// waits for an answer, because the zone then sends no other response of the type.
import type { Clock } from '../../base/clock.ts';
import { STUCK_MS } from '../protocol/answer-watch.ts';
import type { InsightRateLimiter } from './insight-rate-limiter.ts';

/** The milliseconds until a zone whose response waits is asked again. */
const ASK_AGAIN_MS = STUCK_MS / 2;

export type InsightsOfStreamOptions = {
  readonly limiter: Pick<InsightRateLimiter, 'admits' | 'count' | 'wait'>;
  /** The zone answers a new subscription with the difference. A Kuma zone does not; it waits for an answer without a limit (kds-wire 2.3). */
  readonly canAskAgain: boolean;
  /** The zone ends a stream that leaves a response unanswered for too long. The answer comes before that, also without a turn. */
  readonly isImpatient?: boolean;
  readonly askAgain: () => void;
  readonly clock: Pick<Clock, 'after'>;
};

export class InsightsOfStream {
  readonly #options: InsightsOfStreamOptions;
  /** Leaves the queue. It is null while the stream is not in it. */
  #leave: (() => void) | null = null;
  /** The rows of the turn that the stream has had and not used; null without one. */
  #turn: number | null = null;
  /** It is true when the zone was asked again and has not sent its response yet. */
  #isAsked = false;
  #isCounted = false;
  #cancelAsking = (): void => undefined;

  constructor(options: InsightsOfStreamOptions) {
    this.#options = options;
  }

  /**
   * Decides on a response that has arrived.
   * @param rows the number of rows that it names
   * @param isFullState whether it is the full state of a new stream, which is stored at once
   * @returns false if it must be dropped without an answer: the zone is asked again
   */
  admits(rows: number, isFullState: boolean): boolean {
    const { limiter, canAskAgain, clock } = this.#options;
    this.#cancelAsking();
    this.#isAsked = false;
    this.#isCounted = canAskAgain && !isFullState;
    if (!this.#isCounted || this.#usesTurn(rows) || (this.#leave === null && limiter.admits(rows))) return true;
    this.#leave ??= limiter.wait(rows, () => this.#runOnce(rows));
    this.#cancelAsking = clock.after(ASK_AGAIN_MS, () => this.#ask());
    return false;
  }

  /**
   * Answers a response that was stored.
   * @param answer is called at once for a zone that can be asked again, or when the rows have had their turn
   */
  stored(rows: number, answer: () => void): void {
    const { limiter, canAskAgain, isImpatient = false, clock } = this.#options;
    if (canAskAgain) {
      if (!this.#isCounted) limiter.count(rows);
      return answer();
    }
    // A zone that does not wait for its answer gets the last one alone.
    this.close();
    if (limiter.admits(rows)) return answer();
    const answerOnce = (): void => {
      this.close();
      answer();
    };
    this.#leave = limiter.wait(rows, answerOnce);
    if (isImpatient) this.#cancelAsking = clock.after(ASK_AGAIN_MS, answerOnce);
  }

  /** The zone was asked again, and has nothing new. */
  unchanged(): void {
    this.close();
    this.#isAsked = false;
    this.#turn = null;
  }

  /** The stream has ended. */
  close(): void {
    this.#cancelAsking();
    this.#leave?.();
    this.#leave = null;
  }

  #usesTurn(rows: number): boolean {
    if (this.#turn === null) return false;
    // More may have changed since the turn was counted.
    this.#options.limiter.count(Math.max(0, rows - this.#turn));
    this.#turn = null;
    return true;
  }

  #runOnce(rows: number): void {
    this.#leave = null;
    this.#turn = rows;
    if (!this.#isAsked) this.#ask();
  }

  #ask(): void {
    this.#cancelAsking();
    this.#isAsked = true;
    this.#options.askAgain();
  }
}
