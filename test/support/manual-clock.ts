// A clock that a test moves.
import type { Clock } from '../../src/base/clock.ts';

type Sleeper = { readonly until: number; readonly wake: () => void };

/** The date on which the machine of the clock began, in milliseconds. */
const MACHINE_BEGAN_MS = 1_700_000_000_000;

export class ManualClock implements Clock {
  #ms: number;
  /** By how much the date differs from the time that has passed, in milliseconds. */
  #dateMoved = 0;
  #sleepers: Sleeper[] = [];

  constructor(start = '2026-01-01T00:00:00.000Z') {
    this.#ms = Date.parse(start);
  }

  now(): Date {
    return new Date(this.#ms + this.#dateMoved);
  }

  /** Begins at another value than the date, as the monotonic clock of a machine does. */
  elapsed(): number {
    return this.#ms - MACHINE_BEGAN_MS;
  }

  /** Sets the date, forward or back, as NTP or a machine that slept does: no time passes for sleepers. */
  moveDate(ms: number): void {
    this.#dateMoved += ms;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) return resolve();
      const sleeper = { until: this.#ms + ms, wake: resolve };
      this.#sleepers.push(sleeper);
      signal?.addEventListener('abort', () => {
        this.#sleepers = this.#sleepers.filter((one) => one !== sleeper);
        resolve();
      });
    });
  }

  after(ms: number, task: () => void): () => void {
    const sleeper = { until: this.#ms + ms, wake: task };
    this.#sleepers.push(sleeper);
    return () => void (this.#sleepers = this.#sleepers.filter((one) => one !== sleeper));
  }

  /** The number of pending sleeps. A test waits for them before it moves the clock. */
  get sleepers(): number {
    return this.#sleepers.length;
  }

  /** Advances the time and runs everything that is due, sleepers in the order of their times. */
  async advance(ms: number): Promise<void> {
    const end = this.#ms + ms;
    for (;;) {
      await settle();
      const next = this.#sleepers.filter((one) => one.until <= end).sort((a, b) => a.until - b.until)[0];
      if (next === undefined) break;
      this.#sleepers = this.#sleepers.filter((one) => one !== next);
      this.#ms = Math.max(this.#ms, next.until);
      next.wake();
    }
    this.#ms = end;
  }
}

/** Lets ready promises settle: one turn of the event loop. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
