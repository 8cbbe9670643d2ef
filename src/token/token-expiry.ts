// How long a token that is in use may go without another look. What is done with the answer, and what while the store is away,
// is for those who follow tokens to say.
import type { Clock } from '../base/clock.ts';
import { LEEWAY_S } from './jwt.ts';

type Expiring = { readonly expiresAt: Date };

/** Sleeps are cut in pieces, because a timer holds less than a month. */
export const MAX_SLEEP_MS = 3_600_000;
/** While the store cannot be read it is asked again this often. */
export const RETRY_MS = 2_000;

/** The verifier refuses a token from `LEEWAY_S` after its end (rest-api 5). */
export function hasExpired(token: Expiring, clock: Clock): boolean {
  return leftMs(token, clock) <= 0;
}

/** Milliseconds to sleep until the clock alone is a reason to look at the token; where it was one already, until the next try. */
export function sleepBeforeLookMs(token: Expiring, clock: Clock): number {
  return hasExpired(token, clock) ? RETRY_MS : Math.min(MAX_SLEEP_MS, leftMs(token, clock));
}

function leftMs({ expiresAt }: Expiring, clock: Clock): number {
  return expiresAt.getTime() + LEEWAY_S * 1000 - clock.now().getTime();
}
