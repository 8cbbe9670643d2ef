import { describe, expect, it } from 'vitest';
import { objectOf, objectsOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';
import type { Conf } from '../policies/confs.ts';
import { NO_CONFS, type ConfsInForce } from '../policies/parts.ts';
import { httpConnectionManager, type HttpConnection } from './http-connection.ts';

const PLAIN: HttpConnection = {
  ...{ name: 'n', protocol: 'http', direction: 'egress', confOf: NO_CONFS },
  ...{ accessLog: [], tracing: null, filtersFirst: [], filters: [] },
};
const configOf = (given: Partial<HttpConnection> = {}): JsonObject =>
  objectOf(httpConnectionManager({ ...PLAIN, ...given })['typedConfig']);
const filtersOf = (config: JsonObject): unknown[] => objectsOf(config['httpFilters']).map(({ name }) => name);

describe('the HTTP connection manager', () => {
  it('has its routes from ADS under its name, no timeouts of its own, and believes clients of private networks alone', () => {
    expect(configOf()).toMatchObject({
      '@type': 'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
      ...{ statPrefix: 'n', commonHttpProtocolOptions: { idleTimeout: '0s' }, requestHeadersTimeout: '0s' },
      rds: { routeConfigName: 'n' },
      internalAddressConfig: {
        cidrRanges: [
          { addressPrefix: '10.0.0.0', prefixLen: 8 },
          { addressPrefix: '192.168.0.0', prefixLen: 16 },
          { addressPrefix: '172.16.0.0', prefixLen: 12 },
          { addressPrefix: '127.0.0.1', prefixLen: 32 },
        ],
      },
    });
    expect(Object.keys(configOf())).toHaveLength(7);
  });

  it.each<[HttpConnection['direction'], JsonObject]>([
    [
      'inbound',
      {
        streamIdleTimeout: '3600s',
        forwardClientCertDetails: 'SANITIZE_SET',
        setCurrentClientCertDetails: { uri: true },
      },
    ],
    ['outbound', { normalizePath: true }],
    ['egress', {}],
  ])('of an %s has %j beside what all have', (direction, more) => {
    expect(configOf({ direction })).toEqual({ ...configOf(), ...more });
  });

  it('has routes of another name, the timeout of headers, loggers and a tracer where these are given', () => {
    const timeout: Conf<'MeshTimeout'> = { http: { requestHeadersTimeout: '7s' } };
    const confOf: ConfsInForce = (type) => (type === 'MeshTimeout' ? (timeout as Conf<typeof type>) : {});
    const config = configOf({ routes: 'r', confOf, accessLog: [{ name: 'log' }], tracing: { spawnUpstreamSpan: true } });
    expect(config).toMatchObject({
      ...{ statPrefix: 'n', rds: { routeConfigName: 'r' }, requestHeadersTimeout: '7s' },
      ...{ accessLog: [{ name: 'log' }], tracing: { spawnUpstreamSpan: true } },
    });
  });

  it('has the first filters, the statistics of gRPC, the others and then the router', () => {
    const filters = { filtersFirst: [{ name: 'a' }], filters: [{ name: 'b' }] };
    expect(filtersOf(configOf(filters))).toEqual(['a', 'b', 'envoy.filters.http.router']);
    expect(filtersOf(configOf({ ...filters, protocol: 'grpc' }))).toEqual([
      ...['a', 'envoy.filters.http.grpc_stats', 'b'],
      'envoy.filters.http.router',
    ]);
  });
});
