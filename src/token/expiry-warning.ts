// Says in time that a zone's token is about to expire, for `inspect zones` and the log.
import { howToJoin } from './how-to-join.ts';

const DAY_MS = 24 * 3_600_000;

/** How long before its end a token is worth a warning, in milliseconds. */
export const WARN_BEFORE_MS = 30 * DAY_MS;

/** A sentence for people while the token ends within `withinMs`, else null. */
export function expiryWarning(zone: string, expiresAt: Date, now: Date, withinMs = WARN_BEFORE_MS): string | null {
  const leftMs = expiresAt.getTime() - now.getTime();
  if (leftMs >= withinMs) return null;
  const when = leftMs <= 0 ? 'has expired' : `expires in ${days(leftMs)}`;
  return `the token of zone "${zone}" ${when} (${expiresAt.toISOString()}). ${howToJoin(zone)}`;
}

function days(ms: number): string {
  const count = Math.floor(ms / DAY_MS);
  if (count === 0) return 'less than a day';
  return count === 1 ? '1 day' : `${String(count)} days`;
}
