// MeshLoadBalancingStrategy: good and bad confs (policies 2.3; MADR 075 has a test of its own).
import { describe, expect, it } from 'vitest';
import { findIn, NOTHING_FOUND } from '../../validation/spec-table.fixture.ts';

const TYPE = 'MeshLoadBalancingStrategy';
const inTo = (conf: string, ref = '{ kind: MeshService, name: a }'): string => `to: [{ targetRef: ${ref}, default: ${conf} }]`;
const CROSS_ZONE = '{ localityAwareness: { crossZone: { failover: [{ to: { type: Any } }] } } }';

describe('MeshLoadBalancingStrategy', () => {
  it.each([
    '{}',
    '{ loadBalancer: { type: RoundRobin, roundRobin: {} } }',
    '{ loadBalancer: { type: LeastRequest, leastRequest: { choiceCount: 2, activeRequestBias: "1.3" } } }',
    '{ loadBalancer: { type: RingHash, ringHash: { hashFunction: XXHash, minRingSize: 1, maxRingSize: 8000000 } } }',
    '{ loadBalancer: { type: Maglev, maglev: { tableSize: 5000011 } } }',
    '{ hashPolicies: [{ type: Cookie, terminal: true, cookie: { name: a, ttl: 1h, path: /x } }, { type: QueryParameter, queryParameter: { name: q } }, { type: FilterState, filterState: { key: k } }, { type: Connection, connection: { sourceIP: true } }] }',
    '{ localityAwareness: { disabled: false, localZone: { affinityTags: [{ key: a, weight: 9 }, { key: b, weight: 1 }] } } }',
    '{ localityAwareness: { crossZone: { failover: [{ from: { zones: [a] }, to: { type: Only, zones: [b] } }, { to: { type: None } }, { to: { type: AnyExcept, zones: [c] } }], failoverThreshold: { percentage: "99.9" } } } }',
  ])('may have %s', (conf) => {
    expect(findIn(TYPE, inTo(conf))).toEqual(NOTHING_FOUND);
  });

  it.each([
    ['{ loadBalancer: {} }', 'loadBalancer.type: must be given: one of RoundRobin, LeastRequest, RingHash, Random, Maglev'],
    [
      '{ loadBalancer: { type: LeastRequest, leastRequest: { choiceCount: 1 } } }',
      'loadBalancer.leastRequest.choiceCount: must be a whole number from 2 to 2147483647',
    ],
    [
      '{ loadBalancer: { type: LeastRequest, leastRequest: { activeRequestBias: "-1" } } }',
      'loadBalancer.leastRequest.activeRequestBias: must be a whole number or a decimal in quotes such as "12.5", not negative',
    ],
    [
      '{ loadBalancer: { type: RingHash, ringHash: { minRingSize: 8000001 } } }',
      'loadBalancer.ringHash.minRingSize: must be a whole number from 1 to 8000000',
    ],
    [
      '{ loadBalancer: { type: RingHash, ringHash: { hashFunction: MD5 } } }',
      'loadBalancer.ringHash.hashFunction: must be one of XXHash, MurmurHash2, not "MD5"',
    ],
    [
      '{ loadBalancer: { type: Maglev, maglev: { tableSize: 0 } } }',
      'loadBalancer.maglev.tableSize: must be a whole number from 1 to 5000011',
    ],
    ['{ hashPolicies: [{ type: Header }] }', 'hashPolicies[0].header: must be given with type Header'],
    [
      '{ hashPolicies: [{ type: Connection, header: { name: a } }] }',
      'hashPolicies[0].connection: must be given with type Connection',
    ],
    ['{ hashPolicies: [{ type: Header, header: { name: "" } }] }', 'hashPolicies[0].header.name: must be text that is not empty'],
    [
      '{ hashPolicies: [{ type: Cookie, cookie: { name: a, path: x } }] }',
      'hashPolicies[0].cookie.path: must be an absolute path',
    ],
    ['{ hashPolicies: { } }', 'hashPolicies: must be a list'],
    [
      '{ localityAwareness: { localZone: { affinityTags: [{ key: "" }] } } }',
      'localityAwareness.localZone.affinityTags[0].key: must be text that is not empty',
    ],
    [
      '{ localityAwareness: { localZone: { affinityTags: [{ key: a, weight: 1 }, { key: b }] } } }',
      'localityAwareness.localZone.affinityTags[1].weight: must be given: either all affinity tags have a weight or none',
    ],
    [
      '{ localityAwareness: { localZone: { affinityTags: [{ key: a, weight: 0 }] } } }',
      'localityAwareness.localZone.affinityTags[0].weight: must be a whole number from 1 to 2147483647',
    ],
    [
      '{ localityAwareness: { crossZone: { failover: [{ to: { type: Any, zones: [a] } }] } } }',
      'localityAwareness.crossZone.failover[0].to.zones: must be empty with type Any',
    ],
    [
      '{ localityAwareness: { crossZone: { failover: [{ to: { type: Only } }] } } }',
      'localityAwareness.crossZone.failover[0].to.zones: must have at least one zone with type Only',
    ],
    [
      '{ localityAwareness: { crossZone: { failoverThreshold: { percentage: 0 } } } }',
      'localityAwareness.crossZone.failoverThreshold.percentage: must be a whole number or a decimal in quotes such as "12.5", over 0 and at most 100',
    ],
  ])('may not have %s', (conf, line) => {
    expect(findIn(TYPE, inTo(conf))).toEqual({ violations: [`spec.to[0].default.${line}`], warnings: [] });
  });

  it.each(['labels: { a: b }', 'name: a, sectionName: http'])('may not have crossZone for a MeshService with %s', (fields) => {
    const [field] = /labels|sectionName/.exec(fields) ?? [];
    expect(findIn(TYPE, inTo(CROSS_ZONE, `{ kind: MeshService, ${fields} }`)).violations).toEqual([
      `spec.to[0].default.localityAwareness.crossZone: must not be set for a MeshService with ${field}`,
    ]);
    expect(findIn(TYPE, inTo(CROSS_ZONE, '{ kind: MeshMultiZoneService, labels: { a: b } }'))).toEqual(NOTHING_FOUND);
  });

  it('warns about SourceIP, and hashes TCP by connection alone', () => {
    const conf = '{ hashPolicies: [{ type: SourceIP }, { type: Header, header: { name: a } }] }';
    const warnings = ['spec.to[0].default.hashPolicies[0].type: SourceIP is deprecated: use Connection'];
    expect(findIn(TYPE, inTo(conf))).toEqual({ violations: [], warnings });
    expect(findIn(TYPE, inTo(conf, '{ kind: MeshTCPRoute, name: a }'))).toEqual({
      violations: [0, 1].map((index) => `spec.to[0].default.hashPolicies[${index}].type: must be Connection for a MeshTCPRoute`),
      warnings,
    });
  });

  it('takes an item without default', () => {
    expect(findIn(TYPE, 'to: [{ targetRef: { kind: Mesh } }]')).toEqual(NOTHING_FOUND);
  });
});
