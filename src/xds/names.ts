// The names of Envoy resources, the same in listeners, routes, clusters and statistics (xds 2).
import { matchesHash } from '../policy/route-rules.ts';
import type { Section, ZoneListenerKind } from '../policy/dataplane-proxy.ts';
import type { HttpMatch } from '../policies/routes.ts';

/** Matches every request: what a route configuration ends with. */
export const CATCH_ALL = { path: { value: '/', type: 'PathPrefix' } } as const satisfies HttpMatch;

/** Listener, cluster, route configuration and virtual host of the first inbound with a section name. */
export function inboundName({ section }: Pick<Section, 'section'>): string {
  return `self_inbound_dp_${section}`;
}

/** The listener of a zone ingress or a zone egress. */
export function zoneListenerName({ kind, section }: Pick<Section, 'kind' | 'section'>): string {
  return `self_${kind.toLowerCase()}_dp_${section}`;
}

/** A second listener of an outbound in a configuration: in Envoy listeners have the names of their places. @param name of the first */
export function furtherListener(name: string, place: string): string {
  return `${name} ${place}`;
}

/** The first listener of an outbound, or the listener of a discovered filter. Other resources have the name of their listener. */
export function listenerOf(name: string): string {
  return name.split(' ', 1)[0] ?? name;
}

/** Whether a listener belongs to the proxy itself, and to no outbound. */
export function isOwn(listener: string): boolean {
  return listener.startsWith('self_');
}

/** Whether a listener is that of an inbound, a zone ingress or a zone egress. */
export function servesOthers(listener: string): boolean {
  return /^self_(inbound|zoneingress|zoneegress)_dp_/.test(listener);
}

/**
 * A resource that a zone proxy has for others. The prefix separates it from the proxy's own resources: connections to an ingress choose a
 * cluster by their server name, and must reach no other cluster.
 * @param name KRI or server name
 */
export function zoneResourceName(kind: ZoneListenerKind, name: string): string {
  return `${kind === 'ZoneIngress' ? 'ingress' : 'egress'}:${name}`;
}

/**
 * The cluster of an external service. With TLS it has another name: if Envoy refuses it, nothing leads to an older one in plain text.
 * @param kri of the port
 */
export function externalClusterName(kri: string, isTls: boolean): string {
  return zoneResourceName('ZoneEgress', isTls ? `tls:${kri}` : kri);
}

/** What the names of the secrets with keys for external services begin with. */
export const CLIENT_KEY = zoneResourceName('ZoneEgress', 'key:');

/** The secret with which an egress shows itself to an external service. @param kri of the port */
export function clientKeyName(kri: string): string {
  return `${CLIENT_KEY}${kri}`;
}

/** The listener and the cluster of connections that are redirected, and that no other listener has. @param version of IP */
export function passthroughName(direction: 'inbound' | 'outbound', version: 4 | 6): string {
  return `self_transparentproxy_passthrough_${direction}_ipv${String(version)}`;
}

/** The cluster of such connections that may not pass. */
export function noDestinationName(direction: 'inbound' | 'outbound'): string {
  return `self_transparentproxy_no_destination_${direction}`;
}

/** No cluster has this name: Envoy closes connections to it. */
export const NO_CLUSTER = 'self_no_cluster';

/** A route that a MeshHTTPRoute gave: its KRI with the item of `to[]` as section. */
export function routeName(kri: string, toIndex: number): string {
  return `${kri}rule_${String(toIndex)}`;
}

/** A route that no policy gave: the hash of its matches. */
export const catchAllRouteName = matchesHash([CATCH_ALL]);
