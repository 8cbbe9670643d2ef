import { describe, expect, it } from 'vitest';
import type { Conf } from '../confs.ts';
import type { JsonObject } from '../../resource/types.ts';
import { hashPolicies, loadBalancer } from './envoy.ts';

type HashPolicy = NonNullable<Conf<'MeshLoadBalancingStrategy'>['hashPolicies']>[number];

describe('the balancer of a cluster', () => {
  it.each<[Conf<'MeshLoadBalancingStrategy'>['loadBalancer'], JsonObject]>([
    [{ type: 'RoundRobin' }, {}],
    [undefined, {}],
    [{ type: 'Random' }, { lbPolicy: 'RANDOM' }],
    [{ type: 'RingHash' }, { lbPolicy: 'RING_HASH' }],
    [
      { type: 'RingHash', ringHash: { hashFunction: 'XXHash', minRingSize: 5 } },
      { lbPolicy: 'RING_HASH', ringHashLbConfig: { hashFunction: 'XX_HASH', minimumRingSize: '5' } },
    ],
    // Envoy's minimum is 1024, and it refuses a smaller maximum.
    [
      { type: 'RingHash', ringHash: { maxRingSize: 1023 } },
      { lbPolicy: 'RING_HASH', ringHashLbConfig: { minimumRingSize: '1023', maximumRingSize: '1023' } },
    ],
    [
      { type: 'RingHash', ringHash: { maxRingSize: 1024 } },
      { lbPolicy: 'RING_HASH', ringHashLbConfig: { maximumRingSize: '1024' } },
    ],
    [{ type: 'Maglev' }, { lbPolicy: 'MAGLEV' }],
    [{ type: 'LeastRequest' }, { lbPolicy: 'LEAST_REQUEST' }],
    [
      { type: 'LeastRequest', leastRequest: { choiceCount: 3 } },
      { lbPolicy: 'LEAST_REQUEST', leastRequestLbConfig: { choiceCount: 3 } },
    ],
    [
      { type: 'LeastRequest', leastRequest: { activeRequestBias: '0.5' } },
      { lbPolicy: 'LEAST_REQUEST', leastRequestLbConfig: { activeRequestBias: { defaultValue: 0.5 } } },
    ],
  ])('of %j is %j', (written, expected) => {
    expect(loadBalancer({ loadBalancer: written })).toEqual(expected);
  });

  it.each([
    [0, '2'],
    [2, '2'],
    [3, '3'],
    [4, '5'],
    [9, '11'],
    [25, '29'],
    [1020, '1021'],
    [65_536, '65537'],
  ])('has a Maglev table of the next prime size: %d → %s', (size, tableSize) => {
    const maglev = loadBalancer({ loadBalancer: { type: 'Maglev', maglev: { tableSize: size } } });
    expect(maglev).toEqual({ lbPolicy: 'MAGLEV', maglevLbConfig: { tableSize } });
  });
});

describe('the hash policies of a route', () => {
  it.each<[HashPolicy, JsonObject]>([
    [{ type: 'Header', header: { name: 'a' } }, { header: { headerName: 'a' } }],
    [{ type: 'Cookie', cookie: { name: 'a' } }, { cookie: { name: 'a' } }],
    [{ type: 'Cookie', cookie: { name: 'a', ttl: '1h', path: '/' } }, { cookie: { name: 'a', ttl: '3600s', path: '/' } }],
    [{ type: 'Connection', connection: { sourceIP: true } }, { connectionProperties: { sourceIp: true } }],
    [{ type: 'Connection', connection: { sourceIP: false } }, { connectionProperties: { sourceIp: false } }],
    [{ type: 'SourceIP' }, { connectionProperties: { sourceIp: true } }],
    [{ type: 'QueryParameter', queryParameter: { name: 'a' } }, { queryParameter: { name: 'a' } }],
    [{ type: 'FilterState', filterState: { key: 'a' } }, { filterState: { key: 'a' } }],
  ])('%j is %j, terminal or not', (written, expected) => {
    expect(hashPolicies([written])).toEqual([expected]);
    expect(hashPolicies([{ ...written, terminal: false }])).toEqual([expected]);
    expect(hashPolicies([{ ...written, terminal: true }])).toEqual([{ ...expected, terminal: true }]);
  });

  it('are none without a list', () => {
    expect(hashPolicies(null)).toEqual([]);
  });
});
