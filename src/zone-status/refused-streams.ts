// The streams of a zone that global refused because of a quota, and those whose full state waits. They are stored in the status of the ZoneInsight row, as sync
// problems are. Pure.
import { objectOf, textOf } from '../resource/read-json.ts';
import { storablePart } from '../resource/storable-text.ts';
import type { JsonObject } from '../resource/types.ts';

export type RefusedStreams = {
  /** The number of refused streams with less than `LATELY_MS` between two. */
  readonly count: number;
  readonly since: Date;
  readonly last: Date;
  /** The reason of the last refusal. */
  readonly reason: string;
};

/** The time after which refusals are dropped. */
const LATELY_MS = 600_000;
const MAX_REASON = 500;

/** Adds a stream that is refused now. */
export function countRefused(known: RefusedStreams | null, reason: string, now: Date): RefusedStreams {
  const before = known !== null && now.getTime() - known.last.getTime() < LATELY_MS ? known : { count: 0, since: now };
  return { count: before.count + 1, since: before.since, last: now, reason: storablePart(reason, MAX_REASON) };
}

export function renderRefused({ count, since, last, reason }: RefusedStreams): JsonObject {
  return { count, since: since.toISOString(), last: last.toISOString(), reason };
}

/** The reason and the first time of the refusals of a zone; null if the last is older than ten minutes. @param status of the ZoneInsight row */
export function refusedLately(status: JsonObject, now: Date): { readonly since: string; readonly reason: string } | null {
  const { since, last, reason } = objectOf(status['refusedStreams']);
  const lastAt = Date.parse(textOf(last));
  if (Number.isNaN(lastAt) || now.getTime() - lastAt >= LATELY_MS) return null;
  return { since: textOf(since), reason: textOf(reason) };
}

/**
 * A sentence for people about the streams of a zone that were refused lately.
 * @param status of the ZoneInsight row
 * @returns null if the last refusal is older than ten minutes
 */
export function refusedStreamsWarning(zone: string, status: JsonObject, now: Date): string | null {
  const { count, since, last, reason } = objectOf(status['refusedStreams']);
  const lastAt = Date.parse(textOf(last));
  if (typeof count !== 'number' || Number.isNaN(lastAt) || now.getTime() - lastAt >= LATELY_MS) return null;
  const how = count === 1 ? '1 stream was' : `${String(count)} streams were`;
  return `${how} refused or delayed of zone "${zone}" since ${textOf(since)}, the last at ${textOf(last)}: ${textOf(reason)}`;
}
