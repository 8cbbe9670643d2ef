// A clock whose date a test sets, as an administrator or NTP does. The elapsed time goes on.
import { ManualClock } from './manual-clock.ts';

export class DatedClock extends ManualClock {
  #movedMs = 0;

  override now(): Date {
    return new Date(super.now().getTime() + this.#movedMs);
  }

  /** @param ms milliseconds by which the date is moved on; negative: back */
  moveDate(ms: number): void {
    this.#movedMs += ms;
  }
}
