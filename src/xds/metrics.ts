// MeshMetric: the port on which a proxy offers its metrics (xds 3.3). With kuma-dp the port leads to the socket of kuma-dp, which reads its
// metrics from a document. Without it the port leads to Envoy's own metrics.
import type { Conf } from '../policies/confs.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { backendCluster } from './open-telemetry.ts';
import { extension, given, socketAddress, typed } from '../envoy/proto-json.ts';
import type { ProxyFeatures } from './proxy-features.ts';

type MetricConf = Conf<'MeshMetric'>;
type Prometheus = NonNullable<NonNullable<MetricConf['backends']>[number]['prometheus']>;

const SYSTEM = 'system_meshmetric_prometheus';
const DEFAULT_NAME = 'default-backend';
const METRICS_OF_ENVOY = '/stats/prometheus';

/** Where the metrics are. */
export type MetricsSource = {
  readonly pipe: string;
  /** Whether kuma-dp answers, or Envoy itself. */
  readonly isCompanion: boolean;
};

/** Names of the proxy in the labels of its metrics. */
export type MetricsOwner = { readonly mesh: string; readonly zone: string; readonly workload: string };

/** The source of the metrics of a proxy; null for a proxy that has none. */
export function metricsSource(
  { companion, adminSocket }: Pick<ProxyFeatures, 'companion' | 'adminSocket'>,
  { mesh, name }: { mesh: string; name: string },
): MetricsSource | null {
  if (companion !== null) return { pipe: `${companion}/kuma-mh-${name}-${mesh}.sock`, isCompanion: true };
  return adminSocket === null ? null : { pipe: adminSocket, isCompanion: false };
}

/** The Prometheus backends of a conf, each with the name of its listener and cluster. */
export function prometheusBackends({ backends = [] }: MetricConf): { name: string; prometheus: Prometheus }[] {
  return backends.flatMap(({ type, prometheus }) =>
    type === 'Prometheus' && prometheus !== undefined
      ? [{ name: `${SYSTEM}_${prometheus.clientId || DEFAULT_NAME}`, prometheus }]
      : [],
  );
}

/** The cluster of a Prometheus backend. */
export function metricsCluster(name: string, { pipe }: MetricsSource): JsonObject {
  const { circuitBreakers: _limits, ...cluster } = backendCluster(name, { pipe });
  return cluster;
}

/**
 * The listener of a Prometheus backend.
 * @param address of the proxy
 * @param tls files of the certificate; null for plain text
 */
export function metricsListener(
  name: string,
  { prometheus: { path, port }, sidecar }: { readonly prometheus: Prometheus; readonly sidecar: MetricConf['sidecar'] },
  source: MetricsSource,
  address: string,
  features: Pick<ProxyFeatures, 'reusePort'>,
  tls: ProxyFeatures['metricsCertificate'],
): JsonObject {
  const route = source.isCompanion
    ? { match: { prefix: path }, route: { cluster: name, prefixRewrite: '/meshmetric' } }
    : envoyMetricsRoute(name, path, sidecar?.includeUnused === true);
  return given({
    name,
    address: socketAddress(address, port),
    statPrefix: name,
    filterChains: [
      given({
        filters: [localManager(name, { virtualHosts: [{ name, domains: ['*'], routes: [route] }], validateClusters: false })],
        transportSocket: tls === null ? undefined : serverTls(tls),
      }),
    ],
    trafficDirection: 'INBOUND',
    enableReusePort: features.reusePort,
  });
}

/**
 * The route to Envoy's own metrics. They are a page of the admin interface, which can end the Envoy and shows its configuration. Invariant:
 * no request opens another page. The match is the whole path, because the admin interface resolves `..`.
 */
function envoyMetricsRoute(cluster: string, path: string, includeUnused: boolean): JsonObject {
  const page = includeUnused ? METRICS_OF_ENVOY : `${METRICS_OF_ENVOY}?usedonly`;
  return {
    match: { path, headers: [{ name: ':method', stringMatch: { exact: 'GET' } }] },
    route: { cluster, prefixRewrite: page },
  };
}

function serverTls({ certificate, key }: { readonly certificate: string; readonly key: string }): JsonObject {
  const files = { certificateChain: { filename: certificate }, privateKey: { filename: key } };
  return extension('envoy.transport_sockets.tls', 'extensions.transport_sockets.tls.v3.DownstreamTlsContext', {
    commonTlsContext: { tlsCertificates: [files] },
  });
}

/** An HTTP connection manager of a listener that serves the proxy itself. */
export function localManager(name: string, routeConfig: JsonObject): JsonObject {
  return extension(
    'envoy.filters.network.http_connection_manager',
    'extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
    {
      statPrefix: name,
      routeConfig,
      httpFilters: [{ name: 'envoy.filters.http.router', typedConfig: typed('extensions.filters.http.router.v3.Router') }],
      internalAddressConfig: { cidrRanges: [{ addressPrefix: '127.0.0.1', prefixLen: 32 }] },
    },
  );
}

/** The document that kuma-dp reads: which applications' metrics it offers beside the proxy's. */
export function metricsDocument(conf: MetricConf, { mesh, zone, workload }: MetricsOwner): JsonObject {
  const { sidecar, applications = [] } = conf;
  return {
    observability: {
      metrics: given({
        sidecar: sidecar as Json | undefined,
        applications: applications.map(({ name, path, port, address = '' }) => given({ name, path, port, address })),
        backends: prometheusBackends(conf).map(({ prometheus }) => ({
          type: 'Prometheus',
          name: prometheus.clientId || null,
        })),
        extraLabels: { 'kuma.proxy_role': 'sidecar', 'kuma.workload': workload, mesh, zone },
      }),
    },
  };
}
