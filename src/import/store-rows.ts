// Stores the rows of an import in an empty store, all in one transaction, while no control plane runs on it.
import { MeridianError } from '../base/errors.ts';
import { findType } from '../resource/type-registry.ts';
import { describeKey, keyOf, type ResourceKey } from '../resource/types.ts';
import type { ResourceStore, Write } from '../store/resource-store.ts';
import type { TakenRow } from '../takeover/taken-row.ts';
import { whileNoneLeads } from '../takeover/while-none-leads.ts';

const AUTHOR = { user: 'meridian import' };
const NOTHING = 'Nothing was stored.';

/**
 * @param patience ends the wait for the lock of a leader
 * @throws MeridianError `conflict` for a store that has rows or a running control plane; `internal` that names a row which the store refuses
 */
export async function storeRows(store: ResourceStore, rows: readonly TakenRow[], patience: AbortSignal): Promise<void> {
  const isStored = await whileNoneLeads(store, () => storeAll(store, rows), patience);
  if (!isStored) throw new MeridianError('conflict', `a control plane runs on this store: stop every one. ${NOTHING}`);
}

async function storeAll(store: ResourceStore, rows: readonly TakenRow[]): Promise<void> {
  const there = (await store.countAll()).reduce((sum, { total }) => sum + total, 0);
  if (there > 0)
    throw new MeridianError(
      'conflict',
      `the store has ${String(there)} rows: import into one that is new, with another store.postgres.dbName or --store-path. ${NOTHING}`,
    );
  const writes = rows.map((row): Write => {
    const { labels, spec } = row;
    return { op: 'create', key: keyOf(row), labels, spec, status: {}, owner: ownerOf(row), by: AUTHOR };
  });
  const outcomes = await store.writeAll(writes);
  for (const [index, outcome] of outcomes.entries()) {
    const write = writes[index];
    if (write === undefined || outcome.result === 'created') continue;
    const why = outcome.result === 'rejected' ? outcome.message : outcome.result;
    throw new MeridianError('internal', `${describeKey(write.key)} could not be stored: ${why}. ${NOTHING}`);
  }
}

/** A Mesh owns its rows, except Dataplanes and the Secrets that people wrote; an import leaves all Secrets to their own deletion. */
function ownerOf({ type, mesh }: TakenRow): ResourceKey | null {
  if (findType(type)?.scope !== 'Mesh' || type === 'Secret') return null;
  return { type: 'Mesh', mesh: '', name: mesh };
}
