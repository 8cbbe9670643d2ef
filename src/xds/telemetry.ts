// Traces, metrics and collectors of a proxy: the clusters and listeners of its own telemetry (MeshTrace, MeshMetric and the OpenTelemetry
// backends of MeshAccessLog; xds 3.3, 3.4).
import type { ProxyRules } from '../policy/build-rules.ts';
import type { Conf } from '../policies/confs.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import type { Policy } from '../policy/parse-policy.ts';
import { COLLECTOR_ENDPOINT_FORM } from '../schema/collector-endpoint.ts';
import { displayNameOf, label } from '../resource/labels.ts';
import { objectsOf, textOf } from '../resource/read-json.ts';
import type { ConfSection } from '../validation/check-conf.ts';
import type { JsonObject } from '../resource/types.ts';
import { dnsDocument, dnsFormOf, documentsListener, type CompanionDocument } from './companion-documents.ts';
import { fieldOf, problemIn } from './config-problem.ts';
import { metricsCluster, metricsDocument, metricsListener, metricsSource, prometheusBackends } from './metrics.ts';
import {
  clusterOfCollector,
  collectorCluster,
  collectorOf,
  collectorNameOf,
  type Collector,
  type CollectorName,
} from './open-telemetry.ts';
import type { OpenTelemetryLog } from '../policies/mesh-access-log/envoy.ts';
import { proxyAddress } from './proxy-address.ts';
import type { ProxyConfig, ProxyContext } from './proxy-context.ts';
import type { ProxyFeatures } from './proxy-features.ts';
import { wholeProxyConf } from './whole-proxy-conf.ts';
import { collectorUrl, traceCluster, tracing, type CollectorPlace, type TraceBackend, type TracedWay } from './tracing.ts';

export type TelemetryContext = { readonly index: MeshIndex; readonly rules: ProxyRules; readonly features: ProxyFeatures };

/** How the connections of a proxy are traced; null where they are not. */
export type Tracer = (way: TracedWay) => JsonObject;

const NO_COLLECTOR = 'names no MeshOpenTelemetryBackend';
const UNREACHABLE = 'names no collector that the proxy can reach';
const NO_AUTHORITIES =
  'gets no spans: the proxy names no file of authorities, so it cannot check the certificate of the collector';
const TAKEN_NAME = 'has no effect: kuma-dp knows collectors by display name, and another MeshOpenTelemetryBackend has this one';
const OLD_ADDRESS = 'has no effect: kuma-dp sends metrics to a MeshOpenTelemetryBackend alone';

/** The tracer in force. */
export function tracerOf(context: TelemetryContext): Tracer | null {
  const found = wholeProxyConf(context.rules, 'MeshTrace');
  const backend = found === null ? UNREACHABLE : traceBackend(context, found.conf);
  if (found === null || typeof backend === 'string') return null;
  const { proxy } = context.rules;
  const { mesh } = proxy.resource;
  return (way) => tracing(found.conf, backend, { ...way, mesh, zone: proxy.zone });
}

/** Conf has one backend at most. @returns the reason where the proxy sends nothing to it */
function traceBackend(context: TelemetryContext, { backends: [backend] = [] }: Conf<'MeshTrace'>): TraceBackend | string {
  const { type, zipkin, datadog, openTelemetry } = backend ?? {};
  if (type === 'Zipkin' && zipkin !== undefined) return atUrl(context.features, { type, conf: zipkin });
  if (type === 'Datadog' && datadog !== undefined) return atUrl(context.features, { type, conf: datadog });
  if (type !== 'OpenTelemetry' || openTelemetry === undefined) return UNREACHABLE;
  const collector = collectorFor(context, openTelemetry);
  return collector === null ? UNREACHABLE : { type, collector };
}

function atUrl<B extends { readonly conf: { readonly url: string } }>(
  { systemCa }: Pick<ProxyFeatures, 'systemCa'>,
  backend: B,
): (B & CollectorPlace) | string {
  const url = collectorUrl(backend.conf.url);
  if (url === null) return UNREACHABLE;
  const isTls = url.protocol === 'https:';
  if (isTls && systemCa === null) return NO_AUTHORITIES;
  return { ...backend, url, authorities: isTls ? systemCa : null };
}

