// The subscriptions of an insight, of a zone or of a proxy: those of this process are merged into the row, which another process may
// have written. Pure.
import { compareText } from '../base/compare-text.ts';
import { isOpen } from '../resource/online-status.ts';
import type { JsonObject } from '../resource/types.ts';

/** A subscription of this process, in the form of the row. */
export type OwnSubscription = { readonly id: string; readonly isLive: boolean; readonly row: JsonObject };

/**
 * Subscriptions meet by id; one that the row does not have closes those that are open (kds-wire 4). A closed one stays closed,
 * except that while a stream of this process lives and none in the row is open, its newest is open again: a finalizer that was
 * too early, or two writes at once, must not leave a connected peer offline. Two processes that merge in any order get the same
 * row. Entries that a full row has dropped are dropped again.
 * @param ours the subscriptions of this process in the order of their opening
 * @param limit the number of subscriptions that are kept, the newest. One is always kept: without it a connected peer would look
 * like one that never came.
 */
export function mergeSubscriptions(
  before: readonly JsonObject[],
  ours: readonly OwnSubscription[],
  limit: number,
  now: Date,
): JsonObject[] {
  const mine = new Map(ours.map((one) => [one.id, one.row]));
  const known = new Set(before.map((row) => row['id']));
  const updated = before.map((row) => {
    const own = mine.get(String(row['id']));
    const { disconnectTime } = row;
    return own === undefined ? row : { ...own, ...(disconnectTime !== undefined && { disconnectTime }) };
  });
  const [oldest] = before.toSorted(byAge);
  const newestLive = ours.findLast(({ isLive }) => isLive);
  const wasDropped = ({ id, row }: OwnSubscription): boolean =>
    before.length >= Math.max(1, limit) &&
    oldest !== undefined &&
    byAge(row, oldest) < 0 &&
    // It may be the only one that shows that the peer is connected.
    id !== newestLive?.id;
  const added = ours.filter((one) => !known.has(one.id) && !wasDropped(one)).map(({ row }) => row);
  const rows = [...updated, ...added].sort(byAge);
  // A new subscription closes the older ones. One that arrives after a newer one is closed by it.
  const isNew = (row: JsonObject): boolean => !known.has(row['id']);
  const newestNew = rows.findLastIndex(isNew);
  const newestOpen = rows.findLastIndex(isOpen);
  const merged = rows.map((row, index) => (index < newestNew || (isNew(row) && index < newestOpen) ? closedAt(row, now) : row));
  return keepNewest(reopenNewest(merged, ours), Math.max(1, limit));
}

/** The row of a subscription, closed at `now` if it is open. */
export function closedAt(row: JsonObject, now: Date): JsonObject {
  return isOpen(row) ? { ...row, disconnectTime: now.toISOString() } : row;
}

/** The time in milliseconds, or `NaN`, which is neither older nor newer than anything. */
export function timeOf(value: JsonObject[string] | undefined): number {
  return typeof value === 'string' ? Date.parse(value) : Number.NaN;
}

/** Opens the newest subscription of this process that lives, while none is open. */
function reopenNewest(rows: JsonObject[], ours: readonly OwnSubscription[]): JsonObject[] {
  const newest = ours.findLast(({ isLive }) => isLive);
  if (newest === undefined || rows.some(isOpen)) return rows;
  return rows.map((row) => (row['id'] === newest.id ? newest.row : row));
}

/** Drops the oldest subscriptions that are closed, and the oldest of all only if none is closed. */
function keepNewest(rows: JsonObject[], limit: number): JsonObject[] {
  const kept = [...rows];
  while (kept.length > limit) {
    const oldestClosed = kept.findIndex((row) => !isOpen(row));
    kept.splice(Math.max(oldestClosed, 0), 1);
  }
  return kept;
}

/** Compares by time of connection and id; a row without a readable time is the oldest. */
function byAge(a: JsonObject, b: JsonObject): number {
  const [left, right] = [a, b].map((row) => timeOf(row['connectTime'])).map((time) => (Number.isNaN(time) ? 0 : time));
  return (left ?? 0) - (right ?? 0) || compareText(String(a['id']), String(b['id']));
}
