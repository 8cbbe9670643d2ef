import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { decodeHealthMessage } from './health-messages.ts';
import { envoyJsonToBinary } from './json-to-binary.ts';
import type { StructObject } from './struct.ts';

const MESSAGE = 'envoy.service.health.v3.HealthCheckRequestOrEndpointHealthResponse';
const STATUSES = ['UNKNOWN', 'HEALTHY', 'UNHEALTHY', 'DRAINING', 'TIMEOUT', 'DEGRADED'];

describe('decodeHealthMessage', () => {
  it('reads the node of a first message', () => {
    const node = { id: 'shop.cart-1', metadata: { workdir: '/run' }, userAgentName: 'envoy' };
    const { node: found, clusters } = decodeHealthMessage(envoyJsonToBinary(MESSAGE, { healthCheckRequest: { node } }));
    expect(found?.id).toBe('shop.cart-1');
    expect(found?.metadata?.length).toBeGreaterThan(0);
    expect(clusters.size).toBe(0);
  });

  it('reads which clusters of a report take requests', () => {
    const address = { socketAddress: { address: '127.0.0.1', portValue: 80 } };
    const cluster = fc.tuple(fc.string({ minLength: 1 }), fc.array(fc.constantFrom(...STATUSES)));
    fc.assert(
      fc.property(fc.uniqueArray(cluster, { selector: ([name]) => name }), (given) => {
        const clusterEndpointsHealth = given.map(([clusterName, statuses]): StructObject => {
          const endpointsHealth = statuses.map((healthStatus) => ({ endpoint: { address }, healthStatus }));
          return { clusterName, localityEndpointsHealth: [{ locality: {}, endpointsHealth }] };
        });
        const { clusters } = decodeHealthMessage(
          envoyJsonToBinary(MESSAGE, { endpointHealthResponse: { clusterEndpointsHealth } }),
        );
        const expected = given.flatMap(([name, statuses]) =>
          statuses.length === 0 ? [] : [[name, statuses.every((one) => one === 'HEALTHY' || one === 'DEGRADED')]],
        );
        expect([...clusters]).toEqual(expected);
      }),
    );
  });

  it('throws on other bytes, and never does anything else', () => {
    expect(() => decodeHealthMessage(Buffer.from([0x0a, 5, 1]))).toThrow(
      'cannot read a HealthCheckRequestOrEndpointHealthResponse',
    );
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        try {
          decodeHealthMessage(bytes);
        } catch (error) {
          expect(String(error)).toContain('cannot read');
        }
      }),
    );
  });
});
