// The common parts of the filter chains of zone listeners (xds 5).
import type { Section } from '../policy/dataplane-proxy.ts';
import { catchAllConf } from '../policy/inbound-rules.ts';
import { label } from '../resource/labels.ts';
import type { JsonObject } from '../resource/types.ts';
import { accessLoggers, clientFilter, type OpenTelemetryLog } from '../policies/mesh-access-log/envoy.ts';
import { proxyAddress } from './proxy-address.ts';
import { extension, given } from '../envoy/proto-json.ts';
import type { ProxyTls } from './proxy-tls.ts';
import { tcpProxyFields } from '../policies/parts.ts';
import { logCollector, type TelemetryContext } from './telemetry.ts';
import type { Report } from './usable-policies.ts';
import type { ListenerRules } from './zone-rules.ts';

/** The input of the configuration of a zone proxy. */
export type ZoneContext = TelemetryContext & { readonly tls: ProxyTls | null };

/** A listener of a zone proxy, and the policies in force on it. */
export type ZoneListener = {
  readonly section: Section;
  /** Its name, and its prefix in statistics. */
  readonly name: string;
  /** Of the Dataplane. */
  readonly field: string;
  readonly rules: ListenerRules;
  readonly report: Report;
};

/** The subject of one chain. */
export type Chain = {
  /** Its server names; empty: those of ports without rules of their own. */
  readonly snis: readonly string[];
  readonly statPrefix: string;
  readonly cluster: string;
  /** The port, as access logs name it. */
  readonly destination: string;
};

/** The access loggers of a chain: each rule for its port logs by itself, and on an egress each rule for a client. */
export function chainLoggers(
  context: TelemetryContext,
  { rules, section }: ZoneListener,
  { snis, destination }: Chain,
  isHttp: boolean,
): JsonObject[] {
  const { proxy } = context.rules;
  const { byClient, named, common } = rules.chain('MeshAccessLog', snis);
  // An ingress does not end TLS: it cannot identify clients.
  const ofClients = section.kind === 'ZoneEgress' ? byClient : [];
  const log = {
    mesh: proxy.resource.mesh,
    zone: proxy.zone,
    source: 'unknown',
    destination,
    address: proxyAddress(proxy.resource),
    direction: 'INBOUND',
    isHttp,
    workload: workloadOf(context),
    tcpPipe: context.features.tcpLogPipe,
    collector: (openTelemetry: OpenTelemetryLog) => logCollector(context, openTelemetry),
  } as const;
  return [
    ...ofClients.flatMap(({ match, conf }) => accessLoggers(conf, log, match === null ? null : clientFilter(match))),
    ...[...named.map(({ conf }) => conf), catchAllConf(common)].flatMap((conf) => accessLoggers(conf, log)),
  ];
}

/** The workload of the zone proxy. */
export function workloadOf({ rules }: Pick<TelemetryContext, 'rules'>): string {
  return rules.proxy.labels[label.workload] ?? rules.proxy.displayName;
}

/** The last filter of a chain that passes bytes. */
export function chainTcpProxy(context: TelemetryContext, listener: ZoneListener, chain: Chain): JsonObject {
  const accessLog = chainLoggers(context, listener, chain, false);
  const direction = listener.section.kind === 'ZoneEgress' ? 'egress' : 'ingress';
  return extension(
    'envoy.filters.network.tcp_proxy',
    'extensions.filters.network.tcp_proxy.v3.TcpProxy',
    given({
      statPrefix: chain.statPrefix,
      cluster: chain.cluster,
      ...tcpProxyFields(listener.rules.confsOf(chain.snis), direction),
      ...(accessLog.length > 0 && { accessLog, accessLogOptions: { flushAccessLogOnConnected: true } }),
    }),
  );
}
