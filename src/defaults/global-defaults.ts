// The default resources of a global (kds-wire 9: on global). The leader creates them at its start; a second run changes nothing.
import { globalHostnameGenerators } from './default-resources.ts';
import { createBaseDefaults, createHostnameGenerators, hasClusterId, type DefaultsConfig } from './create-defaults.ts';
import type { ResourceStore } from '../store/resource-store.ts';

/** Creates Mesh `default` with its policies, the key of zone tokens, HostnameGenerators and the id of the cluster. */
export async function createGlobalDefaults(store: ResourceStore, config: DefaultsConfig): Promise<void> {
  if (config.skipTenantResources) return;
  // Create these before the base: its last row, the id of the cluster, marks everything as complete.
  if (!config.skipHostnameGenerators && !(await hasClusterId(store))) {
    await createHostnameGenerators(store, globalHostnameGenerators, {});
  }
  await createBaseDefaults(store, { mode: 'global' }, config);
}
