// Debounces a value that all services of a mesh have. The first change is published at once; later changes wait until the source is
// stable. Invariant: a stable source ends with its last value.
import { isDeepStrictEqual } from 'node:util';

/** The time for which the source must not change, in milliseconds. */
export const QUIET_MS = 1_000;
/** A source that is never stable is published at this interval, in milliseconds. */
export const MAX_MS = 5_000;

export class DebouncedValue<T> {
  #value: T;
  #candidate: T;
  #lastChange = -Infinity;
  /** The time since which the candidate differs from the value. */
  #heldSince: number | null = null;

  constructor(first: T) {
    this.#value = first;
    this.#candidate = first;
  }

  get value(): T {
    return this.#value;
  }

  /** The time at which to call `offer` again without a change of the source, as `elapsed` of the clock; null if not needed. */
  get wakeAt(): number | null {
    return this.#heldSince === null ? null : Math.min(this.#lastChange + QUIET_MS, this.#heldSince + MAX_MS);
  }

  /** Records the current value of the source. @param now `elapsed` of the clock @returns whether the published value changed */
  offer(candidate: T, now: number): boolean {
    const wasQuiet = now - this.#lastChange >= QUIET_MS;
    if (!isDeepStrictEqual(candidate, this.#candidate)) {
      this.#candidate = candidate;
      this.#lastChange = now;
    }
    if (isDeepStrictEqual(candidate, this.#value)) {
      this.#heldSince = null;
      return false;
    }
    this.#heldSince ??= now;
    if (!wasQuiet && now < this.#heldSince + MAX_MS) return false;
    this.#value = candidate;
    this.#heldSince = null;
    return true;
  }
}
