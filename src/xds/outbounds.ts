// Listener, routes, clusters and load assignments of the outbounds of a proxy (xds 3.2).
import { perObject } from '../base/per-object.ts';
import { destinationOf, effectiveOutbound, policiesInForce, type EffectivePolicy } from '../policy/effective-conf.ts';
import { catchAllConf, inboundRulesOf } from '../policy/inbound-rules.ts';
import type { Outbound } from '../policy/outbounds.ts';
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import { tlsToServers } from '../policy/demanded-tls.ts';
import { displayNameOf, label } from '../resource/labels.ts';
import { homeZoneOf } from '../resource/ownership.ts';
import { objectOf, textOf } from '../resource/read-json.ts';
import type { Conf } from '../policies/confs.ts';
import type { JsonObject } from '../resource/types.ts';
import {
  accessLoggers,
  routeFilter,
  routeMetadata,
  routeMetadataFilter,
  type LogContext,
  type LogFilter,
} from '../policies/mesh-access-log/envoy.ts';
import type { BackendResolver } from './backends.ts';
import { serviceCluster } from './cluster.ts';
import { isHttp, protocolOf } from '../envoy/protocol.ts';
import { loadAssignment, localityWeights, singleAssignment, TLS_MARK } from './endpoints.ts';
import { httpConnectionManager } from './http-connection.ts';
import { declarationsOf, declaredPlace, type PlacedOutbound } from './listed-outbounds.ts';
import { placeName } from './listener-place.ts';
import { furtherListener, NO_CLUSTER, routeName } from './names.ts';
import { ownPlaces } from './own-places.ts';
import { extension, socketAddress } from '../envoy/proto-json.ts';
import type { ProxyConfig, ProxyContext } from './proxy-context.ts';
import { portSharing } from './proxy-features.ts';
import { clustersOf } from './route-action.ts';
import { addPatched } from './proxy-patch.ts';
import { logCollector, tracerOf } from './telemetry.ts';
import type { TracedWay } from './tracing.ts';
import { clientSocket, offeredParams } from './proxy-tls.ts';
import { egressOf, localEndpoints, membersOf, otherZones, serverIds, sniOf, type Egress } from './servers.ts';
import { reportTo, usablePolicies, usableRules, type Report } from './usable-policies.ts';
import { usableOutbound, type UsableOutbound, type UsableRoute } from './usable-routes.ts';
import { confOf, confsOf } from './conf-of.ts';
import { tcpProxyFields } from '../policies/parts.ts';
import { destinationsOf, outboundRoutes, routeConfiguration } from './route-config.ts';

/** Outbounds at the places of the proxy's own listeners have none. */
export function reportOwnPlaces(proxy: DataplaneProxy, report: Report): void {
  const own = ownPlaces(proxy);
  for (const [at, given] of declarationsOf(proxy).entries()) {
    const { address, port } = declaredPlace(given);
    const place = placeName(address, port);
    const user = own.get(place);
    const field = `networking.outbound[${String(at)}].port`;
    if (user !== undefined)
      report({ policy: null, field, reason: `${place} is used by networking.${user}: this one has no listener` });
  }
}

/**
 * Adds the listeners of an outbound, one at each of its places, and its routes.
 * @returns the services that they lead to
 */
export function addOutbound(config: ProxyConfig, context: ProxyContext, placed: PlacedOutbound): Outbound[] {
  return addPatched(config, context.rules, false, (part) => addListeners(part, context, placed));
}

function addListeners(config: ProxyConfig, context: ProxyContext, placed: PlacedOutbound): Outbound[] {
  const { index, rules, resolver } = context;
  const outbound = usableOutbound(effectiveOutbound(index, rules, placed.outbound), resolver, reportTo(config.problems));
  const isTcpRouted = outbound.routes.some(({ kind }) => kind === 'MeshTCPRoute');
  const asHttp = isHttp(protocolOf(outbound.protocol)) && !isTcpRouted;
  const logs: Loggers = (conf, filter = null): JsonObject[] =>
    Object.keys(conf).length === 0 ? [] : accessLoggers(conf, logContext(context, outbound, asHttp), filter);
  const name = outbound.kri;
  const filter = asHttp ? httpFilter(context, outbound, logs) : tcpProxy(outbound, logs, resolver);
  for (const [at, { address, port, isBound }] of placed.places.entries())
    config.listeners.set(at === 0 ? name : furtherListener(name, placeName(address, port)), {
      name,
      address: socketAddress(address, port),
      statPrefix: name,
      filterChains: [{ filters: [filter] }],
      metadata: { filterMetadata: { 'io.kuma.tags': { 'kuma.io/unified-name': name } } },
      trafficDirection: 'OUTBOUND',
      ...portSharing(context.features),
      ...(!isBound && { bindToPort: false }),
    });
  if (asHttp) config.routes.set(name, routeConfiguration(name, withLogMetadata(outbound, outboundRoutes(outbound, resolver))));
  return destinationsOf(outbound, asHttp ? 'MeshHTTPRoute' : 'MeshTCPRoute', resolver);
}

