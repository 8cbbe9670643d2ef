// Keys whose state changed, until they are published: each key once, at most every PACE_MS, at most MAX_KEYS at a time. So a burst costs
// an event of a topic, not an event for each change.
import type { Clock } from '../base/clock.ts';

/** Milliseconds from one event of a topic to the next: at most four a second. */
export const PACE_MS = 250;
/** Milliseconds from the first change after a rest to its event, so that what changes together is one event. */
const GATHER_MS = 20;
/** The largest number of items in one event. The others follow in the next. */
export const MAX_KEYS = 200;

export class PacedKeys {
  readonly #clock: Clock;
  readonly #publish: (keys: readonly string[]) => void;
  readonly #keys = new Set<string>();
  #lastAt = -Infinity;
  #cancel: (() => void) | null = null;

  /** @param publish takes the keys that changed, in the order of their first change */
  constructor(clock: Clock, publish: (keys: readonly string[]) => void) {
    this.#clock = clock;
    this.#publish = publish;
  }

  touch(key: string): void {
    this.#keys.add(key);
    this.#schedule();
  }

  /** Forgets all keys. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#keys.clear();
  }

  #schedule(): void {
    if (this.#cancel !== null || this.#keys.size === 0) return;
    const wait = Math.max(GATHER_MS, this.#lastAt + PACE_MS - this.#clock.elapsed());
    this.#cancel = this.#clock.after(wait, () => {
      this.#cancel = null;
      this.#lastAt = this.#clock.elapsed();
      const keys = [...this.#keys].slice(0, MAX_KEYS);
      for (const key of keys) this.#keys.delete(key);
      this.#publish(keys);
      this.#schedule();
    });
  }
}
