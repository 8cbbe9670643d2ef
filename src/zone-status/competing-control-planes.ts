// Detects two control planes under the name of one zone from its subscriptions. Without distinct store ids, as with Kuma zones and
// copies of one database, each ends the stream of the other and reconnects. Pure.
import { textOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';
import { subscriptionsOf } from '../resource/online-status.ts';

/** An instance that reconnected within this time is a conflict. A zone retries within a minute. */
const WINDOW_MS = 300_000;

/**
 * The instances that replaced each other within the last five minutes: an instance returned after another one. Replicas hand over
 * once; they return only if the leader changes repeatedly.
 * @param insight the spec of a ZoneInsight
 * @returns instance ids in the order of their arrival; empty without a conflict
 */
export function competingControlPlanes(insight: JsonObject, now: Date): readonly string[] {
  const recent = subscriptionsOf(insight)
    .map((row) => ({ id: textOf(row['zoneInstanceId']), time: Date.parse(textOf(row['connectTime'])) }))
    .filter(({ id, time }) => id !== '' && now.getTime() - time < WINDOW_MS)
    .sort((one, other) => one.time - other.time);
  const turns = recent.filter(({ id }, index) => id !== recent[index - 1]?.id).map(({ id }) => id);
  const distinct = [...new Set(turns)];
  return turns.length > distinct.length ? distinct : [];
}
