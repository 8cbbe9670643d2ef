// A write that is tried again: another writer may be faster, the owner of the row may not exist yet, and the store may be away for a moment.
import type { Clock } from '../base/clock.ts';
import { MeridianError, messageOf } from '../base/errors.ts';
import type { WriteOutcome } from '../store/resource-store.ts';

/** The waits before each attempt, in milliseconds. A conflict is retried at once; a Zone row may not exist yet. */
const RETRY_DELAYS_MS = [0, 50, 250, 1000, 2000];

/** The reason why nothing is stored. With `refused`, a retry of the same write would fail too. */
export type Failure = { readonly kind: 'failed' | 'refused'; readonly reason: string };

/**
 * Makes a write with retries.
 * @param attempt reads, merges and writes; it resolves to null when the row needs no change
 * @returns null when it is stored
 */
export async function writeWithRetries(
  attempt: () => Promise<WriteOutcome | null>,
  clock: Clock,
  signal: AbortSignal,
): Promise<Failure | null> {
  let failure: Failure = { kind: 'failed', reason: '' };
  for (const delay of [...RETRY_DELAYS_MS, 0]) {
    try {
      const outcome = await attempt();
      if (outcome === null || outcome.result === 'created' || outcome.result === 'updated') return null;
      failure =
        outcome.result === 'rejected' ? { kind: 'refused', reason: outcome.message } : { kind: 'failed', reason: outcome.result };
    } catch (error) {
      failure = { kind: 'failed', reason: messageOf(error) };
      if (!(error instanceof MeridianError)) return failure;
    }
    if (delay > 0) await clock.sleep(delay, signal);
  }
  return failure;
}
