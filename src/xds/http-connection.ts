// The HTTP connection manager of a listener. Its routes come by RDS, so that a changed route closes no connection (xds 0).
import { connectionManagerFields, type ConfsInForce } from '../policies/parts.ts';
import type { JsonObject } from '../resource/types.ts';
import type { Protocol } from '../envoy/protocol.ts';
import { extension, FROM_ADS } from '../envoy/proto-json.ts';

const PRIVATE_NETWORKS = [
  { addressPrefix: '10.0.0.0', prefixLen: 8 },
  { addressPrefix: '192.168.0.0', prefixLen: 16 },
  { addressPrefix: '172.16.0.0', prefixLen: 12 },
  { addressPrefix: '127.0.0.1', prefixLen: 32 },
];

const ROUTER = extension('envoy.filters.http.router', 'extensions.filters.http.router.v3.Router');
const GRPC_STATS = extension('envoy.filters.http.grpc_stats', 'extensions.filters.http.grpc_stats.v3.FilterConfig', {
  emitFilterState: true,
});

const OF_DIRECTION: Readonly<Record<'inbound' | 'outbound' | 'egress', JsonObject>> = {
  inbound: {
    streamIdleTimeout: '3600s',
    forwardClientCertDetails: 'SANITIZE_SET',
    setCurrentClientCertDetails: { uri: true },
  },
  outbound: { normalizePath: true },
  egress: {},
};

export type HttpConnection = {
  readonly name: string;
  readonly protocol: Protocol;
  /** An egress is between two: it believes no header of a client, and says nothing of it. */
  readonly direction: 'inbound' | 'outbound' | 'egress';
  /** Name of the route configuration; left out: `name`. */
  readonly routes?: string;
  readonly confOf: ConfsInForce;
  readonly accessLog: readonly JsonObject[];
  readonly tracing: JsonObject | null;
  /** Before the statistics of gRPC. */
  readonly filtersFirst: readonly JsonObject[];
  /** Between the statistics of gRPC and the router. */
  readonly filters: readonly JsonObject[];
};

/** The network filter. */
export function httpConnectionManager(connection: HttpConnection): JsonObject {
  const { name, routes = name, protocol, direction, confOf, accessLog, tracing, filtersFirst, filters } = connection;
  return extension(
    'envoy.filters.network.http_connection_manager',
    'extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
    {
      statPrefix: name,
      rds: { configSource: FROM_ADS, routeConfigName: routes },
      httpFilters: [...filtersFirst, ...(protocol === 'grpc' ? [GRPC_STATS] : []), ...filters, ROUTER],
      commonHttpProtocolOptions: { idleTimeout: '0s' },
      ...connectionManagerFields(confOf),
      internalAddressConfig: { cidrRanges: PRIVATE_NETWORKS },
      ...(accessLog.length > 0 && { accessLog: [...accessLog] }),
      ...(tracing !== null && { tracing }),
      ...OF_DIRECTION[direction],
    },
  );
}
