// Publishes the keys whose state changed: each key once, with a pause from one publication to the next. A burst costs one
// publication, not one for each change. The last change of a key is never left out.
import type { Clock } from './clock.ts';

/** Milliseconds from the first change after a rest to its publication, so that what changes together is published together. */
const GATHER_MS = 20;

type PacedKeysOptions = {
  /** Milliseconds from one publication to the next. */
  readonly paceMs: number;
  /** The largest number of keys in one publication. The others follow in the next one. */
  readonly maxKeys: number;
  /** Takes the keys that changed, in the order of their first change. */
  readonly publish: (keys: readonly string[]) => void;
};

export class CoalescedKeys {
  readonly #clock: Clock;
  readonly #options: PacedKeysOptions;
  readonly #keys = new Set<string>();
  #lastAt = -Infinity;
  #cancel: (() => void) | null = null;

  constructor(clock: Clock, options: PacedKeysOptions) {
    this.#clock = clock;
    this.#options = options;
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
    const { paceMs, maxKeys, publish } = this.#options;
    const wait = Math.max(GATHER_MS, this.#lastAt + paceMs - this.#clock.elapsed());
    this.#cancel = this.#clock.after(wait, () => {
      this.#cancel = null;
      this.#lastAt = this.#clock.elapsed();
      const keys = [...this.#keys].slice(0, maxKeys);
      for (const key of keys) this.#keys.delete(key);
      publish(keys);
      this.#schedule();
    });
  }
}
