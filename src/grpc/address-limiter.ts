// The permits of the calls of one address. A call takes a permit before it is handled; a call that is not refused gives it back. The permits of
// refused calls come back at a rate. Invariant: at most REFUSALS_AT_ONCE calls, and REFUSALS_A_SECOND more each second, are handled
// of which it is not known that they are good.
import type { Clock } from '../base/clock.ts';

/** The number of refused calls that an address may make at once. After that the limit is a rate per second. */
const REFUSALS_AT_ONCE = 100;
const REFUSALS_A_SECOND = 20;
/** The number of calls that may wait for the rate, and as many for each call that may give its permit back. */
const MAX_WAITING = 100;

/**
 * A call that waits for its permit, or a connection without a call. One of both functions is called once, unless the call leaves.
 */
export type WaitingCall = {
  readonly begin: () => void;
  readonly refuse: () => void;
  /** A connection cannot give a permit back: it may say nothing, and must not let more of them wait. */
  readonly mayGiveBack: boolean;
};

export class AddressLimiter {
  readonly #clock: Clock;
  #left = REFUSALS_AT_ONCE;
  /** The time at which `#left` was counted. */
  #at: number;
  /** The number of calls that have a permit and may give it back. */
  #underWay = 0;
  /** The calls that wait, in the order in which they came. */
  readonly #waiting = new Set<WaitingCall>();
  #isTimed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#at = clock.elapsed();
  }

  /** Whether a call that comes now waits. */
  get areSpent(): boolean {
    this.#count();
    return this.#left < 1;
  }

  /** Begins the call when there is a permit for it, at once if it can. Refuses the newest calls if too many wait. */
  take(call: WaitingCall): void {
    this.#waiting.add(call);
    this.#serve();
  }

  /** Ends the wait of a call. */
  leave(call: WaitingCall): void {
    this.#waiting.delete(call);
  }

  /** Counts a call that has the permit for which its connection waited, and may give it back. */
  inherit(): void {
    this.#underWay += 1;
  }

  /** Ends a call that has a permit. @param wasRefused a refused call keeps its permit */
  end(wasRefused: boolean): void {
    this.#underWay -= 1;
    if (!wasRefused) this.#left = Math.min(REFUSALS_AT_ONCE, this.#left + 1);
    this.#serve();
  }

  /** Charges a call that was refused without a permit: it costs one if no call waits for it. */
  spend(): void {
    this.#serve();
    if (this.#left >= 1) this.#left -= 1;
  }

  /** Adds the permits that have come back. */
  #count(): void {
    const now = this.#clock.elapsed();
    this.#left = Math.min(REFUSALS_AT_ONCE, this.#left + ((now - this.#at) * REFUSALS_A_SECOND) / 1_000);
    this.#at = now;
  }

  #serve(): void {
    this.#count();
    for (const call of this.#waiting) {
      if (this.#left < 1) break;
      this.#waiting.delete(call);
      this.#left -= 1;
      if (call.mayGiveBack) this.#underWay += 1;
      call.begin();
    }
    this.#refuseExcess();
    this.#wakeForNext();
  }

  /** The refusal of a call may take others of its connection with it. */
  #refuseExcess(): void {
    const most = MAX_WAITING * (1 + this.#underWay);
    if (this.#waiting.size <= most) return;
    for (const call of [...this.#waiting].slice(most).reverse())
      if (this.#waiting.size > most && this.#waiting.delete(call)) call.refuse();
  }

  #wakeForNext(): void {
    if (this.#isTimed || this.#waiting.size === 0) return;
    this.#isTimed = true;
    this.#clock.after(Math.ceil(((1 - this.#left) * 1_000) / REFUSALS_A_SECOND), () => {
      this.#isTimed = false;
      this.#serve();
    });
  }
}
