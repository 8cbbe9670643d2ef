// MeshTrace: the spans of requests, on every HTTP listener of a proxy, and the cluster of the collector that gets them (xds 3.3).
import { isIP } from 'node:net';
import type { Conf } from '../policies/confs.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { backendCluster, clusterOfCollector, collectorCluster, type Collector } from './open-telemetry.ts';
import { originAttributes, type Origin } from '../envoy/origin-attributes.ts';
import { decimal, given, typed } from '../envoy/proto-json.ts';

type TraceConf = Conf<'MeshTrace'>;
type WrittenBackend = NonNullable<TraceConf['backends']>[number];
type Zipkin = NonNullable<WrittenBackend['zipkin']>;
type Datadog = NonNullable<WrittenBackend['datadog']>;
type Tag = NonNullable<TraceConf['tags']>[number];

/** Where a collector is that is known by its URL. */
export type CollectorPlace = {
  readonly url: URL;
  /** File of the authorities of its certificate; null: it speaks plain text. */
  readonly authorities: string | null;
};

/** A collector of spans. */
export type TraceBackend =
  | ({ readonly type: 'Zipkin'; readonly conf: Zipkin } & CollectorPlace)
  | ({ readonly type: 'Datadog'; readonly conf: Datadog } & CollectorPlace)
  | { readonly type: 'OpenTelemetry'; readonly collector: Collector };

/** Which connections of a proxy are traced. */
export type TracedWay = Pick<Origin, 'workload'> & {
  readonly direction: 'inbound' | 'outbound' | 'egress';
  /** Display name of the called service; `''` on an inbound. */
  readonly destination: string;
};

export type TracedConnection = TracedWay & Origin;

const SYSTEM = 'system_meshtrace';
const TIMEOUT = '10s';
const CONFIG = 'config.trace.v3';

/** The parts of a URL of a conf; null for one that no proxy can send to. */
export function collectorUrl(text: string): URL | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  return (url.protocol === 'http:' || url.protocol === 'https:') && url.hostname !== '' ? url : null;
}

function clusterName(backend: TraceBackend): string {
  if (backend.type === 'OpenTelemetry') return collectorCluster('meshtrace', backend.collector);
  return `${SYSTEM}_${backend.type.toLowerCase()}`;
}

/** The cluster of a collector. */
export function traceCluster(backend: TraceBackend): JsonObject {
  const name = clusterName(backend);
  if (backend.type === 'OpenTelemetry') return clusterOfCollector(name, backend.collector);
  const { url, authorities } = backend;
  const host = bare(url.hostname);
  const cluster = backendCluster(name, { address: host, port: Number(url.port) || (authorities === null ? 80 : 443) });
  return authorities === null ? cluster : { ...cluster, transportSocket: tlsTo(host, authorities) };
}

/** Envoy compares no name by itself: without one it would take the certificate of any host. */
function tlsTo(host: string, filename: string): JsonObject {
  const names = [{ sanType: isIP(host) === 0 ? 'DNS' : 'IP_ADDRESS', matcher: { exact: host } }];
  return {
    name: 'envoy.transport_sockets.tls',
    typedConfig: typed('extensions.transport_sockets.tls.v3.UpstreamTlsContext', {
      sni: host,
      commonTlsContext: { validationContext: { trustedCa: { filename }, matchTypedSubjectAltNames: names } },
    }),
  };
}

/** `tracing` of an HTTP connection manager. @param conf MeshTrace in force */
export function tracing(
  { sampling: { client, random, overall } = {}, tags: written = [] }: TraceConf,
  backend: TraceBackend,
  connection: TracedConnection,
): JsonObject {
  const tags = written.flatMap(customTag);
  const names = new Set(tags.map(({ tag }) => tag));
  const own = originAttributes(connection).flatMap(([tag, value]) => (names.has(tag) ? [] : [{ tag, literal: { value } }]));
  return given({
    clientSampling: percent(client),
    randomSampling: percent(random),
    overallSampling: percent(overall),
    customTags: [...tags, ...own],
    provider: provider(backend, connection),
  });
}

function percent(value: Json | undefined): JsonObject {
  return { value: decimal(value) ?? 100 };
}

/** Envoy takes no empty text. */
function customTag({ name: tag, literal = '', header }: Tag): (JsonObject & { tag: string })[] {
  if (literal !== '') return [{ tag, literal: { value: literal } }];
  if (header === undefined || header.name === '') return [];
  return [{ tag, requestHeader: given({ name: header.name, defaultValue: header.default }) }];
}

function provider(backend: TraceBackend, connection: TracedConnection): JsonObject {
  const cluster = clusterName(backend);
  switch (backend.type) {
    case 'Zipkin':
      return named('zipkin', 'ZipkinConfig', zipkin(cluster, backend.url, backend.conf));
    case 'Datadog':
      return named('datadog', 'DatadogConfig', {
        collectorCluster: cluster,
        serviceName: datadogService(backend.conf, connection),
        collectorHostname: backend.url.host,
      });
    case 'OpenTelemetry':
      return named('opentelemetry', 'OpenTelemetryConfig', {
        ...exporter(cluster, backend.collector),
        serviceName: connection.workload,
      });
  }
}

function named(name: string, message: string, config: JsonObject): JsonObject {
  return { name: `envoy.tracers.${name}`, typedConfig: typed(`${CONFIG}.${message}`, config) };
}

function zipkin(collector: string, url: URL, { apiVersion, sharedSpanContext, traceId128bit }: Zipkin): JsonObject {
  return given({
    collectorCluster: collector,
    collectorEndpoint: url.pathname + url.search,
    collectorHostname: url.host,
    collectorEndpointVersion: apiVersion === 'httpProto' ? 'HTTP_PROTO' : 'HTTP_JSON',
    sharedSpanContext,
    traceId128bit: traceId128bit ? true : undefined,
  });
}

/** `backend`, or `backend_INBOUND` and `backend_OUTBOUND_db` where inbound and outbound are services of their own. */
function datadogService({ splitService }: Datadog, { workload, direction, destination }: TracedConnection): string {
  // An egress has one service for all: it is between two.
  if (!splitService || direction === 'egress') return workload;
  return direction === 'inbound' ? `${workload}_INBOUND` : `${workload}_OUTBOUND_${destination}`;
}

/** A program beside the proxy takes gRPC alone. */
function exporter(cluster: string, { protocol, pipe, address, port, path }: Collector): JsonObject {
  if (pipe !== null || protocol === 'grpc') return { grpcService: { envoyGrpc: { clusterName: cluster } } };
  const host = address.includes(':') ? `[${address}]` : address;
  return {
    httpService: { httpUri: { uri: `http://${host}:${String(port)}${path}/v1/traces`, cluster, timeout: TIMEOUT } },
  };
}

function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}
