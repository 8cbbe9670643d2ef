// A zone egress: it terminates the TLS of its clients, checks their permissions, and connects to services outside of the mesh (xds 5).
import { destinationOf, policiesInForce } from '../policy/effective-conf.ts';
import type { Outbound } from '../policy/outbounds.ts';
import type { JsonObject } from '../resource/types.ts';
import { displayNameOf } from '../resource/labels.ts';
import { externalSettings } from './cluster.ts';
import { externalCluster, wantsTls } from './external-cluster.ts';
import { httpConnectionManager } from './http-connection.ts';
import { clientKeyName, externalClusterName, zoneResourceName } from './names.ts';
import type { ProxyConfig, ProxyContext } from './proxy-context.ts';
import { httpPermission, networkPermission, permissionFilter } from '../policies/mesh-traffic-permission/envoy.ts';
import { admittedId } from '../policies/mesh-traffic-permission/tls-admission.ts';
import { isHttp, protocolOf } from '../envoy/protocol.ts';
import { addPatched } from './proxy-patch.ts';
import { serverSocket, tlsParams, type ProxyTls } from './proxy-tls.ts';
import { confsOf } from './conf-of.ts';
import { httpFilters, inboundRouteFields, networkFilters, routeActionFields, type ConfsInForce } from '../policies/parts.ts';
import { typeOf } from '../resource/type-registry.ts';
import { routeConfiguration } from './route-config.ts';
import { reportMatches, reportTo, usablePolicies, type Report } from './usable-policies.ts';
import { tracerOf } from './telemetry.ts';
import { chainLoggers, chainTcpProxy, workloadOf, type Chain, type ZoneContext, type ZoneListener } from './zone-chain.ts';
import { zonePortsOfKind, type ZonePort } from './zone-ports.ts';
import { chainFilters, permissionsOn } from './zone-rules.ts';

const KIND = 'ZoneEgress';

/**
 * The filter chains of the listener, one for each external service. Their routes are added.
 * @returns none without an identity, because clients could not be identified
 */
export function egressChains(config: ProxyConfig, context: ZoneContext, listener: ZoneListener): JsonObject[] {
  const { tls } = context;
  if (tls === null) {
    listener.report({ policy: null, field: listener.field, reason: 'has no listener: a zone egress needs an identity' });
    return [];
  }
  // A chain without a server name would take the connections of all others.
  const ports = zonePortsOfKind(context.index, context.rules.proxy, KIND).filter(({ snis }) => snis.length > 0);
  return ports.map((port) => chainOf(config, context, listener, port, tls));
}

function chainOf(
  config: ProxyConfig,
  context: ZoneContext,
  listener: ZoneListener,
  { outbound, snis }: ZonePort,
  tls: ProxyTls,
): JsonObject {
  const { rules } = listener;
  const { kri, resource } = outbound;
  const reason = 'has no effect on a zone egress: all clients of a port have one conf';
  for (const type of ['MeshTimeout', 'MeshRateLimit', 'MeshTLS'] as const)
    reportMatches(rules.chain(type, snis).byClient, reason, listener.report);
  const chain = { snis, statPrefix: kri, cluster: externalClusterName(kri, wantsTls(resource)), destination: kri };
  const permissions = permissionsOn(chainFilters(rules.chain('MeshTrafficPermission', snis)), snis);
  const first = networkFilters(rules.confsOf(snis));
  const params = tlsParams(rules.conf('MeshTLS', snis));
  const protocol = protocolOf(outbound.protocol);
  return {
    name: kri,
    filterChainMatch: { serverNames: [...snis], transportProtocol: 'tls' },
    filters: isHttp(protocol)
      ? [...first, httpFilter(config, context, listener, chain, outbound, httpPermission(permissions))]
      : [networkPermission(permissions, listener.name), ...first, chainTcpProxy(context, listener, chain)],
    // The bundle says which trust domains may come: their names here would change the listener with each new one.
    transportSocket: serverSocket(tls, params, isHttp(protocol) ? [] : [admittedId(permissions)]),
  };
}

function httpFilter(
  config: ProxyConfig,
  context: ZoneContext,
  listener: ZoneListener,
  chain: Chain,
  outbound: Outbound,
  permission: JsonObject,
): JsonObject {
  const { rules } = listener;
  const { snis, cluster, statPrefix } = chain;
  const { resource } = outbound;
  const routes = zoneResourceName(KIND, statPrefix);
  const to = confsOf(policiesTo(context, outbound, listener.report));
  // What has rules for inbounds is about the clients of the egress; the rest is about the service.
  const ofRules = rules.confsOf(snis);
  const confOf: ConfsInForce = (type) => (typeOf(type).policy?.rules === true ? ofRules(type) : to(type));
  const action = { cluster, autoHostRewrite: true, ...routeActionFields(confOf, { direction: 'egress', protocol: 'http' }) };
  const route = { match: { prefix: '/' }, route: action, ...inboundRouteFields(confOf) };
  config.routes.set(routes, routeConfiguration(routes, [route], permission));
  return httpConnectionManager({
    name: statPrefix,
    routes,
    protocol: 'http',
    direction: 'egress',
    confOf,
    accessLog: chainLoggers(context, listener, chain, true),
    tracing:
      tracerOf(context)?.({ workload: workloadOf(context), direction: 'egress', destination: displayNameOf(resource) }) ?? null,
    filtersFirst: [permissionFilter],
    filters: httpFilters((type) => chainFilters(rules.chain(type, snis)), [route]),
  });
}

/** Adds the cluster of an external service. */
export function addEgressPort(config: ProxyConfig, context: ProxyContext, { outbound }: ZonePort): void {
  const { index, rules, features, client } = context;
  const { kri, resource, protocol } = outbound;
  const name = externalClusterName(kri, wantsTls(resource));
  addPatched(config, rules, false, (part) => {
    const report = reportTo(part.problems);
    const confOf = confsOf(policiesTo(context, outbound, report));
    const settings = externalSettings(confOf, { protocol: protocolOf(protocol), client });
    const { cluster, keys } = externalCluster(name, resource, { index, features, kri, settings, report });
    part.clusters.set(name, cluster);
    if (keys !== null) part.keys.set(clientKeyName(kri), keys);
  });
}

/** The policies of the egress whose `to[]` is about the external service, or the whole mesh. */
function policiesTo({ index, rules }: Pick<ZoneContext, 'index' | 'rules'>, { base, section }: Outbound, report: Report) {
  return usablePolicies(policiesInForce(rules, destinationOf(index, base, section)), report);
}
