// One lifecycle for everything that runs as long as the process: a failure is logged, and the task is restarted with backoff.
import type { Clock } from './clock.ts';
import { MeridianError, messageOf } from './errors.ts';
import type { Logger } from './log.ts';

const FIRST_MS = 200;
const MAX_MS = 10_000;
/** After a run longer than this, the next failure starts with the shortest wait. */
const GOOD_RUN_MS = 30_000;

/** Runs `task` until the signal aborts, and restarts it with jitter when it fails or ends. Never rejects. */
export async function supervise(
  name: string,
  task: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): Promise<void> {
  let wait = FIRST_MS;
  while (!signal.aborted) {
    const began = clock.elapsed();
    try {
      await task(signal);
    } catch (error) {
      if (signal.aborted) return;
      log.warn({ component: name, reason: messageOf(error) }, 'a component failed; starting it again');
    }
    if (signal.aborted) return;
    if (clock.elapsed() - began > GOOD_RUN_MS) wait = FIRST_MS;
    await clock.sleep(wait * (0.5 + Math.random()), signal);
    wait = Math.min(wait * 2, MAX_MS);
  }
}

/** Resolves when the signal aborts. */
export async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}

/** The result of a promise. Rejects with MeridianError `unavailable` when the signal aborts first. */
export async function unlessAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  const settled = new AbortController();
  const stopped = aborted(AbortSignal.any([signal, settled.signal])).then((): never => {
    throw new MeridianError('unavailable', 'this control plane stops');
  });
  return await Promise.race([promise, stopped]).finally(() => settled.abort());
}

/** Runs tasks that depend on each other: when one ends or fails, the others are stopped. Settles when all have ended. */
export async function together(signal: AbortSignal, ...tasks: ((signal: AbortSignal) => Promise<void>)[]): Promise<void> {
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const running = tasks.map((task) => task(either).finally(() => stop.abort()));
  await Promise.allSettled(running);
  await Promise.all(running);
}
