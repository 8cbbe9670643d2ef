// The work of many callers on one thread, in slices: one caller delays the others by one slice at most.
// Invariants: the work of one caller runs in the order of its arrival; callers take turns; other work runs between two slices; work that
// nobody waits for ends with the slice in which its signal aborts.
import { systemClock, type Clock } from './clock.ts';
import type { Steps } from './steps.ts';

/** The length of one slice, in milliseconds. */
export const SLICE_MS = 2;
/** The event loop had other work if it takes this many milliseconds to come back. */
const OTHERS_MS = 0.5;

type Task = { readonly step: () => boolean };

type FairQueueOptions = {
  /** The slices of time that other work gets for each slice, while there is other work. The default is one. */
  readonly rest?: number;
  /** The default is the clock of the machine. */
  readonly clock?: Pick<Clock, 'elapsed' | 'sleep'>;
};

export class FairQueue {
  readonly #rest: number;
  readonly #clock: Pick<Clock, 'elapsed' | 'sleep'>;
  /** Callers with work, the next one first. */
  readonly #tasks = new Map<string, Task[]>();
  #isWorking = false;
  /** The start of the first work of this turn of the event loop that did not wait; null before. */
  #turnBegan: number | null = null;

  constructor({ rest = 1, clock = systemClock }: FairQueueOptions = {}) {
    this.#rest = rest;
    this.#clock = clock;
  }

  /**
   * Runs the steps to their end, a slice at a time. Short work does not wait while nothing else does and the turn of the event loop has
   * less than a slice of it. Rejects with the error of a step, or with the reason of the signal: then no step runs any more.
   */
  async run<T>(caller: string, steps: Steps<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    while (this.#tasks.size === 0 && this.#hasTime()) {
      const { done, value } = steps.next();
      if (done === true) return value;
    }
    return await this.#later(caller, steps, signal);
  }

  async #later<T>(caller: string, steps: Steps<T>, signal: AbortSignal | undefined): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const step = (): boolean => {
      try {
        signal?.throwIfAborted();
        const { done, value } = steps.next();
        if (done !== true) return false;
        resolve(value);
      } catch (error) {
        reject(error);
      }
      return true;
    };
    const tasks = this.#tasks.get(caller) ?? [];
    tasks.push({ step });
    this.#tasks.set(caller, tasks);
    if (!this.#isWorking) void this.#work();
    return await promise;
  }

  #hasTime(): boolean {
    if (this.#turnBegan === null) {
      this.#turnBegan = this.#clock.elapsed();
      setImmediate(() => (this.#turnBegan = null));
    }
    return this.#clock.elapsed() - this.#turnBegan < SLICE_MS;
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    // This turn of the event loop has had a slice already.
    await this.#letOthersThrough(SLICE_MS);
    for (;;) {
      const began = this.#clock.elapsed();
      while (this.#tasks.size > 0 && this.#clock.elapsed() - began < SLICE_MS) this.#workForNext(began + SLICE_MS);
      if (this.#tasks.size === 0) break;
      await this.#letOthersThrough(this.#clock.elapsed() - began);
    }
    this.#isWorking = false;
  }

  /** Works for the next caller. What is left comes after the work of the others. */
  #workForNext(until: number): void {
    const [next] = this.#tasks;
    if (next === undefined) return;
    const [caller, tasks] = next;
    while (tasks.length > 0 && this.#clock.elapsed() < until) if (tasks[0]?.step() === true) tasks.shift();
    this.#tasks.delete(caller);
    if (tasks.length > 0) this.#tasks.set(caller, tasks);
  }

  /** Gives other work its share of time for a slice, if any waits. */
  async #letOthersThrough(sliceMs: number): Promise<void> {
    const began = this.#clock.elapsed();
    await new Promise((resolve) => setImmediate(resolve));
    if (this.#clock.elapsed() - began > OTHERS_MS) await this.#clock.sleep(sliceMs * this.#rest);
  }
}
