// The properties of proxies and services that summaries count: status, versions and certificate (rest-api 3). Pure.
import { proxyStatus, subscriptionsOf, type ProxyStatus } from '../resource/online-status.ts';
import { objectOf, textOf } from '../resource/read-json.ts';
import type { Resource } from '../resource/types.ts';

/** The number of proxies, by status. */
export type StatusCounts = { total: number; online: number; offline: number; partiallyDegraded: number };

/** The facts of a Dataplane and its insight that summaries count. */
export type ProxyFacts = {
  readonly mesh: string;
  readonly isGateway: boolean;
  readonly status: ProxyStatus;
  /** Null if the proxy has not reported it. */
  readonly kumaDp: string | null;
  readonly envoy: string | null;
  readonly issuedBackend: string | null;
  readonly supportedBackends: readonly string[];
};

export function proxyFacts(dataplane: Resource, insight: Resource | undefined): ProxyFacts {
  const spec = insight?.spec ?? {};
  const { kumaDp, envoy } = objectOf(subscriptionsOf(spec).at(-1)?.['version']);
  const { issuedBackend, supportedBackends } = objectOf(spec['mTLS']);
  return {
    mesh: dataplane.mesh,
    isGateway: objectOf(dataplane.spec['networking'])['gateway'] !== undefined,
    status: proxyStatus(dataplane.spec, spec),
    kumaDp: textOf(objectOf(kumaDp)['version']) || null,
    envoy: textOf(objectOf(envoy)['version']) || null,
    issuedBackend: textOf(issuedBackend) || null,
    supportedBackends: Array.isArray(supportedBackends) ? supportedBackends.filter((one) => typeof one === 'string') : [],
  };
}

/**
 * The status of a MeshService from its proxies: online when all are connected and healthy, offline when none is connected or its
 * state is not Available, else partially degraded.
 */
export function serviceStatus({ spec, status }: Pick<Resource, 'spec' | 'status'>): ProxyStatus {
  const { connected, healthy, total } = objectOf(status['dataplaneProxies']);
  const isConnected = typeof connected === 'number' && connected > 0;
  if (!isConnected || spec['state'] !== 'Available') return 'offline';
  return healthy === total && connected === total ? 'online' : 'partiallyDegraded';
}

export function noProxies(): StatusCounts {
  return { total: 0, online: 0, offline: 0, partiallyDegraded: 0 };
}

export function countProxy(counts: StatusCounts, status: ProxyStatus): void {
  counts.total += 1;
  counts[status] += 1;
}
