// The table of policies 5, row by row, through real merging (MADR 075, D16).
import { describe, expect, it } from 'vitest';
import { makeDataplane, makeRoute, makeService, makeTo } from '../../test/policy/make-resource.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { buildRules } from './build-rules.ts';
import { destinationOf, policiesInForce } from './effective-conf.ts';
import { MeshIndex } from './mesh-index.ts';

const SERVICE = { kind: 'MeshService', name: 'backend' };
const ROUTE = { kind: 'MeshHTTPRoute', name: 'route-1' };
const MESH = { kind: 'Mesh' };
const list = (name: string): JsonObject[] => [{ type: 'Header', header: { name } }];
const ring = (nested?: JsonObject[]): JsonObject => ({
  loadBalancer: { type: 'RingHash', ringHash: nested === undefined ? {} : { hashPolicies: nested } },
});
const maglev = (nested?: JsonObject[]): JsonObject => ({
  loadBalancer: { type: 'Maglev', maglev: nested === undefined ? {} : { hashPolicies: nested } },
});

/** Weakest first; the conf and the list in force on the service and on its two routes. */
function inForce(
  policies: readonly (readonly [JsonObject, JsonObject])[],
): Record<'service' | 'route1' | 'route2', { conf: Json; hashes: Json }> {
  const index = new MeshIndex('default', [
    makeDataplane('client'),
    makeService('backend'),
    makeRoute('route-1', { name: 'backend' }, '/1'),
    makeRoute('route-2', { name: 'backend' }, '/2'),
    ...policies.map(([ref, conf], at) => makeTo('MeshLoadBalancingStrategy', `p${String(9 - at)}`, ref, conf)),
  ]);
  const [proxy] = index.proxies();
  if (proxy === undefined) throw new Error('no proxy');
  const rules = buildRules(index, proxy);
  const at = (route?: string): { conf: Json; hashes: Json } => {
    const destination = { ...destinationOf(index, 'kri_msvc_default___backend_', '80'), route };
    const [found] = policiesInForce(rules, destination);
    return { conf: found?.conf[0] ?? null, hashes: found?.hashPolicies === undefined ? null : (found.hashPolicies as Json) };
  };
  return { service: at(), route1: at('kri_mhttpr_default___route-1_'), route2: at('kri_mhttpr_default___route-2_') };
}

describe('hash policies in force', () => {
  it('old only: used under the final type', () => {
    expect(inForce([[SERVICE, ring(list('old'))]]).service.hashes).toEqual(list('old'));
    expect(inForce([[SERVICE, maglev(list('old'))]]).route1.hashes).toEqual(list('old'));
  });

  it('new only, no load balancer: routes get it, the cluster gets none', () => {
    const { service } = inForce([[SERVICE, { hashPolicies: list('new') }]]);
    expect(service).toEqual({ conf: { hashPolicies: list('new') }, hashes: list('new') });
  });

  it.each(['RoundRobin', 'Random', 'LeastRequest'])('new with %s: still written', (type) => {
    expect(inForce([[SERVICE, { hashPolicies: list('new'), loadBalancer: { type } }]]).service.hashes).toEqual(list('new'));
  });

  it.each([
    [
      'old over new',
      [
        [SERVICE, { hashPolicies: list('new') }],
        [SERVICE, ring(list('old'))],
      ],
    ],
    [
      'new over old',
      [
        [SERVICE, ring(list('old'))],
        [SERVICE, { hashPolicies: list('new') }],
      ],
    ],
    [
      'Mesh new, MeshService old',
      [
        [MESH, { hashPolicies: list('new') }],
        [SERVICE, ring(list('old'))],
      ],
    ],
  ] as const)('old and new from different policies, %s: both stay in the conf, new wins', (_, policies) => {
    expect(inForce(policies).service).toEqual({ conf: { ...ring(list('old')), hashPolicies: list('new') }, hashes: list('new') });
  });

  it('a stronger policy sets Maglev without a list: ringHash remains as dead data, no hashing', () => {
    const { service } = inForce([
      [SERVICE, ring(list('old'))],
      [SERVICE, maglev()],
    ]);
    expect(service.hashes).toBeNull();
    expect(service.conf).toEqual({ loadBalancer: { type: 'Maglev', maglev: {}, ringHash: { hashPolicies: list('old') } } });
  });

  it("old lists of both types: the final type's", () => {
    expect(
      inForce([
        [SERVICE, ring(list('ring'))],
        [SERVICE, maglev(list('maglev'))],
      ]).service.hashes,
    ).toEqual(list('maglev'));
    expect(
      inForce([
        [SERVICE, maglev(list('maglev'))],
        [SERVICE, ring(list('ring'))],
      ]).service.hashes,
    ).toEqual(list('ring'));
  });

  it('a stronger [] turns hashing off', () => {
    expect(
      inForce([
        [SERVICE, ring(list('old'))],
        [SERVICE, { hashPolicies: [] }],
      ]).service.hashes,
    ).toEqual([]);
    expect(
      inForce([
        [SERVICE, { hashPolicies: list('new') }],
        [SERVICE, { hashPolicies: [] }],
      ]).service.hashes,
    ).toEqual([]);
  });

  it('MeshService old, route new (example 2): that route new, other routes old', () => {
    const { service, route1, route2 } = inForce([
      [SERVICE, ring(list('old'))],
      [ROUTE, { hashPolicies: list('new') }],
    ]);
    expect(route1).toEqual({ conf: { ...ring(list('old')), hashPolicies: list('new') }, hashes: list('new') });
    expect(route2).toEqual(service);
    expect(service).toEqual({ conf: ring(list('old')), hashes: list('old') });
  });

  it('an empty item on a route leaves the hash policies of the service in force (D13)', () => {
    const policies = [[SERVICE, { ...ring(), hashPolicies: list('new') }]] as const;
    const { service, route1 } = inForce([...policies, [ROUTE, {}]]);
    expect(service.hashes).toEqual(list('new'));
    expect(route1).toEqual(service);
  });

  it('Mesh new, route new: of the Mesh only what a route can have (D12)', () => {
    const { route1 } = inForce([
      [MESH, { hashPolicies: list('mesh'), localityAwareness: { disabled: true } }],
      [ROUTE, { hashPolicies: list('new') }],
    ]);
    expect(route1.conf).toEqual({ hashPolicies: list('new') });
  });

  it('each policy is one origin of the conf of a route, though its load balancer and its list come from two rules', () => {
    const policies = [
      makeTo('MeshLoadBalancingStrategy', 'mesh', MESH, { ...ring(), hashPolicies: list('mesh') }),
      makeTo('MeshLoadBalancingStrategy', 'service', SERVICE, maglev()),
      makeTo('MeshLoadBalancingStrategy', 'route', ROUTE, { hashPolicies: list('new') }),
    ];
    const route = makeRoute('route-1', { name: 'backend' }, '/1');
    const index = new MeshIndex('default', [makeDataplane('client'), makeService('backend'), route, ...policies]);
    const [proxy] = index.proxies();
    if (proxy === undefined) throw new Error('no proxy');
    const rules = buildRules(index, proxy).types.find(({ type }) => type === 'MeshLoadBalancingStrategy');
    const rule = rules?.toRules.get('kri_mhttpr_default___route-1_');
    expect(rule?.contributions.map(({ policy, conf }) => [policy.displayName, Object.keys(conf).sort()])).toEqual([
      ['service', ['loadBalancer']],
      ['mesh', ['hashPolicies', 'loadBalancer']],
      ['route', ['hashPolicies']],
    ]);
  });
});
