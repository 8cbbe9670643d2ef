// The configuration that an Envoy starts with: its identity, and the control plane that sends the rest (xds 1). Pure.
import { objectOf, textOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';
import { typed } from '../envoy/proto-json.ts';

export type BootstrapOptions = {
  readonly mesh: string;
  readonly name: string;
  /** Where the proxy reaches the control plane: host and port of its request. */
  readonly controlPlane: { readonly host: string; readonly port: number };
  /** PEM of the certificate that the control plane must show, or of its CA. */
  readonly caCert: string;
  /** Shown on the stream; `''` for none. */
  readonly token: string;
  /** Folder of the proxy for sockets; both sides write absolute paths into it. */
  readonly workdir: string;
  /** Facts about the proxy, which the control plane reads from the first request of a stream. */
  readonly metadata: JsonObject;
  /** Whether Envoy reports its health and that of its applications on a stream of its own. */
  readonly reportsHealth: boolean;
};

const KEEPALIVE = { tcpKeepalive: { keepaliveProbes: 3, keepaliveTime: 10, keepaliveInterval: 10 } };
/** Key of the metadata that names a bootstrap: each start of an Envoy by a launcher has its own. */
export const RUN = 'meridian.run';
/** Key of the metadata that names the mesh where the id of the node does not say which dot ends it. */
export const MESH = 'meridian.mesh';
/** Connections of clients to one proxy; Envoy advises a limit below that of its file descriptors. */
const MAX_CONNECTIONS = 50_000;
/** With TLS. When thousands of proxies connect at once, a control plane needs seconds for their handshakes; an Envoy that gives up and
 * begins again makes it do the same work twice. */
const CONNECT_TIMEOUT = '10s';
const ADS_CLUSTER = 'system_ads';
const VALIDATION_SECRET = 'cp_validation_ctx';
const FROM_ADS = { ads: {}, resourceApiVersion: 'V3', initialFetchTimeout: '0s' };

/**
 * The tags of Kuma. Envoy tries each on the names of all statistics of each cluster that it makes, so none may look for more than one
 * beginning: without its `^` the last one took most of the time of a changed cluster.
 */
const STATS_TAGS = [
  { tagName: 'name', regex: String.raw`^grpc\.((.+)\.)` },
  { tagName: 'status', regex: '^grpc.*streams_closed(_([0-9]+))' },
  { tagName: 'worker', regex: String.raw`(worker_([0-9]+)\.)` },
  { tagName: 'listener', regex: String.raw`^((.+?)\.)rbac\.` },
];

/** Socket of Envoy's admin interface. A socket path has at most 104 characters. */
export function adminSocket(workdir: string): string {
  return `${workdir}/kuma-envoy-admin.sock`;
}

/** Pipe of the program beside Envoy that forwards access logs. */
export function accessLogPipe({ workdir, name, mesh }: Pick<BootstrapOptions, 'workdir' | 'name' | 'mesh'>): string {
  return `${workdir}/kuma-al-${name}-${mesh}.sock`;
}

/** An envoy.config.bootstrap.v3.Bootstrap as proto3 JSON. */
export function bootstrapConfig(options: BootstrapOptions): JsonObject {
  const { mesh, name, controlPlane, caCert, token, workdir, metadata, reportsHealth } = options;
  const initialMetadata = token === '' ? [] : [{ key: 'authorization', value: token }];
  const stream = {
    transportApiVersion: 'V3',
    setNodeOnFirstMessageOnly: true,
    grpcServices: [{ envoyGrpc: { clusterName: ADS_CLUSTER }, initialMetadata }],
  };
  return {
    node: { id: `${mesh}.${name}`, cluster: name, metadata },
    admin: { address: { pipe: { path: adminSocket(workdir), mode: 0o600 } }, ignoreGlobalConnLimit: true },
    dynamicResources: {
      ldsConfig: FROM_ADS,
      cdsConfig: FROM_ADS,
      adsConfig: { apiType: 'DELTA_GRPC', ...stream },
    },
    ...(reportsHealth && { hdsConfig: { apiType: 'GRPC', ...stream } }),
    staticResources: { clusters: [adsCluster(controlPlane)], secrets: [validationSecret(controlPlane.host, caCert)] },
    ...limits(),
    defaultRegexEngine: {
      name: 'envoy.regex_engines.google_re2',
      typedConfig: typed('extensions.regex_engines.v3.GoogleRE2'),
    },
    statsConfig: { statsTags: STATS_TAGS },
  };
}

/** The control plane, as the cluster of the streams. */
function adsCluster({ host, port }: BootstrapOptions['controlPlane']): JsonObject {
  return {
    name: ADS_CLUSTER,
    type: 'STRICT_DNS',
    connectTimeout: CONNECT_TIMEOUT,
    loadAssignment: {
      clusterName: ADS_CLUSTER,
      endpoints: [{ lbEndpoints: [{ endpoint: { address: { socketAddress: { address: host, portValue: port } } } }] }],
    },
    typedExtensionProtocolOptions: {
      'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': typed('extensions.upstreams.http.v3.HttpProtocolOptions', {
        explicitHttpConfig: { http2ProtocolOptions: {} },
      }),
    },
    upstreamConnectionOptions: KEEPALIVE,
    transportSocket: {
      name: 'envoy.transport_sockets.tls',
      typedConfig: typed('extensions.transport_sockets.tls.v3.UpstreamTlsContext', {
        sni: host,
        commonTlsContext: {
          tlsParams: { tlsMinimumProtocolVersion: 'TLSv1_2' },
          validationContextSdsSecretConfig: { name: VALIDATION_SECRET },
        },
      }),
    },
  };
}

/** The conditions on the certificate of the control plane. */
function validationSecret(host: string, caCert: string): JsonObject {
  return {
    name: VALIDATION_SECRET,
    validationContext: {
      trustedCa: { inlineBytes: Buffer.from(caCert).toString('base64') },
      matchTypedSubjectAltNames: ['DNS', 'IP_ADDRESS'].map((sanType) => ({ sanType, matcher: { exact: host } })),
    },
  };
}

function limits(): JsonObject {
  return {
    layeredRuntime: {
      layers: [
        {
          name: 'meridian',
          // A regular expression of a route may be long; Envoy would refuse it.
          staticLayer: { 're2.max_program_size.error_level': 4_294_967_295, 're2.max_program_size.warn_level': 1_000 },
        },
      ],
    },
    overloadManager: {
      resourceMonitors: [
        {
          name: 'envoy.resource_monitors.global_downstream_max_connections',
          typedConfig: typed('extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig', {
            maxActiveDownstreamConnections: String(MAX_CONNECTIONS),
          }),
        },
      ],
    },
  };
}

/** Metadata of the node, from the request that a proxy launcher makes (`POST /bootstrap`). */
export function nodeMetadata(request: JsonObject): JsonObject {
  const { workdir, version, features, dataplaneResource, dynamicMetadata, systemCaPath, ipv6Enabled } = request;
  const metrics = objectOf(request['metricsResources']);
  const dir = textOf(workdir);
  return {
    ...(textOf(dataplaneResource) !== '' && { 'dataplane.resource': textOf(dataplaneResource) }),
    'dataplane.proxyType': 'dataplane',
    'dataplane.admin.socketPath': adminSocket(dir),
    'dataplane.dns.port': String(request['dnsPort'] ?? 0),
    'dataplane.readinessReporter.port': String(request['readinessPort'] ?? 0),
    features: Array.isArray(features) ? features : [],
    version: objectOf(version),
    workdir: dir,
    metricsCertPath: textOf(metrics['certPath']),
    metricsKeyPath: textOf(metrics['keyPath']),
    systemCaPath: textOf(systemCaPath),
    ipv6Enabled: ipv6Enabled === true,
    ...(Object.keys(objectOf(dynamicMetadata)).length > 0 && { dynamicMetadata: objectOf(dynamicMetadata) }),
  };
}
