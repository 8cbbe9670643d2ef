// A value that all services of a mesh carry may not change as fast as its source flaps: the first change counts at once, those
// that follow wait until the source has been still. Invariant: a still source ends with its last value.
import { isDeepStrictEqual } from 'node:util';

/** The time for which the source must not change, in milliseconds. */
export const QUIET_MS = 1_000;
/** A source that is never still is followed this often, in milliseconds. */
export const MAX_MS = 5_000;

export class DebouncedValue<T> {
  #value: T;
  #candidate: T;
  #lastChange = -Infinity;
  /** Since when the candidate is another than the value. */
  #heldSince: number | null = null;

  constructor(first: T) {
    this.#value = first;
    this.#candidate = first;
  }

  get value(): T {
    return this.#value;
  }

  /** When to call `offer` again though the source is still, in milliseconds; null when there is nothing to wait for. */
  get wakeAt(): number | null {
    return this.#heldSince === null ? null : Math.min(this.#lastChange + QUIET_MS, this.#heldSince + MAX_MS);
  }

  /** Takes the current value of the source. @returns whether the value changed */
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
