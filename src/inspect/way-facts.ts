// What the ways to a service need beside the index of its mesh: which proxies are online, and how old the state of each zone is.
import type { ApiContext } from '../api/api-options.ts';
import type { Clock } from '../base/clock.ts';
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import { isOnline } from '../resource/online-status.ts';
import { zoneOf } from '../resource/ownership.ts';
import type { LagOf } from '../zone-status/zone-sync.ts';
import type { InspectContext } from './inspect-context.ts';
import type { WayFacts } from './service-ways.ts';
import { zonesNow, type ZoneNow } from './zones-now.ts';

export type WayFactsContext = Pick<InspectContext, 'insights' | 'zone'> &
  Pick<ApiContext, 'store'> & { readonly clock: Clock; readonly lagOf: LagOf };

/**
 * @param proxiesOf the proxies on the ways from these zones
 * Rejects as the store does.
 */
export async function wayFacts(
  { store, insights, zone: asked, clock, lagOf }: WayFactsContext,
  mesh: string,
  proxiesOf: (zones: readonly string[]) => readonly DataplaneProxy[],
): Promise<WayFacts> {
  const now = await zonesNow(store, lagOf, clock);
  const zones = asked === null ? now.map((zone) => zone.name) : [asked];
  const dataplanes = proxiesOf(zones).map(({ resource }) => resource);
  const { rowOf, whyUnknown } = await insights.of(dataplanes);
  const unknown = new Map(dataplanes.map((row) => [zoneOf(row), whyUnknown(row)] as const).filter(([, why]) => why !== ''));
  const away = new Map(now.map((zone) => [zone.name, unheard(zone)]));
  return {
    zones,
    asked,
    isOnline: (name) => {
      const insight = rowOf({ mesh, name });
      return insight && isOnline(insight.spec);
    },
    unknown: (zone) => unknown.get(zone) ?? '',
    // A zone knows its own proxies, connected to global or not.
    unheard: (zone) => (zone === asked ? '' : (away.get(zone) ?? '')),
  };
}

/** Why the known state of a zone may be old; `''` if it is current. */
function unheard({ sync }: ZoneNow): string {
  return sync.connection === 'online' ? '' : sync.reason;
}
