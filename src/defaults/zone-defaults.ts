// The default resources of a zone (kds-wire 9: on a federated zone). The leader creates them at its start; a second run changes
// nothing.
import { isFromGlobal } from '../resource/ownership.ts';
import { zoneHostnameGenerators } from './default-resources.ts';
import { label } from '../resource/labels.ts';
import type { ResourceKey } from '../resource/types.ts';
import {
  clusterIdKey,
  create,
  createAbsent,
  createBaseDefaults,
  createHostnameGenerators,
  type DefaultsConfig,
} from './create-defaults.ts';
import type { ResourceStore } from '../store/resource-store.ts';

/**
 * Creates its own Zone row, the only one, and HostnameGenerators for local services. A zone without a global also gets the
 * defaults of a global: Mesh `default` with its defaults, the key of zone tokens, the id of the cluster (rest-api 7.3).
 */
export async function createZoneDefaults(
  store: ResourceStore,
  zone: { readonly name: string; readonly hasGlobal: boolean },
  config: DefaultsConfig,
): Promise<void> {
  const key: ResourceKey = { type: 'Zone', mesh: '', name: zone.name };
  const others = (await store.list({ type: 'Zone' })).filter((row) => row.name !== zone.name);
  if (others.length > 0) {
    await store.writeBatch(others.map(({ type, mesh, name }) => ({ op: 'delete', key: { type, mesh, name } })));
  }
  // The Zone row is written after the generators and marks them as created: deleted ones are not recreated.
  const isFirstStart = (await store.get(key)) === undefined;
  if (isFirstStart && !config.skipTenantResources && !config.skipHostnameGenerators) {
    await createHostnameGenerators(store, zoneHostnameGenerators, { [label.origin]: 'zone' });
  }
  await createAbsent(store, [create(key, {}, {})]);
  if (zone.hasGlobal) await dropOwnClusterId(store);
  else await createBaseDefaults(store, { mode: 'zone', zone: zone.name }, config);
}

/** Removes the id that the zone created without a global: now it belongs to the cluster of its global (kds-wire 9). */
async function dropOwnClusterId(store: ResourceStore): Promise<void> {
  const row = await store.get(clusterIdKey);
  if (row !== undefined && !isFromGlobal(row)) await store.write({ op: 'delete', key: clusterIdKey, expectVersion: row.version });
}
