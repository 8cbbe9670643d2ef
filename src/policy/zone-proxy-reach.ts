// The `to[]` of policies on proxies that only lead connections of others: an ingress passes them on as they are, an egress makes connections of
// its own to external services. Pure. Invariant: the configuration of an egress follows these policies and no others (decision 56).
import type { DataplaneProxy } from './dataplane-proxy.ts';
import type { Policy } from './parse-policy.ts';

/** The types about connections to a server, its health and the choice among its endpoints. */
const OF_CONNECTIONS: ReadonlySet<string> = new Set([
  'MeshTimeout',
  'MeshCircuitBreaker',
  'MeshHealthCheck',
  'MeshLoadBalancingStrategy',
]);

/** The top-level fields of a conf of `to[]` that an egress follows, where it does not follow all. */
const FIELDS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['MeshTimeout', new Set(['connectionTimeout', 'idleTimeout', 'http.maxConnectionDuration', 'http.maxStreamDuration'])],
  ['MeshLoadBalancingStrategy', new Set(['loadBalancer', 'hashPolicies'])],
]);

/** Whether a proxy has no application of its own that calls services. */
export function onlyLeads({ sections, gatewayTags }: Pick<DataplaneProxy, 'sections' | 'gatewayTags'>): boolean {
  return gatewayTags === null && sections.every(({ kind }) => kind !== 'Inbound');
}

/**
 * Why the `to[]` of a policy has no effect on a proxy; null where it has one.
 * @param destination type of the resource that the item is about: Mesh, a service or a route
 */
export function whyNotLed(proxy: DataplaneProxy, type: string, destination: string): string | null {
  if (!onlyLeads(proxy)) return null;
  if (proxy.sections.every(({ kind }) => kind !== 'ZoneEgress'))
    return 'has no effect on a zone ingress, which passes on the connections of other proxies';
  if (!OF_CONNECTIONS.has(type)) return `has no effect on a zone egress: a ${type} is for the proxies that send the requests`;
  if (destination === 'Mesh' || destination === 'MeshExternalService') return null;
  return 'has no effect on a zone egress, which calls external services alone';
}

/** Whether a policy has nothing but a `to[]` that a zone proxy does not follow. */
export function isIdleOn({ type, to, rules, from, conf }: Policy, proxy: DataplaneProxy): boolean {
  if (to.length === 0 || rules.length + from.length > 0 || conf !== null) return false;
  return to.every(({ targetRef }) => whyNotLed(proxy, type, targetRef.kind) !== null);
}

/** The fields of a conf of `to[]` that an egress does not follow, by path. */
export function fieldsNotLed(type: string, conf: Readonly<Record<string, unknown>>): string[] {
  const known = FIELDS.get(type);
  if (known === undefined) return [];
  return Object.entries(conf).flatMap(([key, value]) => {
    if (known.has(key)) return [];
    if (key !== 'http' || value === null || typeof value !== 'object') return [key];
    return Object.keys(value).flatMap((inner) => (known.has(`http.${inner}`) ? [] : [`http.${inner}`]));
  });
}