/** Loggers, clusters and spans of a proxy have one place: a merged conf does not know where its references were written. */
function collectorFor({ index, rules, features }: TelemetryContext, named: CollectorName): Collector | null {
  return collectorOf(index, named, rules.proxy, rules.proxy.zone, features);
}

/**
 * The cluster of the collector of an access log; null where there is none that the proxy can send to.
 * @param openTelemetry of the backend
 */
export function logCollector(context: TelemetryContext, openTelemetry: OpenTelemetryLog): string | null {
  const collector = collectorFor(context, openTelemetry);
  return collector === null || !takesLogs(collector) ? null : collectorCluster('meshaccesslog', collector);
}

/** Envoy sends access logs by gRPC alone. */
function takesLogs({ pipe, protocol }: Collector): boolean {
  return pipe !== null || protocol === 'grpc';
}

/** Adds the clusters and listeners of the proxy's own telemetry, and the documents of kuma-dp. */
export function addTelemetry(config: ProxyConfig, context: TelemetryContext & Pick<ProxyContext, 'names'>): void {
  const documents: CompanionDocument[] = [];
  const collectors = new Map<string, JsonObject>();
  addTraceCluster(config, context, collectors);
  addLogClusters(config, context, collectors);
  addMetrics(config, context, documents, collectors);
  const { companion, companionDns } = context.features;
  if (companion === null) return;
  if (collectors.size > 0) documents.push({ kind: 'otel', content: { backends: [...collectors.values()] } });
  if (companionDns) documents.push(dnsDocument(context.names.values(), dnsFormOf(context.rules.proxy)));
  if (documents.length === 0) return;
  const listener = documentsListener(companion, documents);
  config.listeners.set(textOf(listener['name']), listener);
}

function addTraceCluster(config: ProxyConfig, context: TelemetryContext, collectors: Map<string, JsonObject>): void {
  const found = wholeProxyConf(context.rules, 'MeshTrace');
  config.problems.push(...(found?.problems ?? []));
  if (found === null || (found.conf.backends ?? []).length === 0) return;
  const backend = traceBackend(context, found.conf);
  if (typeof backend === 'string') {
    config.problems.push(problemIn(found.contributions, 'default', 'backends[0]', backend));
    return;
  }
  if (backend.type === 'OpenTelemetry') noteForCompanion(collectors, backend.collector, 'traces');
  const cluster = traceCluster(backend);
  config.clusters.set(textOf(cluster['name']), cluster);
}

/** A cluster for each collector that an access log of a matching policy names: any listener may log there. */
function addLogClusters(config: ProxyConfig, context: TelemetryContext, collectors: Map<string, JsonObject>): void {
  const { index, rules } = context;
  const { proxy } = rules;
  const policies = [...index.shared('MeshAccessLog', proxy), ...index.matching('MeshAccessLog', proxy).selected.keys()];
  for (const policy of policies)
    for (const { field, openTelemetry } of collectorsIn(policy)) {
      const collector = collectorFor(context, openTelemetry);
      if (collector === null || !takesLogs(collector)) {
        config.problems.push({ policy: policy.kri, ...whyNoLogs(field, collector, openTelemetry) });
        continue;
      }
      const name = collectorCluster('meshaccesslog', collector);
      noteForCompanion(collectors, collector, 'logs');
      config.clusters.set(name, clusterOfCollector(name, collector));
    }
}

/** An old address that cannot be read has the problem that its listener reports. */
function whyNoLogs(field: string, collector: Collector | null, { backendRef }: CollectorName): { field: string; reason: string } {
  if (collector !== null) return { field, reason: 'names a collector of protocol http: access logs are sent by grpc' };
  if (backendRef !== undefined) return { field, reason: NO_COLLECTOR };
  return { field: `${field}.endpoint`, reason: `must be ${COLLECTOR_ENDPOINT_FORM}` };
}

const known = new WeakMap<Policy, readonly { field: string; openTelemetry: CollectorName }[]>();

/** The OpenTelemetry backends of a MeshAccessLog. */
export function collectorsIn(policy: Policy): readonly { field: string; openTelemetry: CollectorName }[] {
  let found = known.get(policy);
  if (found === undefined) {
    const sections: readonly (readonly [ConfSection, readonly { index: number; conf: JsonObject }[]])[] = [
      ['to', policy.to],
      ['rules', policy.rules],
      ['from', policy.from],
    ];
    found = sections.flatMap(([section, items]) =>
      items.flatMap(({ index, conf }) =>
        objectsOf(conf['backends']).flatMap(({ type, openTelemetry }, at) =>
          type === 'OpenTelemetry'
            ? [
                {
                  field: fieldOf(section, index, `backends[${String(at)}].openTelemetry`),
                  openTelemetry: collectorNameOf(openTelemetry),
                },
              ]
            : [],
        ),
      ),
    );
    known.set(policy, found);
  }
  return found;
}

