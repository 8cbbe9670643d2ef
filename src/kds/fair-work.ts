// The work of many peers on one thread, in slices: one peer delays the others by one slice at most.
// Invariants: the work of one peer runs in the order of its arrival; peers take turns; other work runs between two slices.
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Steps } from '../base/steps.ts';
import type { Pace } from './pace.ts';

/** Milliseconds of one slice. */
const SLICE_MS = 2;
/** The event loop had other work if it takes this many milliseconds to come back. */
const OTHERS_MS = 0.5;
/** The longest rest of a peer after a batch, in milliseconds, also in a busy process. */
const MAX_REST_MS = 50;
/** Rows and bytes of one transaction, or rows of one read. */
const BATCH_ROWS = 250;
const BATCH_BYTES = 1024 * 1024;

type Task = { readonly step: () => boolean };

export class FairWork {
  /** Peers with work, the next one first. */
  readonly #tasks = new Map<string, Task[]>();
  #isWorking = false;
  /** When work began that did not wait in this turn of the event loop; null before. */
  #turnBegan: number | null = null;

  /** The pace of one stream of a peer. */
  of(peer: string): Pace {
    let began = performance.eventLoopUtilization();
    let rows = 0;
    return {
      run: (steps) => this.#run(peer, steps),
      batchRows: BATCH_ROWS,
      batchBytes: BATCH_BYTES,
      beforeMessage(bytes) {
        return this.beforeBatch(Math.floor((bytes / BATCH_BYTES) * BATCH_ROWS));
      },
      async beforeBatch(next) {
        // Small batches need no rest until their sum is as large as a large one.
        if (rows > 0 && rows + next > BATCH_ROWS) {
          await rest(began, longestRestMs(rows));
          rows = 0;
        }
        if (rows === 0) began = performance.eventLoopUtilization();
        rows += next;
      },
    };
  }

  /**
   * Runs the steps to their end, a slice at a time. Short work does not wait while nothing else does and the turn of the event loop has
   * less than a slice of it. Rejects with the error of a step.
   */
  async #run<T>(peer: string, steps: Steps<T>): Promise<T> {
    while (this.#tasks.size === 0 && this.#hasTime()) {
      const { done, value } = steps.next();
      if (done === true) return value;
    }
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const step = (): boolean => {
      try {
        const { done, value } = steps.next();
        if (done !== true) return false;
        resolve(value);
      } catch (error) {
        reject(error);
      }
      return true;
    };
    const tasks = this.#tasks.get(peer) ?? [];
    tasks.push({ step });
    this.#tasks.set(peer, tasks);
    if (!this.#isWorking) void this.#work();
    return await promise;
  }

  #hasTime(): boolean {
    if (this.#turnBegan === null) {
      this.#turnBegan = performance.now();
      setImmediate(() => (this.#turnBegan = null));
    }
    return performance.now() - this.#turnBegan < SLICE_MS;
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    // This turn of the event loop has had a slice already.
    await this.#letOthersThrough(SLICE_MS);
    for (;;) {
      const began = performance.now();
      while (this.#tasks.size > 0 && performance.now() - began < SLICE_MS) this.#workForNext(began + SLICE_MS);
      if (this.#tasks.size === 0) break;
      await this.#letOthersThrough(performance.now() - began);
    }
    this.#isWorking = false;
  }

  /** Works for the next peer. What is left comes after the work of the others. */
  #workForNext(until: number): void {
    const [next] = this.#tasks;
    if (next === undefined) return;
    const [peer, tasks] = next;
    while (tasks.length > 0 && performance.now() < until) if (tasks[0]?.step() === true) tasks.shift();
    this.#tasks.delete(peer);
    if (tasks.length > 0) this.#tasks.set(peer, tasks);
  }

  /** Gives other work as much time as the slice took, if any waits. */
  async #letOthersThrough(sliceMs: number): Promise<void> {
    const began = performance.now();
    await new Promise((resolve) => setImmediate(resolve));
    if (performance.now() - began > OTHERS_MS) await delay(sliceMs);
  }
}

/** The longest rest after so many rows, in milliseconds. A message may have the size of many batches. */
export function longestRestMs(rows: number): number {
  return MAX_REST_MS * Math.max(1, rows / BATCH_ROWS);
}

/**
 * Resolves when the event loop has been idle for as long as it was busy since `began`, at the latest after `mostMs`. The follow-up
 * work of the last batch, such as messages to all zones, then ends before the next batch.
 */
async function rest(began: ReturnType<typeof performance.eventLoopUtilization>, mostMs: number): Promise<void> {
  const until = performance.now() + mostMs;
  for (;;) {
    const { active, idle } = performance.eventLoopUtilization(began);
    const left = Math.min(active - idle, until - performance.now());
    if (left <= 0) return;
    await delay(left);
  }
}
