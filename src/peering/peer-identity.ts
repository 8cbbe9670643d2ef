// The identity of the peer, stored by both sides in a Config row: a global stores the store id of each zone, a zone stores the
// cluster id of its global. The spec has the accepted id, the status the one that was refused last.
// Invariant: only `acceptPeer` replaces a known id.
import { randomUUID } from 'node:crypto';
import { MeridianError } from '../base/errors.ts';
import { objectOf, textOf } from '../resource/read-json.ts';
import type { Resource, ResourceKey } from '../resource/types.ts';
import { create } from '../defaults/create-defaults.ts';
import type { ResourceStore, Write } from '../store/resource-store.ts';

/** A refused peer that claimed the name. @property id is empty for a peer without an id */
type RefusedPeer = { readonly id: string; readonly time: Date };

/** The time for which a refusal counts as a conflict. A refused peer retries every few seconds. */
const CONFLICT_MS = 60_000;
/** The interval at which a repeated refusal is stored. */
const RECORD_MS = 20_000;
const ATTEMPTS = 5;

const ZONE_STORE_PREFIX = 'zone-store.';

/** The Config with a store's own id. It is never synced, and a backup of the database includes it. */
export const ownStoreKey: ResourceKey = { type: 'Config', mesh: '', name: 'meridian-store-id' };

/** The Config in which a global stores which store speaks for a zone. The Zone owns it. */
export function zoneStoreKey(zone: string): ResourceKey {
  return { type: 'Config', mesh: '', name: `${ZONE_STORE_PREFIX}${zone}` };
}

/** The zone of a `zoneStoreKey`, null for any other key. */
export function zoneOfStoreKey({ type, name }: ResourceKey): string | null {
  return type === 'Config' && name.startsWith(ZONE_STORE_PREFIX) ? name.slice(ZONE_STORE_PREFIX.length) : null;
}

/** The id of this store. The first call creates it. Rejects with `unavailable` when the database does not answer. */
export async function ownStoreId(store: ResourceStore): Promise<string> {
  for (;;) {
    const row = await store.get(ownStoreKey);
    const id = acceptedPeer(row);
    if (id !== null) return id;
    await store.write({ ...create(ownStoreKey, {}, { config: randomUUID() }), op: row === undefined ? 'create' : 'update' });
  }
}

/** The accepted id in a row; null without one. */
export function acceptedPeer(row: Resource | undefined): string | null {
  const id = textOf(row?.spec['config']);
  return id === '' ? null : id;
}

/** The last refusal in a row, of any age. */
export function lastRefusal(row: Resource | undefined): RefusedPeer | null {
  const { id, time } = objectOf(row?.status['refused']);
  const at = new Date(textOf(time));
  return typeof id !== 'string' || Number.isNaN(at.getTime()) ? null : { id, time: at };
}

/** The refusal that counts as a conflict now, because a second peer still retries. */
export function currentRefusal(row: Resource | undefined, now: Date): RefusedPeer | null {
  const refused = lastRefusal(row);
  return refused !== null && isWithin(CONFLICT_MS, refused.time, now) ? refused : null;
}

/** Clocks of replicas differ a little. A time that is further ahead is of a clock that was set back since. */
function isWithin(ms: number, time: Date, now: Date): boolean {
  return Math.abs(now.getTime() - time.getTime()) < ms;
}

/** Stores that `id` was refused, at most every 20 s for the same id. A write that loses a race is dropped. */
export async function recordRefusal(store: ResourceStore, row: Resource, id: string, now: Date): Promise<void> {
  const before = lastRefusal(row);
  if (before?.id === id && isWithin(RECORD_MS, before.time, now)) return;
  await store.write({
    ...{ op: 'update', key: row, labels: row.labels, spec: row.spec, syncVersion: row.syncVersion, expectVersion: row.version },
    status: { ...row.status, refused: { id, time: now.toISOString() } },
  });
}

/**
 * Accepts another peer in place of the known one: `id`, or by default the one that was refused last.
 * @param owner of a row that does not exist yet
 * @returns the id that is accepted now, `''` for a peer without one, and the previous id
 * @throws MeridianError `conflict` when no peer was refused and no id is given, or others write the row
 */
export async function acceptPeer(
  store: ResourceStore,
  key: ResourceKey,
  id: string | undefined,
  owner: ResourceKey | null = null,
): Promise<{ readonly id: string; readonly before: string | null }> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const row = await store.get(key);
    const before = acceptedPeer(row);
    const accepted = id ?? lastRefusal(row)?.id;
    if (accepted === undefined)
      throw new MeridianError('conflict', 'no other one was refused, so there is nothing to accept; give the id to accept');
    if (accepted === (before ?? '')) return { id: accepted, before };
    const outcome = await store.write(acceptance(key, row, accepted, owner));
    if ('version' in outcome) return { id: accepted, before };
    if (outcome.result === 'rejected') throw new MeridianError('conflict', outcome.message);
  }
  throw new MeridianError('conflict', 'another writer changes this at the same time; try again');
}

/** A peer without an id cannot be distinguished from others of its kind: its stored id is removed. */
function acceptance(key: ResourceKey, row: Resource | undefined, id: string, owner: ResourceKey | null): Write {
  if (row === undefined) {
    if (owner === null) throw new MeridianError('conflict', 'none is known here yet: the first one that connects is accepted');
    return create(key, {}, { config: id }, owner);
  }
  if (id === '') return { op: 'delete', key, expectVersion: row.version };
  const syncVersion = row.syncVersion === null ? null : '';
  return { op: 'update', key, labels: row.labels, spec: { config: id }, status: {}, syncVersion, expectVersion: row.version };
}
