// The listeners to which a machine redirects connections, and where those go that no other listener has (xds 3.5, decision 62). An
// inbound or an outbound gets its connections from these listeners; the rest passes to where it was going, as MeshPassthrough says.
import { policiesInForce } from '../policy/effective-conf.ts';
import { label } from '../resource/labels.ts';
import type { Conf } from '../policies/confs.ts';
import type { JsonObject } from '../resource/types.ts';
import { accessLoggers } from '../policies/mesh-access-log/envoy.ts';
import { emptyCluster, originalDestination } from './cluster.ts';
import { httpConnectionManager } from './http-connection.ts';
import { noDestinationName, passthroughName } from './names.ts';
import type { ProxyConfig, ProxyContext } from './proxy-context.ts';
import { passthroughChains, unreadPorts, type HttpTarget, type PassthroughChain } from './passthrough-chains.ts';
import { extension, given, socketAddress } from '../envoy/proto-json.ts';
import { proxyAddress } from './proxy-address.ts';
import { portSharing } from './proxy-features.ts';
import { confOf } from './conf-of.ts';
import { NO_CONFS } from '../policies/parts.ts';
import { logCollector } from './telemetry.ts';
import { fromOwnSource } from './transparent-proxying.ts';
import { transparentProxying, type TransparentProxying } from '../policy/transparent-proxying.ts';
import { reportTo, usablePolicies, type Report } from './usable-policies.ts';
import { wholeProxyConf } from './whole-proxy-conf.ts';

/** Without a MeshPassthrough everything may leave. */
const WITHOUT_POLICY: Conf<'MeshPassthrough'> = { passthroughMode: 'All' };
/** As long as TCP that passes. */
const IDLE = '3600s';
const NOT_PERMITTED = 'No match of the MeshPassthrough of this proxy has this domain.\n';
const ANY_ADDRESS = { 4: '0.0.0.0', 6: '::' } as const;
const TO_HTTP: Readonly<Record<HttpTarget, string>> = { http: 'meshpassthrough_http', http2: 'meshpassthrough_http2' };

/** @param isClosed connections to ports of the machine that are no inbound are refused */
export function addPassthrough(config: ProxyConfig, context: ProxyContext, isClosed: boolean): void {
  const { rules, features } = context;
  const transparent = transparentProxying(rules.proxy.resource);
  if (transparent === null) return;
  const report = reportTo(config.problems);
  const { inboundPort, outboundPort } = checked(transparent, report);
  const conf = passthroughConf(context, report);
  for (const version of transparent.families ?? (features.ipv6 ? ([4, 6] as const) : ([4] as const))) {
    if (inboundPort !== null) addInboundListener(config, version, inboundPort, { isClosed, reusePort: features.reusePort });
    if (outboundPort !== null) addOutboundListener(config, context, version, outboundPort, conf);
  }
}

function checked(
  { inboundPort, outboundPort }: TransparentProxying,
  report: Report,
): Pick<TransparentProxying, 'inboundPort' | 'outboundPort'> {
  if (inboundPort !== outboundPort) return { inboundPort, outboundPort };
  const field = 'networking.transparentProxying.redirectPortOutbound';
  report({ policy: null, field, reason: 'has no listener: it is the port of redirectPortInbound' });
  return { inboundPort, outboundPort: null };
}

/** MeshPassthrough in force. */
function passthroughConf({ rules }: ProxyContext, report: Report): Conf<'MeshPassthrough'> {
  const found = wholeProxyConf(rules, 'MeshPassthrough');
  for (const problem of found?.problems ?? []) report(problem);
  return found?.conf ?? WITHOUT_POLICY;
}

function addInboundListener(
  config: ProxyConfig,
  version: 4 | 6,
  port: number,
  { isClosed, reusePort }: { readonly isClosed: boolean; readonly reusePort: boolean },
): void {
  const name = passthroughName('inbound', version);
  const nowhere = noDestinationName('inbound');
  if (isClosed) config.clusters.set(nowhere, emptyCluster(nowhere));
  else config.clusters.set(name, { ...originalDestination(name), ...fromOwnSource(ANY_ADDRESS[version]) });
  const filters = [tcpProxy(name, isClosed ? nowhere : name)];
  config.listeners.set(name, {
    ...listener(name, version, port, [{ filters }, ...(isClosed ? [] : [chainToItself(config, 'inbound', name, port)])]),
    trafficDirection: 'INBOUND',
    enableReusePort: reusePort,
  });
}

