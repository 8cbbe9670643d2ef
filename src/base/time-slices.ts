// The work of many callers on one thread: one after the other, and the rest of the process runs after each slice.
import type { Clock } from './clock.ts';

/** Milliseconds of work in one turn of the event loop. */
const SLICE_MS = 10;

export class TimeSlices {
  readonly #clock: Pick<Clock, 'elapsed'>;
  readonly #waiting: (() => void)[] = [];
  #isWorking = false;
  /** The start of the first task of this turn of the event loop; null before. */
  #began: number | null = null;

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock;
  }

  /**
   * The result of a task, which begins when all earlier tasks have ended. Without a promise if it could begin at once: most tasks
   * can, and are small. Throws or rejects with the error of the task.
   */
  run<T>(task: () => T): T | Promise<T> {
    if (this.#isWorking || this.#isSliceOver()) return this.#later(task);
    this.#isWorking = true;
    try {
      this.#beginSlice();
      return task();
    } finally {
      this.#isWorking = false;
      if (this.#waiting.length > 0) void this.#work();
    }
  }

  async #later<T>(task: () => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#waiting.push(() => {
      try {
        resolve(task());
      } catch (error) {
        reject(error);
      }
    });
    if (!this.#isWorking) void this.#work();
    return await promise;
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      if (this.#isSliceOver()) await new Promise((resolve) => setImmediate(resolve));
      this.#beginSlice();
      next();
    }
    this.#isWorking = false;
  }

  #isSliceOver(): boolean {
    return this.#began !== null && this.#clock.elapsed() - this.#began >= SLICE_MS;
  }

  #beginSlice(): void {
    if (this.#began !== null) return;
    this.#began = this.#clock.elapsed();
    setImmediate(() => (this.#began = null));
  }
}
