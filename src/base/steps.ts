// Work in steps: a generator that yields at possible interruptions, so that a caller can run other work.

import type { Clock } from './clock.ts';

export type Steps<T> = Generator<undefined, T>;

/** Runs all steps at once. */
export function runSteps<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Runs all steps, and lets other work through after each slice of `sliceMs` milliseconds. Rejects with the error of a step. */
export async function runInSlices<T>(steps: Steps<T>, sliceMs: number, clock: Pick<Clock, 'elapsed'>): Promise<T> {
  for (;;) {
    const until = clock.elapsed() + sliceMs;
    do {
      const { done, value } = steps.next();
      if (done === true) return value;
    } while (clock.elapsed() < until);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Wraps small work as a single step, so that it can wait in a queue. */
export function* oneStep<T>(work: () => T): Steps<T> {
  yield;
  return work();
}

/** Maps each item in a step of its own. */
export function* mapInSteps<T, U>(items: Iterable<T>, map: (item: T, index: number) => U): Steps<U[]> {
  const results: U[] = [];
  for (const item of items) {
    results.push(map(item, results.length));
    yield;
  }
  return results;
}
