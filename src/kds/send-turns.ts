// The streams of one process that have something to send. A change is due on every stream at once: they send in turns, and after each slice the
// process reads the answers of peers and does its other work.
import type { Clock } from '../base/clock.ts';

/** Milliseconds of one slice. */
const SLICE_MS = 2;

/** A stream is in the list itself: a closure or a promise for each would be garbage that outlives a young collection. */
export type Sends = { readonly takeTurn: () => void };

export class SendTurns {
  readonly #clock: Pick<Clock, 'elapsed'>;
  /** Those whose turn comes in this round, and how many of them had it. */
  #round: Sends[] = [];
  #had = 0;
  /** Those of the next round. */
  #waiting: Sends[] = [];
  #isScheduled = false;
  readonly #slice = (): void => this.#runSlice();

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock;
  }

  /** Its turn comes in a later phase of the event loop, after those of all that wait. Call it once for each turn. */
  add(stream: Sends): void {
    this.#waiting.push(stream);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#slice);
  }

  #runSlice(): void {
    this.#isScheduled = false;
    if (this.#had === this.#round.length) this.#beginRound();
    const until = this.#clock.elapsed() + SLICE_MS;
    try {
      do this.#round[this.#had++]?.takeTurn();
      while (this.#had < this.#round.length && this.#clock.elapsed() < until);
    } finally {
      if (this.#had < this.#round.length || this.#waiting.length > 0) this.#schedule();
    }
  }

  #beginRound(): void {
    this.#round.length = 0;
    [this.#round, this.#waiting] = [this.#waiting, this.#round];
    this.#had = 0;
  }
}
