// Counts rows and proxies for the summaries. This is expensive, so callers share a census for a second (rest-api 3).
import type { Clock } from '../base/clock.ts';
import type { Resource } from '../resource/types.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import type { ProxyInsights } from '../zone-status/proxy-insights.ts';
import { countProxies, noProxies, serviceStatus, type StatusCounts } from './dataplane-status.ts';
import type { Census } from './insight-bodies.ts';
import { isOnline } from '../resource/online-status.ts';

const FRESH_MS = 1_000;

/** Takes a census if the last one is too old. Concurrent calls share one. */
export function shareCensus(store: ResourceStore, insights: Pick<ProxyInsights, 'groups'>, clock: Clock): () => Promise<Census> {
  let known: { readonly at: number; readonly census: Promise<Census> } | null = null;
  return async () => {
    const at = clock.now().getTime();
    if (known !== null && Math.abs(at - known.at) < FRESH_MS) return await known.census;
    const census = takeCensus(store, insights);
    const mine = { at, census };
    known = mine;
    // Do not cache failures: only the waiting callers receive one.
    census.catch(() => (known = known === mine ? null : known));
    return await census;
  };
}

async function takeCensus(store: ResourceStore, insights: Pick<ProxyInsights, 'groups'>): Promise<Census> {
  const [counts, dataplanes, zoneInsights, services] = await Promise.all([
    store.countAll(),
    store.list({ type: 'Dataplane' }),
    store.list({ type: 'ZoneInsight' }),
    store.list({ type: 'MeshService' }),
  ]);
  return {
    counts,
    proxies: await insights.groups(dataplanes, zoneInsights),
    zonesOnline: zoneInsights.filter(({ spec }) => isOnline(spec)).length,
    services: countServices(services),
  };
}

function countServices(services: readonly Resource[]): StatusCounts {
  const counts = noProxies();
  for (const service of services) countProxies(counts, serviceStatus(service));
  return counts;
}
