// Objects of one process that have work, such as the streams on which a change is due at once. They work in turns, and the rest of the process
// runs after each slice. `TimeSlices` (time-slices.ts) is for tasks with a result; here thousands wait, and each is only a place in a list.
import type { Clock } from './clock.ts';

/** The length of one slice, in milliseconds. */
const SLICE_MS = 2;

/** The object is in the list itself: a closure or a promise for each of thousands would outlive a young collection. */
export type Runnable = { readonly runOnce: () => void };

export class RunQueue {
  readonly #clock: Pick<Clock, 'elapsed'>;
  /** The objects whose turn comes in this round, and how many of them have taken it. */
  #round: Runnable[] = [];
  #turnsTaken = 0;
  /** The objects of the next round. */
  #waiting: Runnable[] = [];
  #isScheduled = false;
  readonly #slice = (): void => this.#runSlice();

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock;
  }

  /**
   * Adds an object. Its turn comes in a later phase of the event loop, after the turns of all that wait. Call it once for each
   * turn.
   */
  add(one: Runnable): void {
    this.#waiting.push(one);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#slice);
  }

  #runSlice(): void {
    this.#isScheduled = false;
    if (this.#round.length === 0) this.#beginRound();
    const until = this.#clock.elapsed() + SLICE_MS;
    try {
      do this.#round[this.#turnsTaken++]?.runOnce();
      while (this.#turnsTaken < this.#round.length && this.#clock.elapsed() < until);
    } finally {
      // Drop the objects that had their turn: they may have ended.
      if (this.#turnsTaken === this.#round.length) this.#beginRound();
      if (this.#round.length > 0) this.#schedule();
    }
  }

  #beginRound(): void {
    this.#round = this.#waiting;
    this.#waiting = [];
    this.#turnsTaken = 0;
  }
}
