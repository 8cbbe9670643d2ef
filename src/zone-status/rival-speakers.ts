// Two control planes under the name of one zone, as its subscriptions show them: where no store ids tell them apart, as for Kuma
// zones and for copies of one database, each ends the stream of the other and comes back. Pure.
import { textOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';
import { subscriptionsOf } from '../resource/online-status.ts';

/** A pair that came back within this time is a conflict now. A zone tries again within a minute. */
const WINDOW_MS = 300_000;

/**
 * The instances that took the zone from each other within the last five minutes: one that came back after another one had spoken.
 * Replicas hand over once; they come back only if their leader changes to and fro.
 * @param insight spec of a ZoneInsight
 * @returns instance ids in the order of their arrival, empty where there is no conflict
 */
export function rivalSpeakers(insight: JsonObject, now: Date): readonly string[] {
  const recent = subscriptionsOf(insight)
    .map((row) => ({ id: textOf(row['zoneInstanceId']), time: Date.parse(textOf(row['connectTime'])) }))
    .filter(({ id, time }) => id !== '' && now.getTime() - time < WINDOW_MS)
    .sort((one, other) => one.time - other.time);
  const turns = recent.filter(({ id }, index) => id !== recent[index - 1]?.id).map(({ id }) => id);
  const distinct = [...new Set(turns)];
  return turns.length > distinct.length ? distinct : [];
}
