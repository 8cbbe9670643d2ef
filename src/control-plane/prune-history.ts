// Keeps the history of resources in its bounds, on the leader: each minute it considers the versions that are new, and those that have
// come of age. Invariant: the work of a minute grows with the new versions, not with the table.
import { every } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Following } from '../store/follow-feed.ts';
import type { HistoryBounds, HistoryStore, PruneProgress } from '../store/history-store.ts';

const INTERVAL_MS = 60_000;
/** The table is counted again when its growth since the last count may be more than this part of its bound. */
const COUNTED_PART = 0.01;

/**
 * The values of `store.history`: the versions of one resource, the milliseconds after which a replaced version is removed, and
 * the versions of all resources together.
 */
export type HistoryLimits = { readonly versions: number; readonly age: number; readonly total: number };

type Store = Pick<HistoryStore, 'pruneVersions' | 'settledVersion' | 'countVersions' | 'trimVersions'>;
/** The number of versions when `at` was the largest id. */
type Count = { readonly at: number; readonly versions: number };

/** Runs until the signal aborts. A new leader considers all versions once. */
export async function pruneHistory(
  { store, clock, log, limits }: Following & { readonly store: Store; readonly limits: HistoryLimits },
  signal: AbortSignal,
): Promise<void> {
  let progress: PruneProgress = { counted: 0, aged: 0 };
  let count: Count | null = null;
  await every(clock, INTERVAL_MS, signal, async () => {
    const bounds = { versions: limits.versions, replacedBefore: new Date(clock.now().getTime() - limits.age) };
    try {
      // A version of a transaction that stays open may appear before those that are considered now. The next minute considers these again.
      const settled = await store.settledVersion().catch(() => 0);
      const reached = await pruneOwn(store, bounds, progress, signal);
      progress = {
        counted: Math.max(progress.counted, Math.min(reached.counted, settled)),
        aged: Math.max(progress.aged, Math.min(reached.aged, settled)),
      };
      count = await pruneTotal(store, limits.total, reached.counted, count, signal);
    } catch (error) {
      log.warn({ reason: messageOf(error) }, 'old versions of resources were not removed; the next minute tries again');
    }
  });
}

/** Applies the bounds of each resource. Returns how far versions were considered. */
async function pruneOwn(
  store: Store,
  bounds: HistoryBounds,
  progress: PruneProgress,
  signal: AbortSignal,
): Promise<PruneProgress> {
  for (let next = progress; !signal.aborted;) {
    const done = await store.pruneVersions(bounds, next);
    if (done.counted === next.counted && done.aged === next.aged) return next;
    next = done;
  }
  return progress;
}

/** Applies the bound of all resources together. It keeps the last version of a resource that exists, also beyond the bound. */
async function pruneTotal(store: Store, total: number, at: number, last: Count | null, signal: AbortSignal): Promise<Count> {
  const isFew = last !== null && (at - last.at <= total * COUNTED_PART || last.versions + at - last.at <= total);
  if (isFew) return last;
  let versions = await store.countVersions();
  for (let id = 0; versions > total && !signal.aborted;) {
    const { upTo, removed } = await store.trimVersions(id, versions - total);
    versions -= removed;
    if (upTo === id) break;
    id = upTo;
  }
  return { at, versions };
}
