// Time as a dependency: what waits, measures or stamps takes a Clock, so that tests turn it by hand.
import { setTimeout as wait } from 'node:timers/promises';

export type Clock = {
  now(): Date;
  /** Milliseconds since a fixed moment. It never goes back, whatever is done to the date. */
  elapsed(): number;
  /** Resolves after `ms` milliseconds, or at once when the signal aborts; never rejects. With `ref: false` the process need not live for it. */
  sleep(ms: number, signal: AbortSignal, options?: { readonly ref: boolean }): Promise<void>;
};

export const systemClock: Clock = {
  now: () => new Date(),
  elapsed: () => performance.now(),
  sleep: (ms, signal, options) => wait(ms, undefined, { ...options, signal }).catch(() => undefined),
};

/** Calls `task` once after `ms` milliseconds, unless the returned function is called before. The process need not live for it. */
export function after(clock: Clock, ms: number, task: () => void): () => void {
  const cancelled = new AbortController();
  void clock.sleep(ms, cancelled.signal, { ref: false }).then(() => {
    if (!cancelled.signal.aborted) task();
  });
  return () => cancelled.abort();
}

/** Calls `task` every `ms` milliseconds, the first time after `ms`, one call at a time, until the signal aborts. */
export async function every(clock: Clock, ms: number, signal: AbortSignal, task: () => void | Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(ms, signal);
    if (!signal.aborted) await task();
  }
}
