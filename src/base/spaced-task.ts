// A task that many events ask for: it runs at once, and then with a pause between two runs. The last event is never left out.
import type { Clock } from './clock.ts';

export class SpacedTask {
  readonly #clock: Pick<Clock, 'elapsed' | 'after'>;
  readonly #pauseMs: number;
  readonly #task: () => void;
  #lastAt = -Infinity;
  #isWaiting = false;

  /** @param pauseMs milliseconds from one run to the next, at least */
  constructor(clock: Pick<Clock, 'elapsed' | 'after'>, pauseMs: number, task: () => void) {
    this.#clock = clock;
    this.#pauseMs = pauseMs;
    this.#task = task;
  }

  /** Runs the task now, or at the end of the pause. */
  ask(): void {
    if (this.#isWaiting) return;
    const wait = this.#lastAt + this.#pauseMs - this.#clock.elapsed();
    if (wait <= 0) return this.#run();
    this.#isWaiting = true;
    this.#clock.after(wait, () => {
      this.#isWaiting = false;
      this.#run();
    });
  }

  #run(): void {
    this.#lastAt = this.#clock.elapsed();
    this.#task();
  }
}
