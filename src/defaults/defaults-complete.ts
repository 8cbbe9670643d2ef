// On the first start on a store, a control plane becomes ready only when its default resources exist.
// After `/ready` a client can write into mesh `default` and request tokens.
import type { DefaultsConfig } from './create-defaults.ts';
import { hasClusterId } from './create-defaults.ts';
import type { ResourceStore } from '../store/resource-store.ts';

type DefaultsCompleteOptions = {
  readonly store: ResourceStore;
  /** It is false for a zone with a global: its defaults are synced, and it is ready without them. */
  readonly createsDefaults: boolean;
  readonly defaults: Pick<DefaultsConfig, 'skipTenantResources'>;
};

/**
 * Reports whether the first start is complete: the leader has created the default resources of this control plane. When it is true,
 * the store is not read again.
 */
export function defaultsComplete({ store, createsDefaults, defaults }: DefaultsCompleteOptions): () => Promise<boolean> {
  let isOver = !createsDefaults || defaults.skipTenantResources;
  return async () => {
    isOver ||= await hasClusterId(store);
    return isOver;
  };
}
