// The refused peers that need the decision of an operator: a second store for a zone, or another global for this zone.
import type { Resource } from '../resource/types.ts';
import { clusterIdKey } from '../defaults/create-defaults.ts';
import { acceptedPeer, currentRefusal, zoneOfStoreKey, zoneStoreKey } from '../peering/peer-identity.ts';
import type { ApiContext } from './api-options.ts';

/** One sentence for each zone that has a conflict now. @param zones names of Zones */
export async function peerConflicts(
  zones: readonly Pick<Resource, 'name'>[],
  {
    options,
    store,
    clock,
  }: Pick<ApiContext, 'store' | 'clock'> & { readonly options: Pick<ApiContext['options'], 'mode' | 'zone'> },
): Promise<ReadonlyMap<string, string>> {
  const now = clock.now();
  if (options.mode === 'zone') {
    const row = await store.get(clusterIdKey);
    const refused = currentRefusal(row, now);
    if (refused === null) return new Map();
    const text = `the global of cluster ${shown(refused.id)} is refused: this zone belongs to cluster ${shown(acceptedPeer(row))}`;
    return new Map([
      [options.zone ?? '', `${text}. If that is its new global: meridian zone accept-global, run against the zone`],
    ]);
  }
  const rows = await store.getMany(zones.map(({ name }) => zoneStoreKey(name)));
  return new Map(
    rows.flatMap((row): [string, string][] => {
      const [zone, refused] = [zoneOfStoreKey(row) ?? '', currentRefusal(row, now)];
      if (refused === null) return [];
      const text = `a second control plane claims to be zone ${zone}: store ${shown(refused.id)} is refused, the zone has ${shown(acceptedPeer(row))}`;
      return [[zone, `${text}. Stop it; or, if it replaces the other one: meridian zone adopt ${zone}`]];
    }),
  );
}

function shown(id: string | null): string {
  return id === null || id === '' ? '(without id)' : id;
}
