// Keeps the history of resources in its bounds, on the leader: each minute it considers the versions that are new, and those that have
// come of age.
import { every } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Following } from '../store/follow-feed.ts';
import type { HistoryStore, PruneProgress } from '../store/history-store.ts';

const INTERVAL_MS = 60_000;

/** `store.history`: versions of one resource, and milliseconds after which a replaced version is removed. */
export type HistoryLimits = { readonly versions: number; readonly age: number };

/** Runs until the signal aborts. A new leader considers all versions once. */
export async function pruneHistory(
  {
    store,
    clock,
    log,
    limits,
  }: Following & { readonly store: Pick<HistoryStore, 'pruneVersions'>; readonly limits: HistoryLimits },
  signal: AbortSignal,
): Promise<void> {
  let progress: PruneProgress = { counted: 0, aged: 0 };
  let before = progress;
  await every(clock, INTERVAL_MS, signal, async () => {
    const bounds = { versions: limits.versions, replacedBefore: new Date(clock.now().getTime() - limits.age) };
    // A version of a long transaction becomes visible after later ones: what the last minute considered is considered again.
    let next = { counted: before.counted, aged: progress.aged };
    before = progress;
    try {
      while (!signal.aborted) {
        const done = await store.pruneVersions(bounds, next);
        if (done.counted === next.counted && done.aged === next.aged) break;
        next = done;
      }
      progress = next;
    } catch (error) {
      log.warn({ reason: messageOf(error) }, 'old versions of resources were not removed; the next minute tries again');
    }
  });
}
