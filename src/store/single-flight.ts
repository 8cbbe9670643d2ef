// Equal calls in one turn of the event loop, or during a running call, share the next result. Invariant: a run begins after all its
// callers have called, so each caller sees its own earlier writes.
import { setImmediate } from 'node:timers/promises';

type Entry = { hasBegun: boolean; answer: Promise<unknown>; next: Promise<unknown> | null };

export class SingleFlight {
  readonly #entries = new Map<string, Entry>();

  /** The number of calls that run or wait. */
  get size(): number {
    return this.#entries.size;
  }

  /** Makes a call. @param key identifies the call; equal keys must come with equal `run`s */
  async call<T>(key: string, run: () => Promise<T>): Promise<T> {
    const entry = this.#entries.get(key);
    if (entry === undefined) return await this.#start(key, run);
    if (!entry.hasBegun) return (await entry.answer) as T;
    const again = (): Promise<T> => this.#start(key, run);
    entry.next ??= entry.answer.then(again, again);
    return (await entry.next) as T;
  }

  #start<T>(key: string, run: () => Promise<T>): Promise<T> {
    const entry: Entry = { hasBegun: false, answer: Promise.resolve(), next: null };
    const answer = setImmediate().then(() => {
      entry.hasBegun = true;
      return run();
    });
    entry.answer = answer;
    this.#entries.set(key, entry);
    const end = (): void => {
      if (entry.next === null) this.#entries.delete(key);
    };
    answer.then(end, end);
    return answer;
  }
}