function addOutboundListener(
  config: ProxyConfig,
  context: ProxyContext,
  version: 4 | 6,
  port: number,
  conf: Conf<'MeshPassthrough'>,
): void {
  const name = passthroughName('outbound', version);
  const mode = conf.passthroughMode ?? 'Matched';
  const chains = mode === 'Matched' ? passthroughChains(conf, version) : [];
  const accessLog = loggers(context, false);
  const sharing = portSharing(context.features);
  if (chains.length === 0) {
    const to = mode === 'All' ? name : noDestinationName('outbound');
    config.clusters.set(to, mode === 'All' ? originalDestination(to) : emptyCluster(to));
    const filters = [tcpProxy(name, to, accessLog)];
    const filterChains = [{ filters }, ...(mode === 'All' ? [chainToItself(config, 'outbound', name, port)] : [])];
    config.listeners.set(name, { ...listener(name, version, port, filterChains), trafficDirection: 'OUTBOUND', ...sharing });
    return;
  }
  const filterChains = chains.map((chain) => ({
    name: chain.name,
    filterChainMatch: chain.match,
    filters: [chain.hosts === null ? tcpProxy(statName(chain.name), name, accessLog) : httpFilter(config, context, chain)],
  }));
  if (chains.some(({ hosts }) => hosts === null)) config.clusters.set(name, originalDestination(name));
  const isNamed = chains.some(({ match }) => match['destinationPort'] === port);
  const toItself = isNamed ? [] : [chainToItself(config, 'outbound', name, port)];
  config.listeners.set(name, {
    ...listener(name, version, port, [...filterChains, ...toItself]),
    listenerFilters: inspectors(unreadPorts(conf)),
    trafficDirection: 'OUTBOUND',
    ...sharing,
  });
}

/** Closes connections that were made to the port of the listener. One that passed would come back, up to the limit of the cluster. */
function chainToItself(config: ProxyConfig, direction: 'inbound' | 'outbound', listener: string, port: number): JsonObject {
  const nowhere = noDestinationName(direction);
  config.clusters.set(nowhere, emptyCluster(nowhere));
  return { name: 'to_itself', filterChainMatch: { destinationPort: port }, filters: [tcpProxy(listener, nowhere)] };
}

function listener(name: string, version: 4 | 6, port: number, filterChains: JsonObject[]): JsonObject {
  const address = socketAddress(ANY_ADDRESS[version], port);
  return { name, address, statPrefix: name, filterChains, useOriginalDst: true };
}

/** The destination comes first: which ports are not read depends on it. */
function inspectors(unread: readonly number[]): JsonObject[] {
  const ranges = unread.map((port) => ({ destinationPortRange: { start: port, end: port + 1 } }));
  const [first] = ranges;
  const filterDisabled = ranges.length > 1 ? { orMatch: { rules: ranges } } : first;
  const inspector = (name: string, type: string): JsonObject =>
    given({ ...extension(`envoy.filters.listener.${name}`, `extensions.filters.listener.${name}.v3.${type}`), filterDisabled });
  return [
    extension('envoy.filters.listener.original_dst', 'extensions.filters.listener.original_dst.v3.OriginalDst'),
    inspector('tls_inspector', 'TlsInspector'),
    inspector('http_inspector', 'HttpInspector'),
  ];
}

function tcpProxy(statPrefix: string, cluster: string, accessLog: readonly JsonObject[] = []): JsonObject {
  return extension('envoy.filters.network.tcp_proxy', 'extensions.filters.network.tcp_proxy.v3.TcpProxy', {
    statPrefix,
    cluster,
    ...(accessLog.length > 0 && { accessLog: [...accessLog] }),
  });
}

function httpFilter(config: ProxyConfig, context: ProxyContext, { name, hosts }: PassthroughChain): JsonObject {
  const virtualHosts = (hosts ?? []).map(({ domain, target }) => {
    const match = { prefix: '/' };
    if (target === null)
      return {
        name: domain,
        domains: [domain],
        routes: [{ match, directResponse: { status: 503, body: { inlineString: NOT_PERMITTED } } }],
      };
    const cluster = TO_HTTP[target];
    config.clusters.set(cluster, originalDestination(cluster, target));
    return { name: domain, domains: [domain], routes: [{ match, route: { cluster, timeout: '0s', idleTimeout: IDLE } }] };
  });
  config.routes.set(name, { name, virtualHosts, ignorePortInHostMatching: true, validateClusters: false });
  return httpConnectionManager({
    name: statName(name),
    routes: name,
    protocol: 'http',
    direction: 'egress',
    confOf: NO_CONFS,
    accessLog: loggers(context, true),
    tracing: null,
    filtersFirst: [],
    filters: [],
  });
}

/** MeshAccessLog for all destinations. */
function loggers(context: ProxyContext, isHttp: boolean): JsonObject[] {
  const { index, rules, features } = context;
  const { proxy } = rules;
  const mesh = index.kriOf(index.meshResource());
  const policies = usablePolicies(policiesInForce(rules, { base: '', section: '', mesh }), () => undefined);
  const workload = proxy.labels[label.workload] ?? proxy.displayName;
  return accessLoggers(confOf(policies, 'MeshAccessLog'), {
    mesh: proxy.resource.mesh,
    zone: proxy.zone,
    source: workload,
    destination: 'passthrough',
    address: proxyAddress(proxy.resource),
    direction: 'OUTBOUND',
    isHttp,
    workload,
    tcpPipe: features.tcpLogPipe,
    collector: (openTelemetry) => logCollector(context, openTelemetry),
  });
}

/** Dots separate the parts of a statistic. */
function statName(name: string): string {
  return name.replace(/[^\w-]/g, '_');
}
