// The permits of the calls of one address. A call takes a permit before it is handled; a call that is not refused gives it back. The permits of
// refused calls come back at a rate. Invariant: at most REFUSALS_AT_ONCE calls, and REFUSALS_A_SECOND more each second, are handled
// of which it is not known that they are good.
import type { Clock } from '../base/clock.ts';

/** Refused calls that an address may make at once. After that the limit is a rate per second. */
const REFUSALS_AT_ONCE = 100;
const REFUSALS_A_SECOND = 20;
/** Calls that may wait for the rate, and as many for each call that may give its permit back. */
const MAX_WAITING = 100;

/** A call that waits for its permit, or a connection without a call. One of both functions is called once, unless it leaves. */
export type WaitingCall = {
  readonly begin: () => void;
  readonly refuse: () => void;
  /** A connection cannot: it may say nothing, and must not let more of them wait. */
  readonly mayGiveBack: boolean;
};

export class AddressLimiter {
  readonly #clock: Clock;
  #left = REFUSALS_AT_ONCE;
  /** When `#left` was counted. */
  #at: number;
  /** Calls that have a permit and may give it back. */
  #underWay = 0;
  /** In the order in which they came. */
  readonly #waiting = new Set<WaitingCall>();
  #isTimed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#at = clock.elapsed();
  }

  /** A call that comes now waits. */
  get areSpent(): boolean {
    this.#count();
    return this.#left < 1;
  }

  /** Begins the call when there is a permit for it, at once if it can. Refuses the newest calls if too many wait. */
  take(call: WaitingCall): void {
    this.#waiting.add(call);
    this.#serve();
  }

  /** The call waits no longer. */
  leave(call: WaitingCall): void {
    this.#waiting.delete(call);
  }

  /** A call has the permit for which its connection waited, and may give it back. */
  inherit(): void {
    this.#underWay += 1;
  }

  /** A call that has a permit ends. @param wasRefused it keeps its permit */
  end(wasRefused: boolean): void {
    this.#underWay -= 1;
    if (!wasRefused) this.#left = Math.min(REFUSALS_AT_ONCE, this.#left + 1);
    this.#serve();
  }

  /** A call without a permit was refused: it costs one if no call waits for it. */
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

  /** A call that is refused may take others of its connection with it. */
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
