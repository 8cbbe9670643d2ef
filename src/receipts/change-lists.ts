// The kept changes of a type in the order of their positions, and those of one resource. Pure.
import type { Change, History } from './kept-change.ts';

/** The resources whose newest change is after `from` and not after `to`. */
export function* historiesBetween(changes: readonly Change[], from: number, to: number): Generator<History> {
  for (const change of backwards(changes, from))
    if (change.position <= to && change.history.changes.at(-1) === change) yield change.history;
}

/** Changes after `from` and not after `to` of resources that have changed again after `to`. A response had them if they were sent. */
export function* overtakenBetween(changes: readonly Change[], from: number, to: number): Generator<Change> {
  for (const change of backwards(changes, from))
    if (change.position <= to && newestOf(change.history).position > to) yield change;
}

/** The changes of a resource up to a position, the newest first. */
export function* upTo({ changes }: History, position: number): Generator<Change> {
  for (const change of backwards(changes, -Infinity)) if (change.position <= position) yield change;
}

export function newestOf(history: History): Change {
  const newest = history.changes.at(-1);
  if (newest === undefined) throw new Error('a history has a change');
  return newest;
}

function* backwards(changes: readonly Change[], from: number): Generator<Change> {
  for (let at = changes.length - 1; at >= 0; at -= 1) {
    const change = changes[at];
    if (change === undefined || change.position <= from) return;
    yield change;
  }
}
