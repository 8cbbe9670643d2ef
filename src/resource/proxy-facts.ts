// The properties of proxies that summaries count: status, versions and certificate (rest-api 3). Pure.
import {
  describedSubscription,
  isOnline,
  readinessOf,
  statusOf,
  subscriptionsOf,
  type ProxyStatus,
  type Readiness,
} from './online-status.ts';
import { objectOf, textOf } from './read-json.ts';
import type { JsonObject, Resource } from './types.ts';

export type DataplaneFacts = { readonly mesh: string; readonly readiness: Readiness };

/** The reports of a proxy. A field is null where it has reported nothing. */
export type InsightFacts = {
  readonly isConnected: boolean;
  readonly kumaDp: string | null;
  readonly envoy: string | null;
  readonly issuedBackend: string | null;
  readonly supportedBackends: readonly string[];
};

export type ProxyFacts = Omit<InsightFacts, 'isConnected'> & {
  readonly mesh: string;
  readonly isGateway: boolean;
  /** `unknown`: this control plane has not learned it, which is not the same as offline. */
  readonly status: ProxyStatus | 'unknown';
};

/** A group of proxies that the summaries do not tell apart. */
export type ProxyGroup = ProxyFacts & { readonly proxies: number };

/** The facts of a proxy without an insight: it has never connected. */
export const NEVER_CONNECTED: InsightFacts = {
  ...{ isConnected: false, kumaDp: null, envoy: null, issuedBackend: null, supportedBackends: [] },
};

export function dataplaneFacts({ mesh, spec }: Pick<Resource, 'mesh' | 'spec'>): DataplaneFacts {
  return { mesh, readiness: readinessOf(spec) };
}

/** The reports of a proxy in its insight. @param spec the spec of a DataplaneInsight */
export function insightFacts(spec: JsonObject): InsightFacts {
  const { kumaDp, envoy } = objectOf(describedSubscription(subscriptionsOf(spec))?.['version']);
  const { issuedBackend, supportedBackends } = objectOf(spec['mTLS']);
  return {
    isConnected: isOnline(spec),
    kumaDp: textOf(objectOf(kumaDp)['version']) || null,
    envoy: textOf(objectOf(envoy)['version']) || null,
    issuedBackend: textOf(issuedBackend) || null,
    supportedBackends: Array.isArray(supportedBackends) ? supportedBackends.filter((one) => typeof one === 'string') : [],
  };
}

/** The facts of a proxy. @param insight null if nothing is known of the proxy here */
export function proxyFacts({ mesh, readiness }: DataplaneFacts, insight: InsightFacts | null): ProxyFacts {
  const { isConnected, ...said } = insight ?? NEVER_CONNECTED;
  const status = insight === null ? 'unknown' : statusOf(isConnected, readiness);
  return { mesh, isGateway: readiness === 'gateway', status, ...said };
}
