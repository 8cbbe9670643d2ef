// Turns a list into events: first its items, then the changes (the feed gives hints, the rows are the truth). Invariants: each
// version of an item is sent once. A slow reader gets only the latest version. The memory of a watch is bounded.
import type { Clock } from '../base/clock.ts';
import { MeridianError } from '../base/errors.ts';
import type { Resource, ResourceKey } from '../resource/types.ts';
import type { ResourceStore, StoreChange } from '../store/resource-store.ts';
import type { RowFilter } from './list-rows.ts';

/** The largest number of rows in one watch. A larger list needs a filter. */
export const MAX_ROWS = 20_000;

export type WatchEvent =
  | { readonly kind: 'put'; readonly row: Resource }
  | { readonly kind: 'delete'; readonly key: ResourceKey }
  /** All items that existed at the start, or after the feed was lost, have been sent. */
  | { readonly kind: 'synced' }
  | { readonly kind: 'heartbeat' };

type Options = { readonly store: ResourceStore; readonly clock: Clock; readonly heartbeatMs: number };

/**
 * Ends when the signal aborts.
 * @throws MeridianError `too_large` when the store chooses more than `MAX_ROWS`, whether or not they match
 */
export async function* watchEvents(
  { where, matches }: RowFilter,
  options: Options,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent> {
  const { store } = options;
  const known = new Map<string, { readonly key: ResourceKey; readonly version: string }>();

  const told = function* (key: ResourceKey, row: Resource | undefined): Generator<WatchEvent> {
    const id = idOf(key);
    const before = known.get(id);
    if (row === undefined) {
      if (known.delete(id)) yield { kind: 'delete', key };
      return;
    }
    const version = `${String(row.version)} ${String(row.creationTime.getTime())}`;
    if (before?.version === version) return;
    known.set(id, { key, version });
    if (known.size > MAX_ROWS) throw tooMany();
    yield { kind: 'put', row };
  };

  const relist = async function* (): AsyncGenerator<WatchEvent> {
    const rows = await store.list({ ...where, limit: MAX_ROWS + 1 });
    // Of those beyond, some may match.
    if (rows.length > MAX_ROWS) throw tooMany();
    const there = new Map(rows.filter((row) => matches?.(row) ?? true).map((row) => [idOf(row), row]));
    for (const { key } of [...known.values()]) if (!there.has(idOf(key))) yield* told(key, undefined);
    for (const row of there.values()) yield* told(keyOf(row), row);
    yield { kind: 'synced' };
  };

  const reread = async function* (keys: readonly ResourceKey[]): AsyncGenerator<WatchEvent> {
    const rows = new Map((await store.getMany(keys)).filter((row) => fits(row, where, matches)).map((row) => [idOf(row), row]));
    for (const key of keys) yield* told(keyOf(key), rows.get(idOf(key)));
  };

  for await (const change of withHeartbeats(store.changes(signal), options, signal)) {
    if (change === 'heartbeat') yield { kind: 'heartbeat' };
    else if (change.kind === 'all' || (change.kind === 'type' && change.type === where.type)) yield* relist();
    else if (change.kind === 'keys') {
      const keys = change.keys.filter(
        ({ type, mesh }) => type === where.type && (where.mesh === undefined || mesh === where.mesh),
      );
      if (keys.length > 0) yield* reread(keys);
    }
  }
}

function tooMany(): MeridianError {
  return new MeridianError('too_large', `a watch follows at most ${String(MAX_ROWS)} resources: choose fewer, by mesh or label`);
}

/** The changes, and a heartbeat whenever none has come for a while. */
async function* withHeartbeats(
  changes: AsyncIterable<StoreChange>,
  { clock, heartbeatMs }: Options,
  signal: AbortSignal,
): AsyncGenerator<StoreChange | 'heartbeat'> {
  const iterator = changes[Symbol.asyncIterator]();
  let next = iterator.next();
  while (!signal.aborted) {
    const rest = new AbortController();
    const beat = clock.sleep(heartbeatMs, AbortSignal.any([signal, rest.signal])).then(() => 'heartbeat' as const);
    const first = await Promise.race([next, beat]);
    rest.abort();
    if (first === 'heartbeat') {
      if (!signal.aborted) yield 'heartbeat';
      continue;
    }
    if (first.done === true) return;
    yield first.value;
    next = iterator.next();
  }
  await next.catch(() => undefined);
}

/** What the store's own filter would say of one row. */
function fits(row: Resource, { nameContains, labels = {} }: RowFilter['where'], matches: RowFilter['matches']): boolean {
  if (nameContains !== undefined && !row.name.includes(nameContains)) return false;
  if (!Object.entries(labels).every(([key, value]) => Object.hasOwn(row.labels, key) && row.labels[key] === value)) return false;
  return matches?.(row) ?? true;
}

function keyOf({ type, mesh, name }: ResourceKey): ResourceKey {
  return { type, mesh, name };
}

function idOf({ mesh, name }: ResourceKey): string {
  return JSON.stringify([mesh, name]);
}
