import { describe, expect, it } from 'vitest';
import { makeDataplane } from '../../../test/policy/make-resource.ts';
import type { Conf } from '../confs.ts';
import { MeshIndex } from '../../policy/mesh-index.ts';
import type { JsonObject } from '../../resource/types.ts';
import { Client } from '../../xds/client.ts';
import { healthChecks } from './envoy.ts';
import type { Protocol } from '../../envoy/protocol.ts';

const [proxy] = new MeshIndex('default', [makeDataplane('web', { labels: { b: '2', app: 'web' } })]).proxies();
const DEFAULTS = { timeout: '15s', interval: '60s', unhealthyThreshold: 5, healthyThreshold: 1 };
const TAGS = { header: { key: 'x-kuma-tags', value: '&app=web&&b=2&&kuma.io/display-name=web&&kuma.io/origin=global&' } };

function checks(conf: Conf<'MeshHealthCheck'>, protocol: Protocol = 'tcp'): JsonObject {
  if (proxy === undefined) throw new Error('the mesh has no proxy');
  return healthChecks(conf, { protocol, client: new Client(proxy) });
}

function check(conf: Conf<'MeshHealthCheck'>, protocol?: Protocol): JsonObject | undefined {
  const list = checks(conf, protocol)['healthChecks'] as JsonObject[] | undefined;
  expect(list?.length).not.toBe(0);
  return list?.[0];
}

describe('the health check of a service', () => {
  const http = { httpHealthCheck: { path: '/', requestHeadersToAdd: [TAGS] } };
  const tcp = { tcpHealthCheck: {} };
  const grpc = { grpcHealthCheck: {} };

  it.each<[Protocol, Conf<'MeshHealthCheck'>, JsonObject | null]>([
    ['http', { http: {} }, http],
    ['http2', { http: {} }, http],
    ['grpc', { http: {} }, null],
    ['tcp', { http: {} }, null],
    ['grpc', { grpc: {} }, grpc],
    ['http', { grpc: {} }, null],
    ['tcp', { tcp: {} }, tcp],
    ['http', { tcp: {} }, tcp],
    ['grpc', { tcp: {} }, tcp],
    ['tcp', { tcp: {}, http: {}, grpc: {} }, tcp],
    ['http', { tcp: {}, http: {} }, http],
    // A port whose own check is off has none, rather than that of TCP.
    ['http', { tcp: {}, http: { disabled: true } }, null],
    ['http', { tcp: {}, grpc: {} }, null],
    ['grpc', { tcp: {}, grpc: { disabled: true } }, null],
    ['tcp', { tcp: { disabled: true } }, null],
    ['tcp', { tcp: { disabled: false } }, tcp],
    ['http', {}, null],
  ])('on a port of %s, of %j, is %j', (protocol, conf, expected) => {
    if (expected === null) expect(checks(conf, protocol)).toEqual({});
    else
      expect(checks(conf, protocol)).toEqual({
        healthChecks: [{ ...DEFAULTS, ...expected }],
        ignoreHealthOnHostRemoval: true,
      });
  });

  it('has the times and thresholds of the policy', () => {
    expect(check({ tcp: {}, timeout: '1s', interval: '2s', unhealthyThreshold: 3, healthyThreshold: 4 })).toEqual({
      ...{ timeout: '1s', interval: '2s', unhealthyThreshold: 3, healthyThreshold: 4 },
      ...tcp,
    });
  });

  it('asks with headers of the policy, for the statuses of the policy', () => {
    const headers = { set: [{ name: 'a', value: '1' }], add: [{ name: 'b', value: '2' }] };
    expect(check({ http: { path: '/up', expectedStatuses: [200, 299], requestHeadersToAdd: headers } }, 'http')).toEqual({
      ...DEFAULTS,
      httpHealthCheck: {
        path: '/up',
        requestHeadersToAdd: [
          TAGS,
          { header: { key: 'b', value: '2' } },
          { header: { key: 'a', value: '1' }, appendAction: 'OVERWRITE_IF_EXISTS_OR_ADD' },
        ],
        expectedStatuses: [
          { start: '200', end: '201' },
          { start: '299', end: '300' },
        ],
      },
    });
    expect(check({ http: { expectedStatuses: [] } }, 'http')).toEqual({ ...DEFAULTS, ...http });
  });

  it('sends the bytes of the policy, and expects an answer or none', () => {
    expect(check({ tcp: { send: 'SGVsbG8=' } })).toEqual({ ...DEFAULTS, tcpHealthCheck: { send: { text: '48656c6c6f' } } });
    expect(check({ tcp: { receive: ['T0s='] } })).toEqual({ ...DEFAULTS, tcpHealthCheck: { receive: [{ text: '4f4b' }] } });
  });

  it('says what the balancer does in a panic', () => {
    expect(checks({ tcp: {}, failTrafficOnPanic: true })['commonLbConfig']).toEqual({
      zoneAwareLbConfig: { failTrafficOnPanic: true },
    });
    expect(checks({ tcp: {}, failTrafficOnPanic: false, healthyPanicThreshold: '0.5' })['commonLbConfig']).toEqual({
      healthyPanicThreshold: { value: 0.5 },
    });
  });

  it('writes its events to a file', () => {
    const logger = check({ tcp: {}, eventLogPath: '/dev/null' })?.['eventLogger'];
    expect(logger).toMatchObject([{ typedConfig: { eventLogPath: '/dev/null' } }]);
  });
});
