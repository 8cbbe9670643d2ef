// Closes the subscriptions that a dead instance left open in insights of zones or proxies (rest-api 7.2): a live instance raises the generation
// of its subscriptions, so a constant generation means a dead instance. Only the leader runs it.
import { every, type Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { closedAt } from './merge-subscriptions.ts';
import { keyOf, nameText, type JsonObject } from '../resource/types.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { textOf } from '../resource/read-json.ts';
import { isOpen, subscriptionsOf } from '../resource/online-status.ts';

/**
 * The last observed state of one open subscription.
 * @property since the time in milliseconds of `elapsed`: the date may be set in between
 */
type Sighting = { readonly generation: number; readonly since: number };

/** The sightings by insight and subscription id. */
type Sightings = ReadonlyMap<string, ReadonlyMap<string, Sighting>>;

type FinalizerOptions = {
  readonly type: 'ZoneInsight' | 'DataplaneInsight';
  readonly store: ResourceStore;
  readonly log: Logger;
  readonly clock: Clock;
  /** The value of `idleTimeout` of the metrics in milliseconds; rows are checked twice in that time. */
  readonly idleTimeoutMs?: number;
};

/** Checks all insights of a type at the start and then twice per idle timeout, until the signal aborts. */
export async function runSubscriptionFinalizer(options: FinalizerOptions, signal: AbortSignal): Promise<void> {
  const { type, store, log, clock, idleTimeoutMs = 300_000 } = options;
  let sightings: Sightings = new Map();
  const look = async (): Promise<void> => {
    const at = { elapsed: clock.elapsed(), now: clock.now() };
    const seen = new Map<string, ReadonlyMap<string, Sighting>>();
    for (const row of await store.list({ type })) {
      const verdict = finalizeInsight(row.spec, sightings.get(nameText(row)) ?? new Map(), idleTimeoutMs, at);
      seen.set(nameText(row), verdict.sightings);
      if (verdict.closed.length === 0) continue;
      // A conflict means that a live replica writes this row; the next run decides again.
      const outcome = await store.write({
        op: 'update',
        key: keyOf(row),
        labels: row.labels,
        spec: verdict.spec,
        expectVersion: row.version,
      });
      if (outcome.result === 'updated')
        log.info(
          { type, mesh: row.mesh, name: row.name, subscriptions: verdict.closed },
          'closed subscriptions that stood still',
        );
    }
    sightings = seen;
  };
  await look();
  await every(clock, idleTimeoutMs / 2, signal, look);
}

/**
 * One pass over an insight: closes the subscriptions that have kept their generation for the idle timeout.
 * @returns the new spec, the closed ids, and the state to pass to the next call
 */
function finalizeInsight(
  insight: JsonObject,
  before: ReadonlyMap<string, Sighting>,
  idleTimeoutMs: number,
  { elapsed, now }: { readonly elapsed: number; readonly now: Date },
): { spec: JsonObject; closed: string[]; sightings: ReadonlyMap<string, Sighting> } {
  const sightings = new Map<string, Sighting>();
  const closed: string[] = [];
  const subscriptions = subscriptionsOf(insight).map((row) => {
    if (!isOpen(row)) return row;
    const id = textOf(row['id']);
    const generation = Number(row['generation'] ?? 0);
    const seen = before.get(id);
    const since = seen?.generation === generation ? seen.since : elapsed;
    sightings.set(id, { generation, since });
    if (elapsed - since < idleTimeoutMs) return row;
    closed.push(id);
    return closedAt(row, now);
  });
  return { spec: closed.length === 0 ? insight : { ...insight, subscriptions }, closed, sightings };
}
