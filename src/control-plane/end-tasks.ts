// The stop of a control plane. The log names the tasks that delay it.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';

/** The interval of the log lines that name what a stop waits for, in milliseconds. */
const SAY_MS = 5_000;

/** Tracks tasks by name until they settle. */
export class OpenTasks {
  readonly #open = new Map<Promise<unknown>, string>();

  add(name: string, task: Promise<unknown>): void {
    const settled: Promise<unknown> = task.then(
      () => this.#open.delete(settled),
      () => this.#open.delete(settled),
    );
    this.#open.set(settled, name);
  }

  /** The names of the tasks that have not settled, in the order of `add`. */
  get names(): string[] {
    return [...this.#open.values()];
  }

  /** Resolves when all have settled, also those that are added meanwhile. */
  async ended(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open.keys());
  }
}

/**
 * Waits until all tasks have settled, at most `limitMs` milliseconds, and logs every 5 s which have not.
 * @returns false when the limit passed first: the tasks still run
 */
export async function endTasks(
  tasks: OpenTasks,
  limitMs: number,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): Promise<boolean> {
  const done = new AbortController();
  void tasks.ended().then(() => done.abort());
  for (let waited = 0; ;) {
    const pause = Math.min(SAY_MS, limitMs - waited);
    await clock.sleep(pause, done.signal);
    if (done.signal.aborted) return true;
    waited += pause;
    const about = { waitingFor: tasks.names, seconds: waited / 1000 };
    if (waited >= limitMs) {
      log.error(about, 'these tasks did not end in time; the stop continues without them');
      return false;
    }
    log.warn(about, 'the stop still waits for these tasks');
  }
}
