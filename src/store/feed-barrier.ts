// Waits until a follower of the change feed has taken every change that was committed before (engine 10): a mark is sent through the
// feed, and arrives after them. Invariants: a caller that asks while a mark is being sent shares the next one. Every wait has a
// limit.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { MeridianError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';

type FeedBarrierOptions = {
  /** Sends a mark through the feed. Rejects when the store does not answer. */
  readonly mark: (id: string) => Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
  /** The milliseconds that a mark may take; a database that restarts takes some seconds. */
  readonly limitMs: number;
};

export class FeedBarrier {
  readonly #options: FeedBarrierOptions;
  /** Marks on their way through the feed. */
  readonly #marks = new Map<string, PromiseWithResolvers<void>>();
  #next: Promise<void> | null = null;
  /** Settles when the statement of the last mark has ended, or its limit has. */
  #sending: Promise<unknown> = Promise.resolve();
  readonly #end = new AbortController();

  constructor(options: FeedBarrierOptions) {
    this.#options = options;
  }

  /**
   * Settles when everything that is committed now has been taken.
   * @throws MeridianError `unavailable` when the store or its feed does not answer in time
   */
  async wait(): Promise<void> {
    this.#next ??= this.#sending.then(() => this.#send());
    await this.#next;
  }

  /** Ends every wait, current and later, as its limit does. Call it when the follower of the feed has ended. */
  end(): void {
    this.#end.abort();
  }

  /** Returns true while a caller waits for this mark. */
  isOwn(id: string): boolean {
    return this.#marks.has(id);
  }

  /** Notes that the follower has taken everything before this mark. */
  pass(id: string): void {
    this.#marks.get(id)?.resolve();
  }

  /**
   * Notes that the feed was lost, and with it the marks on their way.
   * @returns a function that releases the current waiters; call it when everything has been read again
   */
  lost(): () => void {
    const waiting = [...this.#marks.values()];
    return () => {
      for (const { resolve } of waiting) resolve();
    };
  }

  async #send(): Promise<void> {
    this.#next = null;
    const { mark, clock, limitMs } = this.#options;
    const id = randomUUID();
    const passed = Promise.withResolvers<void>();
    const done = new AbortController();
    this.#marks.set(id, passed);
    try {
      const late = clock.sleep(limitMs, AbortSignal.any([done.signal, this.#end.signal])).then(() => this.#giveUp(done.signal));
      // The limit holds for a store that does not take the mark, too.
      const marking = mark(id);
      this.#sending = Promise.race([marking, late]).catch(() => undefined);
      await Promise.race([marking.then(() => passed.promise), late]);
    } finally {
      this.#marks.delete(id);
      done.abort();
    }
  }

  #giveUp(done: AbortSignal): void {
    if (done.aborted) return;
    const { log, limitMs } = this.#options;
    if (!this.#end.signal.aborted) log.warn({ limitMs }, 'the change feed of the store is behind: a mark did not arrive in time');
    throw new MeridianError('unavailable', 'the change feed of the store does not answer; try again');
  }
}
