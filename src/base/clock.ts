// Time as a dependency: what waits or stamps takes a Clock, so that tests turn it by hand.
import { setTimeout as wait } from 'node:timers/promises';

export type Clock = {
  now(): Date;
  /** Resolves after `ms` milliseconds, or at once when the signal aborts; never rejects. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
};

export const systemClock: Clock = {
  now: () => new Date(),
  sleep: (ms, signal) => wait(ms, undefined, { signal }).catch(() => undefined),
};

/** Calls `task` every `ms` milliseconds, the first time after `ms`, one call at a time, until the signal aborts. */
export async function every(clock: Clock, ms: number, signal: AbortSignal, task: () => void | Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(ms, signal);
    if (!signal.aborted) await task();
  }
}
