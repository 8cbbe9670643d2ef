// Summaries of a mesh and of everything, from counted rows (rest-api 3). Pure. MeshInsight is protobuf JSON: it omits zeros and keeps
// objects. The global insight includes zeros.
import { compareText } from '../base/compare-text.ts';
import { resourceTypes } from '../resource/type-registry.ts';
import type { JsonObject } from '../resource/types.ts';
import type { ProxyGroup } from '../resource/proxy-facts.ts';
import type { RowCount } from './api-options.ts';
import { countProxies, noProxies, type StatusCounts } from './dataplane-status.ts';

/** The counts for all summaries. */
export type Census = {
  readonly counts: readonly RowCount[];
  readonly proxies: readonly ProxyGroup[];
  readonly zonesOnline: number;
  /** MeshServices by the state of their proxies. */
  readonly services: StatusCounts;
};

/** The version of a proxy that reported none. */
const UNKNOWN = 'unknown';

const counted = resourceTypes.filter(({ path, isInsight }) => path !== '' && !isInsight);

/** The fields of a MeshInsight. `dataplanes` is always present, because clients rely on it. */
export function meshInsight(mesh: string, { counts, proxies }: Census): JsonObject {
  const all = noProxies();
  const standard = noProxies();
  const gateway = noProxies();
  const versions = { kumaDp: new Map<string, StatusCounts>(), envoy: new Map<string, StatusCounts>() };
  const issued = new Map<string, StatusCounts>();
  const supported = new Map<string, StatusCounts>();
  for (const proxy of proxies.filter((one) => one.mesh === mesh)) {
    countProxies(all, proxy.status, proxy.proxies);
    countProxies(proxy.isGateway ? gateway : standard, proxy.status, proxy.proxies);
    countIn(versions.kumaDp, proxy.kumaDp ?? UNKNOWN, proxy);
    countIn(versions.envoy, proxy.envoy ?? UNKNOWN, proxy);
    if (proxy.issuedBackend !== null) countIn(issued, proxy.issuedBackend, proxy);
    for (const backend of proxy.supportedBackends) countIn(supported, backend, proxy);
  }
  const resources = counts
    .filter(
      (row) => row.mesh === mesh && row.total > 0 && counted.some(({ name, scope }) => name === row.type && scope === 'Mesh'),
    )
    .toSorted((a, b) => (a.type < b.type ? -1 : 1));
  return {
    dataplanes: withoutZeros(all),
    dataplanesByType: {
      standard: withoutZeros(standard),
      gateway: withoutZeros(gateway),
      gatewayDelegated: withoutZeros(gateway),
    },
    dpVersions: { kumaDp: byKey(versions.kumaDp), envoy: byKey(versions.envoy) },
    mTLS: { issuedBackends: byKey(issued), supportedBackends: byKey(supported) },
    resources: Object.fromEntries(resources.map(({ type, total }) => [type, { total }])),
  };
}

/** The proxies of a zone by status, in all and by mesh. */
export function proxyCountsOf(groups: readonly ProxyGroup[]): JsonObject {
  const all = noProxies();
  const meshes = new Map<string, StatusCounts>();
  for (const { mesh, status, proxies } of groups) {
    const counts = meshes.get(mesh) ?? noProxies();
    meshes.set(mesh, counts);
    for (const one of [all, counts]) countProxies(one, status, proxies);
  }
  const sorted = [...meshes].toSorted(([a], [b]) => compareText(a, b));
  return { ...all, meshes: sorted.map(([mesh, counts]) => ({ mesh, ...counts })) };
}

/** The body of `/global-insight` without its time. */
export function globalInsight(census: Census): JsonObject {
  const standard = noProxies();
  const gateway = noProxies();
  for (const { isGateway, status, proxies } of census.proxies) countProxies(isGateway ? gateway : standard, status, proxies);
  const totals = totalsOf(census);
  const policies = counted.reduce((sum, { name, policy }) => sum + (policy === null ? 0 : (totals.get(name) ?? 0)), 0);
  return {
    services: {
      internal: { ...census.services },
      external: { total: totals.get('MeshExternalService') ?? 0 },
      gatewayDelegated: { ...noProxies() },
    },
    zones: {
      controlPlanes: { online: census.zonesOnline, total: totals.get('ZoneInsight') ?? 0 },
      zoneIngresses: { online: 0, total: 0 },
      zoneEgresses: { online: 0, total: 0 },
    },
    dataplanes: { standard: { ...standard }, gatewayDelegated: { ...gateway } },
    policies: { total: policies },
    meshes: { total: totals.get('Mesh') ?? 0 },
    resources: Object.fromEntries(counted.map(({ name }) => [name, { total: totals.get(name) ?? 0 }])),
  };
}

/** `resources` of `/global-insights`: the Global types. */
export function globalTotals(census: Pick<Census, 'counts'>): JsonObject {
  const totals = totalsOf(census);
  const names = counted.filter(({ scope }) => scope === 'Global').map(({ name }) => name);
  return Object.fromEntries(names.map((name) => [name, { total: totals.get(name) ?? 0 }]));
}

function totalsOf({ counts }: Pick<Census, 'counts'>): Map<string, number> {
  const totals = new Map<string, number>();
  for (const { type, total } of counts) totals.set(type, (totals.get(type) ?? 0) + total);
  return totals;
}

function countIn(groups: Map<string, StatusCounts>, key: string, { status, proxies }: ProxyGroup): void {
  const counts = groups.get(key) ?? noProxies();
  countProxies(counts, status, proxies);
  groups.set(key, counts);
}

function byKey(groups: ReadonlyMap<string, StatusCounts>): JsonObject {
  return Object.fromEntries([...groups].map(([key, counts]) => [key, withoutZeros(counts)]));
}

function withoutZeros(counts: StatusCounts): JsonObject {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}
