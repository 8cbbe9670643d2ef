// Whether a proxy is online, and the versions and certificate that it reports (rest-api 3). Pure.
import type { Json, JsonObject, Resource } from '../resource/types.ts';
import { isOnline } from '../zone-status/zone-insight.ts';

export type ProxyStatus = 'online' | 'offline' | 'partiallyDegraded';

/** How many proxies there are, by status. */
export type StatusCounts = { total: number; online: number; offline: number; partiallyDegraded: number };

/** A Dataplane with its insight, as far as summaries count it. */
export type ProxyFacts = {
  readonly mesh: string;
  readonly isGateway: boolean;
  readonly status: ProxyStatus;
  /** Null where the proxy has not said. */
  readonly kumaDp: string | null;
  readonly envoy: string | null;
  readonly issuedBackend: string | null;
  readonly supportedBackends: readonly string[];
};

export function proxyFacts(dataplane: Resource, insight: Resource | undefined): ProxyFacts {
  const networking = asObject(dataplane.spec['networking']);
  const isGateway = networking['gateway'] !== undefined;
  const spec = insight?.spec ?? {};
  const last = asObject(listOf(spec['subscriptions']).at(-1));
  const version = asObject(last['version']);
  const tls = asObject(spec['mTLS']);
  return {
    mesh: dataplane.mesh,
    isGateway,
    status: statusOf(networking, isGateway, isOnline(spec)),
    kumaDp: textOf(asObject(version['kumaDp'])['version']),
    envoy: textOf(asObject(version['envoy'])['version']),
    issuedBackend: textOf(tls['issuedBackend']),
    supportedBackends: listOf(tls['supportedBackends']).filter((one) => typeof one === 'string'),
  };
}

/** Gateways by connection; others are offline too when nothing is ready, and partially degraded when something is not. */
function statusOf(networking: JsonObject, isGateway: boolean, connected: boolean): ProxyStatus {
  if (!connected) return 'offline';
  if (isGateway) return 'online';
  const states = [...listOf(networking['inbound']), ...listOf(networking['listeners'])].map((item) => asObject(item)['state']);
  const counted = states.filter((state) => state !== 'Ignored');
  const ready = counted.filter((state) => state === undefined || state === 'Ready').length;
  if (counted.length > 0 && ready === 0) return 'offline';
  return ready < counted.length ? 'partiallyDegraded' : 'online';
}

/**
 * The status of a MeshService by its proxies: online when all of them are connected and healthy, offline when none is connected or
 * its state is not Available, partially degraded in between.
 */
export function serviceStatus({ spec, status }: Pick<Resource, 'spec' | 'status'>): ProxyStatus {
  const { connected, healthy, total } = asObject(status['dataplaneProxies']);
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

function textOf(value: Json | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function listOf(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}

function asObject(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}
