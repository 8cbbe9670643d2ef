// Every YAML example of MADR 075 is taken, warned about or refused as the document says.
import { describe, expect, it } from 'vitest';
import { findIn, inNamespace, NOTHING_FOUND } from './spec-table.fixture.ts';

const TYPE = 'MeshLoadBalancingStrategy';
const header = (name: string): string => `[{ type: Header, header: { name: ${name} } }]`;
const onService = (conf: string, name = 'test-server-1'): string => `
  - targetRef: { kind: MeshService, name: ${name} }
    default: ${conf}`;
const nested = (type: string, key: string): string =>
  `{ loadBalancer: { type: ${type}, ${key}: { hashPolicies: ${header('x-header')} } } }`;

describe('the examples of MADR 075', () => {
  it('warns about both nested lists', () => {
    const spec = `to:${onService(nested('RingHash', 'ringHash'))}${onService(nested('Maglev', 'maglev'), 'test-server-2')}`;
    expect(findIn(TYPE, spec, { labels: { 'kuma.io/effect': 'shadow' } })).toEqual({
      violations: [],
      warnings: [
        'spec.to[0].default.loadBalancer.ringHash.hashPolicies: is deprecated: use default.hashPolicies',
        'spec.to[1].default.loadBalancer.maglev.hashPolicies: is deprecated: use default.hashPolicies',
      ],
    });
  });

  it('takes hashPolicies beside the balancer', () => {
    const ring = `{ hashPolicies: ${header('x-header')}, loadBalancer: { type: RingHash, ringHash: { hashFunction: MurmurHash2 } } }`;
    const maglev = `{ hashPolicies: ${header('x-header')}, loadBalancer: { type: Maglev, maglev: { tableSize: 1000 } } }`;
    expect(findIn(TYPE, `to:${onService(ring)}${onService(maglev, 'test-server-2')}`)).toEqual(NOTHING_FOUND);
  });

  it.each(['x-header', 'x-test-header-2'])('takes hashPolicies %s on a route', (name) => {
    const spec = `to: [{ targetRef: { kind: MeshHTTPRoute, name: route-1 }, default: { hashPolicies: ${header(name)} } }]`;
    expect(findIn(TYPE, spec)).toEqual(NOTHING_FOUND);
    expect(findIn(TYPE, spec, { labels: inNamespace('ns-1') })).toEqual(NOTHING_FOUND);
  });

  it('refuses a balancer on a route', () => {
    const spec = `to: [{ targetRef: { kind: MeshHTTPRoute, name: route-1 }, default: ${nested('RingHash', 'ringHash')} }]`;
    expect(findIn(TYPE, spec).violations).toEqual([
      'spec.to[0].default.loadBalancer: must not be set for a MeshHTTPRoute: a route can have hashPolicies',
    ]);
  });

  it.each([
    ['ringHash', 'RingHash', header('x-test-header-2')],
    ['maglev', 'Maglev', header('x-test-header-2')],
    ['maglev', 'RoundRobin', header('x-test-header-2')],
    ['ringHash', 'Maglev', '[]'],
  ])('refuses both in one default (example 1): %s with type %s', (key, type, root) => {
    const conf = `{ hashPolicies: ${root}, loadBalancer: { type: ${type}, ${key}: { hashPolicies: ${header('x-test-header-1')} } } }`;
    expect(findIn(TYPE, `to:${onService(conf)}`)).toEqual({
      violations: [
        `spec.to[0].default.loadBalancer.${key}.hashPolicies: must not be set beside default.hashPolicies, which takes precedence: keep the latter`,
      ],
      warnings: [],
    });
  });

  it('takes both policies of example 2, the old one with a warning', () => {
    const old = `{ loadBalancer: { type: RingHash, ringHash: { hashPolicies: ${header('x-test-header-1')} } } }`;
    expect(findIn(TYPE, `to:${onService(old)}`)).toEqual({
      violations: [],
      warnings: ['spec.to[0].default.loadBalancer.ringHash.hashPolicies: is deprecated: use default.hashPolicies'],
    });
  });
});