/** @param more of the signal */
function noteForCompanion(
  collectors: Map<string, JsonObject>,
  collector: Collector,
  signal: 'logs' | 'traces' | 'metrics',
  more: JsonObject = {},
): void {
  const { pipe, name, address, port, path, protocol } = collector;
  if (pipe === null) return;
  const noted = collectors.get(name) ?? {
    name,
    socketPath: pipe,
    endpoint: `${address.includes(':') ? `[${address}]` : address}:${String(port)}`,
    useHTTP: protocol === 'http',
    ...(path !== '' && { path }),
  };
  collectors.set(name, { ...noted, [signal]: { enabled: true, ...more } });
}

function addMetrics(
  config: ProxyConfig,
  context: TelemetryContext,
  documents: CompanionDocument[],
  collectors: Map<string, JsonObject>,
): void {
  const { rules, features } = context;
  const found = wholeProxyConf(rules, 'MeshMetric');
  if (found === null) return;
  config.problems.push(...found.problems);
  const { proxy } = rules;
  const { conf, contributions } = found;
  const refuse = (path: string, reason: string): void => {
    config.problems.push(problemIn(contributions, 'default', path, reason));
  };
  const { mesh } = proxy.resource;
  const source = metricsSource(features, { mesh, name: proxy.displayName });
  const backends = prometheusBackends(conf);
  if (source === null) {
    if (backends.length > 0) refuse('backends', 'has no effect on a proxy whose metadata names no admin socket');
    return;
  }
  const ports = new Set<number>();
  for (const { name, prometheus } of backends) {
    const port = prometheus.port;
    if (ports.has(port) || config.listeners.has(name)) {
      refuse('backends', `has two Prometheus backends of port ${String(port)} or of one client: the first one has its listener`);
      continue;
    }
    ports.add(port);
    const mode = prometheus.tls?.mode;
    const tls = mode === 'ProvidedTLS' ? features.metricsCertificate : null;
    if (mode === 'ActiveMTLSBackend' || (mode === 'ProvidedTLS' && tls === null)) {
      refuse('backends', `has no listener: the proxy has no certificate for tls.mode ${mode}`);
      continue;
    }
    const address = proxyAddress(proxy.resource);
    config.listeners.set(name, metricsListener(name, { prometheus, sidecar: conf.sidecar }, source, address, features, tls));
    config.clusters.set(name, metricsCluster(name, source));
  }
  if (!source.isCompanion) {
    for (const path of needsCompanion(conf)) refuse(path, 'has no effect: it needs kuma-dp beside the proxy');
    return;
  }
  const workload = proxy.labels[label.workload] ?? displayNameOf(proxy.resource);
  documents.push({ kind: 'meshmetric', content: metricsDocument(conf, { mesh, zone: proxy.zone, workload }) });
  for (const [at, { type, openTelemetry }] of (conf.backends ?? []).entries()) {
    if (type !== 'OpenTelemetry' || openTelemetry === undefined) continue;
    const collector = collectorFor(context, openTelemetry);
    const { backendRef, refreshInterval } = openTelemetry;
    if (collector === null) refuse(`backends[${String(at)}].openTelemetry`, NO_COLLECTOR);
    else if (collector.pipe === null)
      refuse(`backends[${String(at)}].openTelemetry`, backendRef === undefined ? OLD_ADDRESS : TAKEN_NAME);
    else noteForCompanion(collectors, collector, 'metrics', refreshInterval === undefined ? {} : { refreshInterval });
  }
}

/** The parts that Envoy cannot do by itself. */
function needsCompanion({ applications = [], sidecar, backends = [] }: Conf<'MeshMetric'>): string[] {
  const parts = {
    applications: applications.length > 0,
    'sidecar.profiles': sidecar?.profiles !== undefined,
    backends: backends.some(({ type }) => type === 'OpenTelemetry'),
  };
  return Object.entries(parts).flatMap(([path, isGiven]) => (isGiven ? [path] : []));
}
