// The counts of proxies and services in summaries, by their status (rest-api 3). Pure.
import type { ProxyStatus } from '../resource/online-status.ts';
import type { ProxyFacts } from '../resource/proxy-facts.ts';
import { objectOf } from '../resource/read-json.ts';
import type { Resource } from '../resource/types.ts';

/** The number of proxies, by status. `unknown` is there only if it is above 0: Kuma has no such count. */
export type StatusCounts = { total: number; online: number; offline: number; partiallyDegraded: number; unknown?: number };

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

export function countProxies(counts: StatusCounts, status: ProxyFacts['status'], proxies = 1): void {
  counts.total += proxies;
  counts[status] = (counts[status] ?? 0) + proxies;
}
