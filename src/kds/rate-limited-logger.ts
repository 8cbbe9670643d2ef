// Lines about what a peer does wrong: nobody fills the log of another by being refused again and again.
// Invariant: in a minute one line for each cause, and no more lines than `MAX_CAUSES`; what is left out is counted.
import type { Logger } from '../base/log.ts';

const WINDOW_MS = 60_000;
/** Causes that are told of in a minute: a peer that calls itself something else each time makes new ones. */
const MAX_CAUSES = 100;

export class RateLimitedLogger {
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #told = new Set<string>();
  #began = -Infinity;
  #leftOut = 0;

  /** @param now milliseconds, of a clock that never goes back */
  constructor(log: Logger, now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  /** Writes a warning unless the cause was told of in this minute; `leftOut` in it: how many were not since the last line. */
  warn(cause: string, about: Record<string, unknown>, message: string): void {
    const at = this.#now();
    if (at - this.#began >= WINDOW_MS) {
      this.#began = at;
      this.#told.clear();
    }
    if (this.#told.has(cause) || this.#told.size >= MAX_CAUSES) {
      this.#leftOut += 1;
      return;
    }
    this.#told.add(cause);
    this.#log.warn({ ...about, ...(this.#leftOut > 0 && { leftOut: this.#leftOut }) }, message);
    this.#leftOut = 0;
  }
}
