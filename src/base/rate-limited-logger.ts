// Log lines about faults of peers: a peer cannot fill the log by repeating a refused request. Invariant: one line a minute for each
// cause, and at most `MAX_CAUSES` lines a minute. Omitted lines are counted.
import type { Logger } from './log.ts';

const WINDOW_MS = 60_000;
/** The largest number of causes that are logged in a minute. A peer that changes its name each time makes new causes. */
const MAX_CAUSES = 100;

export class RateLimitedLogger {
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #logged = new Set<string>();
  #began = -Infinity;
  #leftOut = 0;

  /** @param now milliseconds, of a clock that never goes back */
  constructor(log: Logger, now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  /** Writes a warning unless the cause was logged in this minute. `leftOut` counts the omitted lines since the last one. */
  warn(cause: string, about: Record<string, unknown>, message: string): void {
    const at = this.#now();
    if (at - this.#began >= WINDOW_MS) {
      this.#began = at;
      this.#logged.clear();
    }
    if (this.#logged.has(cause) || this.#logged.size >= MAX_CAUSES) {
      this.#leftOut += 1;
      return;
    }
    this.#logged.add(cause);
    this.#log.warn({ ...about, ...(this.#leftOut > 0 && { leftOut: this.#leftOut }) }, message);
    this.#leftOut = 0;
  }
}
