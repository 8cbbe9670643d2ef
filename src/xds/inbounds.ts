// Listener, routes and cluster of each inbound of a proxy (xds 3.1).
import { isIP } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import type { ProxyRules } from '../policy/build-rules.ts';
import { catchAllConf, type InboundRule } from '../policy/inbound-rules.ts';
import type { DataplaneProxy, Section } from '../policy/dataplane-proxy.ts';
import { label } from '../resource/labels.ts';
import { objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import type { Conf, Confs } from '../policies/confs.ts';
import type { JsonObject } from '../resource/types.ts';
import { applicationAddress } from './application-address.ts';
import { accessLoggers, clientFilter, type LogContext } from '../policies/mesh-access-log/envoy.ts';
import { clientIdFilter, clientsMatch, NO_RULES_BY_CLIENT, rulesByClient, type RulesByClient } from './client-confs.ts';
import { applicationCluster } from './cluster.ts';
import { isHttp, protocolOf, type Protocol } from '../envoy/protocol.ts';
import { httpConnectionManager } from './http-connection.ts';
import { inboundName } from './names.ts';
import { extension, given, socketAddress } from '../envoy/proto-json.ts';
import {
  computedOnce,
  httpFilters,
  inboundRouteFields,
  networkFilters,
  routeActionFields,
  tcpProxyFields,
  type ConfsInForce,
} from '../policies/parts.ts';
import type { ProxyConfig, ProxyContext } from './proxy-context.ts';
import { httpPermission, networkPermission, permissionFilter } from '../policies/mesh-traffic-permission/envoy.ts';
import { MESH_ALPN, meshClients, serverSocket, tlsParams, type ProxyTls } from './proxy-tls.ts';
import { admittedId } from '../policies/mesh-traffic-permission/tls-admission.ts';
import { logCollector, tracerOf, type TelemetryContext } from './telemetry.ts';
import { routeConfiguration } from './route-config.ts';
import { serverNames, withServerNames, type OtherNames } from './server-names.ts';
import { inboundAddressProblem } from './socket-address.ts';
import type { ConfigProblem } from './config-problem.ts';
import { fromOwnSource } from './transparent-proxying.ts';
import { transparentProxying } from '../policy/transparent-proxying.ts';
import { reportMatches, reportTo, usableRules, type Report, type UsableRule } from './usable-policies.ts';

/** What an inbound listens on and where its application is. */
type Inbound = {
  readonly section: Section;
  /** Of its listener, cluster, route configuration and virtual host. */
  readonly name: string;
  readonly protocol: Protocol;
  readonly address: string;
  readonly application: { readonly address: string; readonly port: number };
};

/** Why a rule for some clients does nothing. */
const ONE_CONF = 'has no effect: all clients of this inbound have one conf';

export type InboundContext = TelemetryContext & Pick<ProxyContext, 'tls'>;

/** Adds the resources of all inbounds. An inbound that is not ready has them too: only the endpoints of others lose it. */
export function addInbounds(config: ProxyConfig, context: InboundContext): void {
  const { proxy } = context.rules;
  const report = reportTo(config.problems);
  const names = serverNames(context.index, proxy);
  const listening = new Map<string, Inbound>();
  for (const [at, inbound] of inboundsOf(proxy).entries()) {
    const place = placeOf(inbound);
    const other = listening.get(place);
    const problem = other === undefined ? addressProblem(inbound) : differenceOf(inbound, other, at);
    if (problem !== null) report(problem);
    else if (other === undefined) {
      listening.set(place, inbound);
      addInbound(config, context, inbound, names);
    }
  }
  const advertised = textOf(objectOf(proxy.resource.spec['networking'])['advertisedAddress']);
  if (advertised !== '' && isIP(advertised) === 0)
    report({ policy: null, field: 'networking.advertisedAddress', reason: 'must be an IP address: an endpoint has no name' });
}

/**
 * One place has one listener. Null where the other inbound there leads to the same application: a pod behind two Services of Kubernetes has
 * both.
 */
function differenceOf(inbound: Inbound, other: Inbound, at: number): ConfigProblem | null {
  const meaning = ({ section, protocol, application }: Inbound): unknown => [section.section, protocol, application];
  if (isDeepStrictEqual(meaning(inbound), meaning(other))) return null;
  const reason = `${placeOf(inbound)} is used by inbound ${other.section.section} already: this one has no listener`;
  return { policy: null, field: `networking.inbound[${String(at)}].port`, reason };
}

function addressProblem({ address, section, application }: Inbound): ConfigProblem | null {
  return inboundAddressProblem(address, section.port) ?? inboundAddressProblem(application.address, application.port);
}

function inboundsOf({ resource, sections }: DataplaneProxy): Inbound[] {
  const networking = objectOf(resource.spec['networking']);
  const given = objectsOf(networking['inbound']);
  const names = new Set<string>();
  return sections
    .filter(({ kind }) => kind === 'Inbound')
    .flatMap((section, at) => {
      const inbound = given[at];
      if (inbound === undefined) return [];
      const address = textOf(inbound['address']) || textOf(networking['address']);
      const application = applicationAddress(networking, { ...inbound, port: section.port });
      const plain = inboundName(section);
      const name = names.has(plain) ? `${plain}_${placeOf({ address, section })}` : plain;
      names.add(name);
      return [{ section, name, protocol: protocolOf(section.protocol), address, application }];
    });
}

function placeOf({ address, section }: Pick<Inbound, 'address' | 'section'>): string {
  return `${address}:${String(section.port)}`;
}

/**
 * The section of the inbound with this resource name. Inbounds may share a section name: on two addresses, or on two ports with one name. Each
 * but the first has its address and port in the name of its resources.
 */
export function sectionOfInbound(proxy: DataplaneProxy, name: string): Section | undefined {
  return inboundsOf(proxy).find((inbound) => inbound.name === name)?.section;
}

function addInbound(config: ProxyConfig, context: InboundContext, inbound: Inbound, names: OtherNames): void {
  const { rules, features, tls } = context;
  const { section, name, protocol, address, application } = inbound;
  const isRedirected = (transparentProxying(rules.proxy.resource)?.inboundPort ?? null) !== null;
  const report = reportTo(config.problems);
  const rulesOf: RulesOf = (type) => usableRules(type, rulesOn(rules, type, section), report);
  const routed = tls !== null && isHttp(protocol);
  const byClient = routed ? rulesByClient(rulesOf, report) : NO_RULES_BY_CLIENT;
  const confOf = computedOnce((type) => byClient.common(type) ?? commonConf(rulesOf(type), report));
  const namedRulesOf = <T extends keyof Confs>(type: T): UsableRule<T>[] => withServerNames(rulesOf(type), names);
  const logRules = namedRulesOf('MeshAccessLog');
  const logs = accessLogsOf(logRules, logContext(context, inbound));
  const permissions = tls === null ? null : namedRulesOf('MeshTrafficPermission');
  const routes = isHttp(protocol) ? inboundRoutes(name, protocol, confOf, byClient, report) : [];
  const first = networkFilters(confOf);
  const filters = isHttp(protocol) ? httpFilters(namedRulesOf, routes) : [];
  const filtersOf = (isCertified: boolean): JsonObject[] => {
    const permitted = isCertified ? permissions : null;
    if (isHttp(protocol))
      return [...(isCertified ? [clientIdFilter] : []), ...first, http(permitted === null ? [] : [permissionFilter])];
    return [...(permitted === null ? [] : [networkPermission(permitted, name)]), ...first, tcp];
  };
  const http = (filtersFirst: JsonObject[]): JsonObject =>
    httpConnectionManager({
      name,
      protocol,
      direction: 'inbound',
      confOf,
      accessLog: logs,
      tracing: tracerOf(context)?.({ workload: workloadOf(rules.proxy), direction: 'inbound', destination: '' }) ?? null,
      filtersFirst,
      filters,
    });
  const tcp = extension('envoy.filters.network.tcp_proxy', 'extensions.filters.network.tcp_proxy.v3.TcpProxy', {
    statPrefix: name,
    cluster: name,
    ...(logs.length > 0 && { accessLog: logs }),
    ...tcpProxyFields(confOf, 'inbound'),
  });
  config.listeners.set(
    name,
    given({
      name,
      address: socketAddress(address, section.port),
      statPrefix: name,
      ...filterChains(filtersOf, tls, tls === null ? {} : confOf('MeshTLS'), isHttp(protocol) ? null : permissions),
      metadata: { filterMetadata: { 'io.kuma.tags': rules.proxy.labels } },
      trafficDirection: 'INBOUND',
      enableReusePort: features.reusePort,
      bindToPort: isRedirected ? false : undefined,
    }),
  );
  if (isHttp(protocol)) config.routes.set(name, permittedRoutes(name, routes, permissions));
  config.clusters.set(name, {
    ...applicationCluster(name, confOf, { protocol, client: rules.proxy }, application),
    ...(isRedirected && fromOwnSource(application.address)),
  });
}

/**
 * `{filterChains, listenerFilters}`. Without an identity one chain takes plain text. With one, a strict listener takes clients with a
 * certificate of the mesh alone. A permissive one also takes plain text, and TLS that the application itself ends. The inspector knows the
 * server names of clients: with it in every listener, the first rule that names a server replaces none.
 * @param filtersOf the filters of a chain; `isCertified`: its clients have a certificate
 * @param conf MeshTLS in force
 * @param permissions those that a client must have to be connected; null where requests are checked
 */
function filterChains(
  filtersOf: (isCertified: boolean) => JsonObject[],
  tls: ProxyTls | null,
  conf: Conf<'MeshTLS'>,
  permissions: readonly UsableRule<'MeshTrafficPermission'>[] | null,
): JsonObject {
  if (tls === null) return { filterChains: [{ filters: filtersOf(false) }] };
  const clients = permissions === null ? meshClients(tls) : [admittedId(permissions)];
  const certified = { filters: filtersOf(true), transportSocket: serverSocket(tls, tlsParams(conf), clients) };
  const listenerFilters = [TLS_INSPECTOR];
  if (isStrict(tls, conf)) return { filterChains: [certified], listenerFilters };
  const plain = (transportProtocol: string): JsonObject => ({
    filterChainMatch: { transportProtocol },
    filters: filtersOf(false),
  });
  const ofMesh = { filterChainMatch: { transportProtocol: 'tls', applicationProtocols: [MESH_ALPN] }, ...certified };
  return { filterChains: [plain('raw_buffer'), plain('tls'), ofMesh], listenerFilters };
}

/** Whether a port takes clients with a certificate alone. @param conf MeshTLS in force */
function isStrict(tls: ProxyTls, conf: Conf<'MeshTLS'>): boolean {
  return conf.mode !== 'Permissive' && tls.maySayStrict;
}

/**
 * Whether an inbound takes clients with a certificate alone: then other ports of the machine take no connection, since they would be
 * a way around it. A proxy without inbounds is as strict as one with the default.
 */
export function hasStrictInbound({ rules, tls }: InboundContext): boolean {
  if (tls === null) return false;
  const inbounds = rules.proxy.sections.filter(({ kind }) => kind === 'Inbound');
  if (inbounds.length === 0) return isStrict(tls, {});
  return inbounds.some((section) => {
    const usable = usableRules('MeshTLS', rulesOn(rules, 'MeshTLS', section), () => undefined);
    return isStrict(tls, catchAllConf(usable));
  });
}

const TLS_INSPECTOR = extension(
  'envoy.filters.listener.tls_inspector',
  'extensions.filters.listener.tls_inspector.v3.TlsInspector',
);

function rulesOn({ types }: ProxyRules, type: string, section: Section): readonly InboundRule[] {
  const ofType = types.find((candidate) => candidate.type === type);
  return ofType?.inboundRules.find((found) => found.section === section)?.rules ?? [];
}

type RulesOf = <T extends keyof Confs>(type: T) => readonly UsableRule<T>[];

/** The conf of rules where clients cannot differ. */
function commonConf<T extends keyof Confs>(rules: readonly UsableRule<T>[], report: Report): Conf<T> {
  reportMatches(rules, ONE_CONF, report);
  return catchAllConf(rules);
}

/** The routes of an HTTP inbound: one for each group of clients with confs of their own, and the one for everybody. */
function inboundRoutes(
  name: string,
  protocol: Protocol,
  confOf: ConfsInForce,
  byClient: RulesByClient,
  report: Report,
): JsonObject[] {
  const routeOf = (match: JsonObject, confs: ConfsInForce): JsonObject => ({
    match,
    route: { cluster: name, ...routeActionFields(confs, { direction: 'inbound', protocol }) },
    ...inboundRouteFields(confs),
  });
  const own = byClient.clients.map((clients) =>
    routeOf(clientsMatch(clients), (type) => byClient.confOf(type, clients, report) ?? confOf(type)),
  );
  return [...own, routeOf({ prefix: '/' }, confOf)];
}

/** @param permissions null in plain text: nothing says who a client is */
function permittedRoutes(
  name: string,
  routes: readonly JsonObject[],
  permissions: readonly UsableRule<'MeshTrafficPermission'>[] | null,
): JsonObject {
  const permission = permissions === null ? {} : httpPermission(permissions);
  return routeConfiguration(name, routes, { requestHeadersToRemove: ['x-kuma-tags'], ...permission });
}

/** The loggers of each match, and those of the rules without one. */
function accessLogsOf(rules: readonly UsableRule<'MeshAccessLog'>[], context: LogContext): JsonObject[] {
  const matched = rules.flatMap(({ match, conf }) => (match === null ? [] : accessLoggers(conf, context, clientFilter(match))));
  return [...matched, ...accessLoggers(catchAllConf(rules), context)];
}

/** In plaintext nothing says who the client is. */
function logContext(context: TelemetryContext, { section, address, protocol }: Inbound): LogContext {
  const { proxy } = context.rules;
  return {
    mesh: proxy.resource.mesh,
    zone: proxy.zone,
    source: 'unknown',
    destination: proxy.kri + section.section,
    address,
    direction: 'INBOUND',
    isHttp: isHttp(protocol),
    workload: workloadOf(proxy),
    tcpPipe: context.features.tcpLogPipe,
    collector: (openTelemetry) => logCollector(context, openTelemetry),
  };
}

function workloadOf({ labels, displayName }: DataplaneProxy): string {
  return labels[label.workload] ?? displayName;
}