/** Adds one port of a service as the client connects to it: its cluster and its endpoints. */
export function addDestination(config: ProxyConfig, context: ProxyContext, destination: Outbound): void {
  addPatched(config, context.rules, false, (part) => {
    addCluster(part, context, destination);
  });
}

function addCluster(config: ProxyConfig, context: ProxyContext, destination: Outbound): void {
  const { index, rules, client, tls } = context;
  const { kri, base, section, protocol, resource } = destination;
  const report = reportTo(config.problems);
  const policies = usablePolicies(policiesInForce(rules, destinationOf(index, base, section)), report);
  const balancing = confOf(policies, 'MeshLoadBalancingStrategy');
  const isExternal = resource.type === 'MeshExternalService';
  const place = { protocol: protocolOf(protocol), client };
  const cluster = serviceCluster(kri, confsOf(policies), place, { isExternal });
  const shared = { ...objectOf(cluster['commonLbConfig']), ...(!isExternal && localityWeights(balancing)) };
  // Only TLS crosses a zone proxy.
  const egress = isExternal && tls !== null ? egressOf(index, destination, client.zone, report) : null;
  const sockets = isExternal ? egressSocket(context, egress, report) : serviceSockets(context, destination, report);
  config.clusters.set(kri, { ...cluster, ...(Object.keys(shared).length > 0 && { commonLbConfig: shared }), ...sockets });
  if (isExternal) config.assignments.set(kri, singleAssignment(kri, egress?.endpoint ?? null));
  else {
    const { ready: local, silent } = localEndpoints(index, destination, client.zone);
    const others = tls === null ? [] : otherZones(index, destination, client.zone, report);
    const isChoice = resource.type === 'MeshMultiZoneService';
    config.assignments.set(kri, loadAssignment(kri, { local, silent, others }, client, { balancing, isChoice }));
  }
}

/** TLS to the egress, with the name of the external service. */
function egressSocket(context: ProxyContext, egress: Egress | null, report: Report): JsonObject {
  const transportSocket = egress === null ? null : socketTo(context, egress, report);
  return transportSocket === null ? {} : { transportSocket };
}

/**
 * TLS to the servers of a service that accept it, plain text to the others. While some servers of the own zone do not accept it, those that
 * do and the endpoints of other zones have it.
 */
function serviceSockets(context: ProxyContext, destination: Outbound, report: Report): JsonObject {
  if (context.tls === null) return {};
  const { local, remote } = membersOf(context.index, destination.resource, context.client.zone);
  const own = tlsToServers(context.index, local);
  const [ids, sni] = [[...new Set([...own.ids, ...serverIds(remote)])].sort(), sniOf(destination)];
  const zones = [...new Set(remote.map((member) => homeZoneOf(member, '')))].sort();
  const matches = [
    ...(local.length > 0 && own.servers !== 'none' ? [{ name: 'own zone', match: TLS_MARK }] : []),
    ...zones.map((zone) => ({ name: zone, match: { [label.zone]: zone } })),
  ];
  if (ids.length === 0 || sni === null || (local.length > 0 && matches.length === 0)) return {};
  const transportSocket = socketTo(context, { ids, sni }, report);
  if (transportSocket === null) return {};
  if (own.servers === 'all') return { transportSocket };
  return { transportSocketMatches: matches.map((match) => ({ ...match, transportSocket })) };
}

function socketTo(
  { index, rules, tls }: ProxyContext,
  server: { readonly ids: readonly string[]; readonly sni: string },
  report: Report,
): JsonObject | null {
  if (tls === null) return null;
  // Versions are those of the whole mesh, because all servers have them.
  const { rules: common } = inboundRulesOf(index.shared('MeshTLS', rules.proxy), rules.proxy.zone);
  return clientSocket(tls, { ...server, params: offeredParams(catchAllConf(usableRules('MeshTLS', common, report))) });
}

