// The parts of a cluster that several policies write into, and the protocol that it speaks.
import { describe, expect, it } from 'vitest';
import { makeDataplane } from '../../test/policy/make-resource.ts';
import { parseDataplane } from '../policy/dataplane-proxy.ts';
import type { JsonObject } from '../resource/types.ts';
import { Client } from './client.ts';
import type { Conf, Confs } from '../policies/confs.ts';
import { NO_CONFS, type ConfsInForce } from '../policies/parts.ts';
import { applicationCluster, outsideCluster, serviceCluster } from './cluster.ts';
import type { Protocol } from '../envoy/protocol.ts';

const client = new Client(parseDataplane(makeDataplane('caller', { zone: 'east' })));
type Some = { readonly [T in keyof Confs]?: Conf<T> };
const confsOf =
  (some: Some): ConfsInForce =>
  (type) =>
    some[type] ?? {};
const clusterOf = (some: Some, protocol: Protocol = 'tcp', isExternal = false): JsonObject =>
  serviceCluster('cart', confsOf(some), { protocol, client }, { isExternal });

describe('the common settings of the load balancers of a cluster', () => {
  const outlierDetection = { healthyPanicThreshold: 20, detectors: { totalFailures: { consecutive: 5 } } };
  const healthCheck = { failTrafficOnPanic: true, tcp: {}, interval: '1s' };

  it.each<[what: string, conf: Some, expected: JsonObject | undefined]>([
    ['are absent without a policy that has some', {}, undefined],
    ['are absent where policies say nothing of them', { MeshHealthCheck: { tcp: {} } }, undefined],
    ['are those of one policy', { MeshCircuitBreaker: { outlierDetection } }, { healthyPanicThreshold: { value: 20 } }],
    [
      'are those of several policies',
      { MeshCircuitBreaker: { outlierDetection }, MeshHealthCheck: healthCheck },
      { healthyPanicThreshold: { value: 20 }, zoneAwareLbConfig: { failTrafficOnPanic: true } },
    ],
  ])('%s', (_, conf, expected) => {
    expect(clusterOf(conf)['commonLbConfig']).toEqual(expected);
  });
});

describe('a cluster', () => {
  const explicitOf = (cluster: JsonObject): string[] =>
    [...JSON.stringify(cluster).matchAll(/"(http2?ProtocolOptions)"/g)].map(([, name = '']) => name);

  it.each<[Protocol, inMesh: string[], outside: string[]]>([
    ['tcp', ['http2ProtocolOptions'], []],
    ['http', ['http2ProtocolOptions'], ['httpProtocolOptions']],
    ['http2', ['http2ProtocolOptions'], ['http2ProtocolOptions']],
    ['grpc', ['http2ProtocolOptions'], ['http2ProtocolOptions']],
  ])('of %s speaks %j to proxies of the mesh, and %j to others', (protocol, inMesh, outside) => {
    const at = { address: '127.0.0.1', port: 80 };
    expect([
      explicitOf(clusterOf({}, protocol)),
      explicitOf(clusterOf({}, protocol, true)),
      explicitOf(applicationCluster('in', NO_CONFS, { protocol, client }, at)),
      explicitOf(outsideCluster(protocol)),
    ]).toEqual([inMesh, outside, outside, outside]);
  });

  it.each<[Protocol, Conf<'MeshTimeout'>, idle: string | null]>([
    ['http', {}, '3600s'],
    ['http2', { idleTimeout: '7s' }, '7s'],
    ['grpc', { idleTimeout: '7s' }, '7200s'],
    ['tcp', { idleTimeout: '7s' }, null],
  ])('of an application that speaks %s with %j has the idle timeout %s', (protocol, timeout, idle) => {
    const cluster = applicationCluster(
      'in',
      confsOf({ MeshTimeout: timeout }),
      { protocol, client },
      { address: '127.0.0.1', port: 80 },
    );
    expect(/"idleTimeout":"(\d+s)"/.exec(JSON.stringify(cluster))?.[1] ?? null).toBe(idle);
    expect(cluster['connectTimeout']).toBe('5s');
  });
});
