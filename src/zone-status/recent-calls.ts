// Refused and delayed calls of a zone, counted for ten minutes. They are stored in the status of the
// ZoneInsight row, as sync problems are: `refusedStreams`, and `delayedFullStates`. Pure.
import { objectOf, textOf } from '../resource/read-json.ts';
import { storablePart } from '../resource/storable-text.ts';
import type { JsonObject } from '../resource/types.ts';

export type RecentCalls = {
  /** The number of calls with less than `LATELY_MS` between two. */
  readonly count: number;
  readonly since: Date;
  readonly last: Date;
  /** The reason of the last one. */
  readonly reason: string;
};

/**
 * `refusedStreams` are streams that a quota or a wrong token ended. `delayedFullStates` are streams whose full state waits
 * because of its rate.
 */
export type RecentField = 'refusedStreams' | 'delayedFullStates';

/** The time after which calls are dropped. */
const LATELY_MS = 600_000;
const MAX_REASON = 500;

/** Adds a call that was made now. */
export function countCall(known: RecentCalls | null, reason: string, now: Date): RecentCalls {
  const before = known !== null && now.getTime() - known.last.getTime() < LATELY_MS ? known : { count: 0, since: now };
  return { count: before.count + 1, since: before.since, last: now, reason: storablePart(reason, MAX_REASON) };
}

/**
 * The field to store: the calls with the newer last one, of this process or of the row. Another process may have stored its own.
 * The calls of the row do not count where the date was set back after them.
 * @param status the status of the ZoneInsight row
 * @param ours the calls of this process; null without any
 */
export function mergeCalls(field: RecentField, status: JsonObject, ours: RecentCalls | null, now: Date): JsonObject {
  const stored = status[field];
  const last = Date.parse(textOf(objectOf(stored)['last']));
  const isNewer = ours !== null && last > ours.last.getTime() && last - now.getTime() < LATELY_MS;
  if (ours !== null && !isNewer) return renderCalls(field, ours);
  return stored === undefined ? {} : { [field]: stored };
}

function renderCalls(field: RecentField, { count, since, last, reason }: RecentCalls): JsonObject {
  return { [field]: { count, since: since.toISOString(), last: last.toISOString(), reason } };
}

/**
 * The reason of the last call and the time of the first; null if the last is older than ten minutes.
 * @param status the status of the ZoneInsight row
 */
export function calledLately(
  field: RecentField,
  status: JsonObject,
  now: Date,
): { readonly since: string; readonly reason: string } | null {
  const { since, last, reason } = objectOf(status[field]);
  return isLate(last, now) ? null : { since: textOf(since), reason: textOf(reason) };
}

/**
 * A sentence for people about the calls of a zone.
 * @param status the status of the ZoneInsight row
 * @returns null if the last call is older than ten minutes
 */
export function recentWarning(field: RecentField, zone: string, status: JsonObject, now: Date): string | null {
  const { count, since, last, reason } = objectOf(status[field]);
  if (typeof count !== 'number' || isLate(last, now)) return null;
  const [one, many, what] =
    field === 'refusedStreams' ? ['stream', 'streams', 'refused'] : ['full state', 'full states', 'delayed'];
  const how = count === 1 ? `1 ${one} of zone "${zone}" was ${what}` : `${String(count)} ${many} of zone "${zone}" were ${what}`;
  return `${how} since ${textOf(since)}, the last at ${textOf(last)}: ${textOf(reason)}`;
}

function isLate(last: unknown, now: Date): boolean {
  const at = Date.parse(textOf(last));
  return Number.isNaN(at) || now.getTime() - at >= LATELY_MS;
}
