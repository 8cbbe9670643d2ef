// The rows of a store for the way back to Kuma: all that may change, read and rewritten while no control plane runs on them.
import { MeridianError } from '../base/errors.ts';
import { resourceTypes } from '../resource/type-registry.ts';
import { describeKey, keyOf, type Resource } from '../resource/types.ts';
import type { ResourceStore, Write } from '../store/resource-store.ts';
import type { Rewrite } from './return-plan.ts';
import { TAKEN_OVER } from './takeover-guard.ts';
import { whileNoneLeads } from './while-none-leads.ts';

const AUTHOR = { user: 'meridian takeover return' };

/** Every row of a type that people write. */
export async function readStoredRows(store: ResourceStore): Promise<Resource[]> {
  const rows: Resource[] = [];
  for (const { name, isInsight } of resourceTypes) if (!isInsight) rows.push(...(await store.list({ type: name })));
  return rows;
}

/**
 * Stores the rewrites in one transaction. A copy stays a copy. The next start of Meridian on the database checks it again.
 * @param patience ends the wait for the lock of a leader
 * @returns false if a control plane leads on the database; nothing is stored then
 * @throws MeridianError `internal` that names a row which the store refuses; nothing is stored then
 */
export async function storeRewrites(
  store: ResourceStore,
  rewrites: readonly Rewrite<Resource>[],
  patience: AbortSignal,
): Promise<boolean> {
  return await whileNoneLeads(store, () => writeAll(store, rewrites), patience);
}

async function writeAll(store: ResourceStore, rewrites: readonly Rewrite<Resource>[]): Promise<void> {
  const writes = rewrites.map(({ row, spec }): Write => ({
    op: 'update',
    key: keyOf(row),
    labels: row.labels,
    spec,
    expectVersion: row.version,
    syncVersion: row.syncVersion,
    by: AUTHOR,
  }));
  const outcomes = await store.writeAll(writes);
  for (const [index, outcome] of outcomes.entries()) {
    const write = writes[index];
    if (write !== undefined && outcome.result !== 'updated')
      throw new MeridianError(
        'internal',
        `${describeKey(write.key)} could not be rewritten (${outcome.result}); nothing was written`,
      );
  }
  await store.write({ op: 'delete', key: TAKEN_OVER });
}
