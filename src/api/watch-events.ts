// Turns a list into events: first its items, then the changes (the feed gives hints, the rows are the truth). Invariants: each
// state of an item is sent once. A slow reader gets only the latest version. The memory of a watch is bounded.
import { hash } from 'node:crypto';
import { MeridianError } from '../base/errors.ts';
import { keyOf, keyText, type Resource, type ResourceKey } from '../resource/types.ts';
import { FeedFollower, type Following } from '../store/follow-feed.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { isShown } from '../document/shown-rows.ts';
import type { RowFilter } from './list-rows.ts';

/** The largest number of rows in one watch. A larger list needs a filter. */
export const MAX_ROWS = 20_000;

export type WatchEvent =
  | { readonly kind: 'put'; readonly row: Resource }
  | { readonly kind: 'delete'; readonly key: ResourceKey }
  /** All items that existed at the start, or after the feed was lost, have been sent. */
  | { readonly kind: 'synced' }
  | { readonly kind: 'heartbeat' };

type Options = Following & { readonly store: ResourceStore; readonly heartbeatMs: number };

/** The rows of a watch. */
export type Watched = {
  readonly type: string;
  /** Whether the row of this key, a hint of the feed, may be one of them. */
  readonly mayHave: (key: ResourceKey) => boolean;
  readonly has: (row: Resource) => boolean;
  /** Reads the rows that exist, and perhaps others. @throws MeridianError `too_large` for more than `MAX_ROWS` */
  readonly read: (store: ResourceStore) => Promise<readonly Resource[]>;
};

/** The rows of a list. */
export function rowsOf({ where, matches }: RowFilter): Watched {
  return {
    type: where.type,
    mayHave: ({ mesh }) => where.mesh === undefined || mesh === where.mesh,
    has: (row) => fits(row, where, matches),
    read: async (store) => {
      const rows = await store.list({ ...where, limit: MAX_ROWS + 1 });
      // Some of the rows over the limit may match.
      if (rows.length > MAX_ROWS) throw tooMany();
      return rows;
    },
  };
}

/** The row of one key. */
export function rowOf(key: ResourceKey): Watched {
  const id = keyText(key);
  return { type: key.type, mayHave: (other) => keyText(other) === id, has: isShown, read: (store) => store.getMany([key]) };
}

/**
 * Ends when the signal aborts.
 * @throws MeridianError `too_large` if the store selects more than `MAX_ROWS` rows, matching or not
 */
export async function* watchEvents(watched: Watched, options: Options, signal: AbortSignal): AsyncGenerator<WatchEvent> {
  const { store, clock, log, heartbeatMs } = options;
  const known = new Map<string, { readonly key: ResourceKey; readonly version: string }>();

  const changed = function* (key: ResourceKey, row: Resource | undefined): Generator<WatchEvent> {
    const id = keyText(key);
    const before = known.get(id);
    if (row === undefined) {
      if (known.delete(id)) yield { kind: 'delete', key };
      return;
    }
    const version = versionOf(row);
    if (before?.version === version) return;
    known.set(id, { key, version });
    if (known.size > MAX_ROWS) throw tooMany();
    yield { kind: 'put', row };
  };

  const relist = async function* (): AsyncGenerator<WatchEvent> {
    const there = new Map((await watched.read(store)).filter(watched.has).map((row) => [keyText(row), row]));
    for (const { key } of [...known.values()]) if (!there.has(keyText(key))) yield* changed(key, undefined);
    for (const row of there.values()) yield* changed(keyOf(row), row);
    yield { kind: 'synced' };
  };

  const reread = async function* (keys: readonly ResourceKey[]): AsyncGenerator<WatchEvent> {
    const rows = new Map((await store.getMany(keys)).filter(watched.has).map((row) => [keyText(row), row]));
    for (const key of keys) yield* changed(keyOf(key), rows.get(keyText(key)));
  };

  const follower = new FeedFollower({ store, types: [watched.type], clock, log });
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const following = follower.follow(either).finally(() => stop.abort());
  // A failure ends the loop, which throws the error.
  void following.catch(() => undefined);
  try {
    while (!either.aborted) {
      const hints = await follower.next(either, heartbeatMs);
      const keys = hints?.keys.filter(watched.mayHave) ?? [];
      if (hints === null && !either.aborted) yield { kind: 'heartbeat' };
      else if ((hints?.types.length ?? 0) > 0) yield* relist();
      else if (keys.length > 0) yield* reread(keys);
    }
  } finally {
    stop.abort();
    await following;
  }
}

/** A text of bounded length that differs for each state of a row: another program may change a row and leave its version. */
function versionOf({ version, creationTime, labels, spec, status }: Resource): string {
  const content = hash('sha256', JSON.stringify([labels, spec, status]), 'base64url').slice(0, 22);
  return `${String(version)} ${String(creationTime.getTime())} ${content}`;
}

function tooMany(): MeridianError {
  return new MeridianError('too_large', `a watch follows at most ${String(MAX_ROWS)} resources: choose fewer, by mesh or label`);
}

/** The filter of the store, applied to one row. */
function fits(row: Resource, { nameContains, labels = {} }: RowFilter['where'], matches: RowFilter['matches']): boolean {
  if (nameContains !== undefined && !row.name.includes(nameContains)) return false;
  if (!Object.entries(labels).every(([key, value]) => Object.hasOwn(row.labels, key) && row.labels[key] === value)) return false;
  return matches?.(row) ?? true;
}
