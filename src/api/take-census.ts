// Counts rows and proxies for the summaries. Expensive, so that callers share one for a second (rest-api 3).
import type { Clock } from '../base/clock.ts';
import { resourceTypes } from '../resource/type-registry.ts';
import { nameText, type Resource } from '../resource/types.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { isOnline } from '../zone-status/zone-insight.ts';
import type { ApiOptions, RowCount } from './api-options.ts';
import { countProxy, noProxies, proxyFacts, serviceStatus, type StatusCounts } from './dataplane-status.ts';
import type { Census } from './insight-bodies.ts';

const FRESH_MS = 1_000;

/** Takes a census when there is none that is fresh; calls that come meanwhile get the same one. */
export function shareCensus(options: Pick<ApiOptions, 'store' | 'countRows'>, clock: Clock): () => Promise<Census> {
  let known: { readonly at: number; readonly census: Promise<Census> } | null = null;
  return async () => {
    const at = clock.now().getTime();
    if (known !== null && Math.abs(at - known.at) < FRESH_MS) return await known.census;
    const census = takeCensus(options);
    const mine = { at, census };
    known = mine;
    // Do not cache failures: only the waiting callers receive one.
    census.catch(() => (known = known === mine ? null : known));
    return await census;
  };
}

async function takeCensus({ store, countRows }: Pick<ApiOptions, 'store' | 'countRows'>): Promise<Census> {
  const [counts, dataplanes, insights, zoneInsights, services] = await Promise.all([
    countRows?.() ?? countEach(store),
    store.list({ type: 'Dataplane' }),
    store.list({ type: 'DataplaneInsight' }),
    store.list({ type: 'ZoneInsight' }),
    store.list({ type: 'MeshService' }),
  ]);
  const byId = new Map(insights.map((row) => [nameText(row), row]));
  return {
    counts,
    proxies: dataplanes.map((row) => proxyFacts(row, byId.get(nameText(row)))),
    zonesOnline: zoneInsights.filter(({ spec }) => isOnline(spec)).length,
    services: countServices(services),
  };
}

function countServices(services: readonly Resource[]): StatusCounts {
  const counts = noProxies();
  for (const service of services) countProxy(counts, serviceStatus(service));
  return counts;
}

/** One count a type, and one a type and mesh where there is more than one mesh. */
async function countEach(store: ResourceStore): Promise<RowCount[]> {
  const meshes = (await store.list({ type: 'Mesh' })).map(({ name }) => name);
  const counts = await Promise.all(
    resourceTypes.map(async ({ name: type, scope }): Promise<RowCount[]> => {
      const total = await store.count({ type });
      if (scope === 'Global' || total === 0) return [{ type, mesh: '', total }];
      if (meshes.length === 1) return [{ type, mesh: meshes[0] ?? '', total }];
      return await Promise.all(meshes.map(async (mesh) => ({ type, mesh, total: await store.count({ type, mesh }) })));
    }),
  );
  return counts.flat();
}
