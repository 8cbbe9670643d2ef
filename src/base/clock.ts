// Time as a dependency: code that waits, measures or reads time takes a Clock, so that tests control it.
import { setTimeout as wait } from 'node:timers/promises';

export type Clock = {
  now(): Date;
  /** Milliseconds since a fixed moment. It never goes back, also when the date changes. */
  elapsed(): number;
  /**
   * Resolves after `ms` milliseconds, or at once when the signal aborts; never rejects. With `ref: false` it does not keep the
   * process alive.
   */
  sleep(ms: number, signal?: AbortSignal, options?: { readonly ref: boolean }): Promise<void>;
  /** Calls `task` once after `ms` milliseconds, unless the returned function is called before. It does not keep the process alive. */
  after(ms: number, task: () => void): () => void;
};

/** The longest timer of Node, 24 days. With a longer one it fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => new Date(),
  elapsed: () => performance.now(),
  sleep: async (ms, signal, options) => {
    const waiting = { ...options, ...(signal !== undefined && { signal }) };
    for (let left = ms; ; left -= MAX_TIMER_MS) {
      await wait(Math.min(left, MAX_TIMER_MS), undefined, waiting).catch(() => undefined);
      if (left <= MAX_TIMER_MS || signal?.aborted === true) return;
    }
  },
  after: (ms, task) => {
    let timer: NodeJS.Timeout | null = null;
    const arm = (left: number): void => {
      const next = (): void => (left > MAX_TIMER_MS ? arm(left - MAX_TIMER_MS) : task());
      timer = setTimeout(next, Math.min(left, MAX_TIMER_MS)).unref();
    };
    arm(ms);
    return () => clearTimeout(timer ?? undefined);
  },
};

/** The same promise with a time limit: it rejects with `late()` after `ms` milliseconds. */
export async function within<T>(clock: Clock, ms: number, promise: Promise<T>, late: () => Error): Promise<T> {
  const limit = Promise.withResolvers<never>();
  const cancel = clock.after(ms, () => limit.reject(late()));
  try {
    return await Promise.race([promise, limit.promise]);
  } finally {
    cancel();
  }
}

/** The longest wait of `rest`, in milliseconds. */
const MAX_REST_MS = 40;

/**
 * Waits after a piece of work, in proportion to its duration. Arrivals during the wait become one piece, so that many proxies or
 * rows in a row need few statements.
 * @param began when the work began, in milliseconds of `elapsed`
 * @param times the wait divided by the duration of the work
 */
export async function rest(
  clock: Pick<Clock, 'elapsed' | 'sleep'>,
  began: number,
  times: number,
  signal?: AbortSignal,
): Promise<void> {
  const ms = Math.min((clock.elapsed() - began) * times, MAX_REST_MS);
  if (ms >= 1) await clock.sleep(ms, signal);
}

/** Calls `task` every `ms` milliseconds, the first time after `ms`, one call at a time, until the signal aborts. */
export async function every(clock: Clock, ms: number, signal: AbortSignal, task: () => void | Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(ms, signal);
    if (!signal.aborted) await task();
  }
}