type Loggers = (conf: Conf<'MeshAccessLog'>, filter?: LogFilter) => JsonObject[];

function httpFilter(context: ProxyContext, outbound: UsableOutbound, logs: Loggers): JsonObject {
  const routed = routesWithLogs(outbound.routes);
  const common = logs(confOf(outbound.policies, 'MeshAccessLog'), routed.size === 0 ? null : routeFilter(null));
  const own = [...routed].flatMap(([name, conf]) => logs(conf, routeFilter(name)));
  return httpConnectionManager({
    name: outbound.kri,
    protocol: protocolOf(outbound.protocol),
    direction: 'outbound',
    confOf: confsOf(outbound.policies),
    accessLog: [...common, ...own],
    tracing: tracerOf(context)?.(traced(context, outbound)) ?? null,
    filtersFirst: routed.size === 0 ? [] : [routeMetadataFilter],
    filters: [],
  });
}

function tcpProxy(outbound: UsableOutbound, loggersOf: Loggers, resolver: BackendResolver): JsonObject {
  const rule = outbound.routes.find(({ kind }) => kind === 'MeshTCPRoute');
  const policies = rule?.policies ?? outbound.policies;
  const logs = loggersOf(confOf(policies, 'MeshAccessLog'));
  return extension('envoy.filters.network.tcp_proxy', 'extensions.filters.network.tcp_proxy.v3.TcpProxy', {
    statPrefix: outbound.kri,
    ...tcpClusters(rule, outbound, resolver),
    ...(logs.length > 0 && { accessLog: logs }),
    ...tcpProxyFields(confsOf(policies), 'outbound'),
  });
}

/** The connections of backends that do not exist go to the others. Without others they are closed. */
function tcpClusters(rule: UsableRoute | undefined, outbound: UsableOutbound, resolver: BackendResolver): JsonObject {
  if (rule === undefined) return { cluster: outbound.kri };
  const found = resolver.all(rule.conf, rule.route, outbound);
  return found.backends.length === 0 ? { cluster: NO_CLUSTER } : clustersOf(found);
}

/** Routes with an access log of their own, by name. */
const routesWithLogs = perObject((routes: readonly UsableRoute[]): ReadonlyMap<string, Conf<'MeshAccessLog'>> => {
  const found = new Map<string, Conf<'MeshAccessLog'>>();
  let before: UsableRoute | undefined;
  for (const rule of routes) {
    // The rules of a route have one name and the same policies.
    const isSame = rule.route === before?.route && rule.index === before.index && rule.policies === before.policies;
    before = rule;
    const log = isSame ? undefined : rule.policies.find(isLogOfRoute);
    if (log !== undefined) found.set(routeName(rule.route.kri, rule.index), confOf([log], 'MeshAccessLog'));
  }
  return found;
});

function isLogOfRoute({ type, source }: EffectivePolicy): boolean {
  return type === 'MeshAccessLog' && (source === 'route' || source === 'old route');
}

/** The same object for the same route: it is encoded once. */
const withOwnMetadata = perObject((route: JsonObject) => ({ ...route, metadata: routeMetadata(textOf(route['name'])) }));

function withLogMetadata(outbound: UsableOutbound, routes: JsonObject[]): JsonObject[] {
  const logged = routesWithLogs(outbound.routes);
  if (logged.size === 0) return routes;
  return routes.map((route) => (logged.has(textOf(route['name'])) ? withOwnMetadata(route) : route));
}

function traced({ client }: ProxyContext, { resource }: Outbound): TracedWay {
  return { workload: client.workload, direction: 'outbound', destination: displayNameOf(resource) };
}

function logContext(context: ProxyContext, { resource }: Outbound, isHttp: boolean): LogContext {
  const { rules, client, features } = context;
  return {
    mesh: rules.proxy.resource.mesh,
    zone: rules.proxy.zone,
    source: client.workload,
    destination: displayNameOf(resource),
    address: client.address,
    direction: 'OUTBOUND',
    isHttp,
    workload: client.workload,
    tcpPipe: features.tcpLogPipe,
    collector: (openTelemetry) => logCollector(context, openTelemetry),
  };
}
