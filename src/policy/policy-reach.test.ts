// The proxies that a policy affects, and the reasons for the others.
import { describe, expect, it } from 'vitest';
import { make, makeDataplane, makeRoute, makeService, makeTo } from '../../test/policy/make-resource.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import { MeshIndex } from './mesh-index.ts';
import { runSteps } from '../base/steps.ts';
import { policyReach, type PolicyReach } from './policy-reach.ts';

const base = [
  makeDataplane('web', { zone: 'east', namespace: 'shop' }),
  makeDataplane('api', { zone: 'east', namespace: 'other' }),
  makeDataplane('far', { zone: 'west', namespace: 'shop' }),
  makeService('backend', { zone: 'east', namespace: 'shop' }),
];
const OF_TCP = 'port 90 of MeshService backend has the protocol tcp, and HTTP routes need http, http2 or grpc';
const conf = { http: { requestTimeout: '1s' } };

function reach(policy: Resource, ...others: Resource[]): PolicyReach {
  const index = new MeshIndex('default', [...base, policy, ...others]);
  const parsed = index.policyOf(policy);
  if (parsed === undefined) throw new Error('not indexed');
  return runSteps(policyReach(index, parsed));
}

it('the reach of a policy lists the proxies with their sections and destinations', () => {
  const policy = makeTo('MeshTimeout', 'p', { kind: 'MeshService', name: 'backend' }, conf, {
    zone: 'east',
    namespace: 'shop',
    role: 'consumer',
  });
  const { touched, untouched, warnings } = reach(policy);
  expect(
    touched.map(({ proxy, sections, destinations }) => [proxy.displayName, sections.map(({ section }) => section), destinations]),
  ).toEqual([['web', ['http'], ['kri_msvc_default_east_shop_backend_']]]);
  expect(untouched).toEqual([
    { reason: 'belongs to zone east; only producer policies reach other zones', proxies: 1 },
    { reason: 'is a consumer policy of namespace shop and stays there', proxies: 1 },
  ]);
  expect(warnings).toEqual([]);
});

describe('the reach of a policy about an external service', () => {
  const bank = make('MeshExternalService', 'bank', { match: { type: 'HostnameGenerator', port: 443, protocol: 'http' } });
  const zoneProxy = (name: string, networking: object): Resource =>
    make('Dataplane', name, { networking: { address: '10.0.0.9', ...networking } }, { zone: 'east' });
  const proxies = [
    zoneProxy('egress', { zoneEgress: { address: '10.0.0.9', port: 10_002 } }),
    zoneProxy('ingress', { zoneIngress: { address: '10.0.0.9', port: 10_001 } }),
  ];
  const touchedBy = (type: string, kind: string, confOfType: JsonObject): unknown =>
    reach(makeTo(type, 'p', kind === 'Mesh' ? { kind } : { kind, name: 'bank' }, confOfType), bank, ...proxies).touched.map(
      ({ proxy }) => proxy.displayName,
    );

  it.each<[string, JsonObject, string[]]>([
    ['MeshCircuitBreaker', { connectionLimits: { maxConnections: 7 } }, ['api', 'egress', 'far', 'web']],
    ['MeshTimeout', conf, ['api', 'egress', 'far', 'web']],
    ['MeshRetry', { http: { numRetries: 3 } }, ['api', 'far', 'web']],
  ])('has the egress where it has an effect there, and never the ingress: %s', (type, confOfType, expected) => {
    expect(touchedBy(type, 'MeshExternalService', confOfType)).toEqual(expected);
    expect(touchedBy(type, 'Mesh', confOfType)).toEqual(expected);
  });

  it('says why it does not have a zone proxy', () => {
    const { untouched } = reach(makeTo('MeshRetry', 'p', { kind: 'Mesh' }, { http: { numRetries: 3 } }), ...proxies);
    expect(untouched.map(({ reason }) => reason).toSorted()).toEqual([
      'has no effect on a zone egress: a MeshRetry is for the proxies that send the requests',
      'has no effect on a zone ingress, which passes on the connections of other proxies',
    ]);
  });
});

it('the reach of a policy names routes that only other proxies have', () => {
  const route = makeRoute('r', { name: 'backend' }, '/', {}, { kind: 'Dataplane', labels: { 'kuma.io/display-name': 'web' } });
  const policy = makeTo(
    'MeshTimeout',
    'p',
    { kind: 'MeshHTTPRoute', name: 'r' },
    conf,
    {},
    { kind: 'Dataplane', labels: { 'kuma.io/display-name': 'api' } },
  );
  const { touched, untouched } = reach(policy, route);
  expect(touched).toEqual([]);
  expect(untouched.map(({ reason }) => reason)).toContain('is about MeshHTTPRoute r, which these proxies do not have');
});

it('the reach of a policy names objects that do not exist', () => {
  const { touched, untouched, warnings } = reach(makeTo('MeshTimeout', 'p', { kind: 'MeshService', name: 'nope' }, conf));
  expect(touched).toEqual([]);
  expect(untouched).toEqual([{ reason: 'matches, but has no effect: MeshService nope does not exist', proxies: 3 }]);
  expect(warnings).toEqual(['spec.to[0].targetRef: MeshService nope does not exist']);
});

it('the reach of a policy reports an empty mesh', () => {
  const policy = makeTo('MeshTimeout', 'p', { kind: 'Mesh' }, conf);
  const index = new MeshIndex('default', [policy]);
  const parsed = index.policyOf(policy);
  if (parsed === undefined) throw new Error('not indexed');
  expect(runSteps(policyReach(index, parsed))).toMatchObject({
    touched: [],
    untouched: [],
    warnings: ['the mesh has no Dataplanes'],
  });
});

it('the reach of a route names missing backends', () => {
  const backendRefs = [
    { kind: 'MeshService', name: 'backend', port: 90 },
    { kind: 'MeshService', name: 'backend', sectionName: 'admin' },
    { kind: 'MeshService', name: 'legacy_value_of_a_tag' },
    { kind: 'MeshService', name: 'backend', port: 91 },
    { kind: 'MeshExternalService', name: 'nope' },
  ];
  const filters = [{ type: 'RequestMirror', requestMirror: { backendRef: { kind: 'MeshService', name: 'mirror', port: 80 } } }];
  const rules = [{ matches: [{ path: { type: 'PathPrefix', value: '/' } }], default: { filters, backendRefs } }];
  const route = make('MeshHTTPRoute', 'r', { to: [{ targetRef: { kind: 'MeshService', name: 'backend' }, rules }] });
  const at = 'spec.to[0].rules[0].default';
  expect(reach(route).warnings).toEqual([
    `${at}.backendRefs[0]: ${OF_TCP}`,
    `${at}.backendRefs[1]: ${OF_TCP}`,
    `${at}.backendRefs[2]: MeshService legacy_value_of_a_tag does not exist`,
    `${at}.backendRefs[3]: MeshService backend has no port 91`,
    `${at}.backendRefs[4]: MeshExternalService nope does not exist`,
    `${at}.filters[0].requestMirror.backendRef: MeshService mirror does not exist`,
  ]);
});

it('the reach of a route warns of each backend that does not exist', () => {
  const backend = { kind: 'MeshService', name: 'backend' };
  const backendRefs = [
    { ...backend, port: 80 },
    { ...backend, port: 81 },
    { ...backend, sectionName: 'admin' },
    { ...backend, sectionName: 'none' },
    { kind: 'MeshService', name: 'tag' },
    { kind: 'MeshService', name: 'missing', port: 80 },
    { kind: 'MeshMultiZoneService', name: 'missing' },
  ];
  const filters = [{ type: 'RequestMirror', requestMirror: { backendRef: { ...backend, port: 82 } } }, { type: 'URLRewrite' }];
  const to = [{ targetRef: backend, rules: [{ default: {} }, { default: { backendRefs, filters } }] }];
  const route = make('MeshHTTPRoute', 'r', { to }, { zone: 'east', namespace: 'shop', role: 'consumer' });
  const at = 'spec.to[0].rules[1].default';
  expect(reach(route).warnings).toEqual([
    `${at}.backendRefs[1]: MeshService backend has no port 81`,
    `${at}.backendRefs[2]: ${OF_TCP}`,
    `${at}.backendRefs[3]: MeshService backend has no port none`,
    `${at}.backendRefs[4]: MeshService tag does not exist`,
    `${at}.backendRefs[5]: MeshService missing does not exist`,
    `${at}.backendRefs[6]: MeshMultiZoneService missing does not exist`,
    `${at}.filters[0].requestMirror.backendRef: MeshService backend has no port 82`,
  ]);
});

it('the reach of a policy says which proxies it tells nothing', () => {
  const whyNone = (policy: Resource, ...others: Resource[]): unknown => reach(policy, ...others).untouched;
  expect(whyNone(make('MeshTimeout', 'p', {}))).toEqual([{ reason: 'says nothing', proxies: 3 }]);
  const gateway = makeDataplane('gw', { zone: 'east' }, { inbound: [], gateway: { tags: { 'kuma.io/service': 'gw' } } });
  const named = { targetRef: { kind: 'Dataplane', name: 'gw' } };
  for (const section of ['rules', 'from'])
    expect(whyNone(make('MeshTimeout', 'p', { ...named, [section]: [{ default: conf }] }), gateway)).toEqual([
      { reason: 'targets Dataplane gw, which is not this one', proxies: 3 },
      { reason: 'has rules for inbounds, and there are none', proxies: 1 },
    ]);
});

it('the reach of a policy sorts proxies of one name by their KRI', () => {
  const again = makeDataplane('web', { zone: 'west', namespace: 'shop' });
  const { touched } = reach(makeTo('MeshTimeout', 'p', { kind: 'Mesh' }, conf), again);
  expect(touched.map(({ proxy }) => proxy.kri)).toEqual([
    ...['kri_dp_default_east_other_api_', 'kri_dp_default_west_shop_far_'],
    ...['kri_dp_default_east_shop_web_', 'kri_dp_default_west_shop_web_'],
  ]);
});

it('the reach of a policy of the old form ends where a policy of the new form names the route', () => {
  const route = makeRoute('r', { name: 'backend' }, '/');
  const old = makeTo('MeshTimeout', 'old', { kind: 'Mesh' }, conf, {}, { kind: 'MeshHTTPRoute', name: 'r' });
  expect(reach(old, route).touched).toHaveLength(3);
  const others = { kind: 'Dataplane', labels: { 'kuma.io/display-name': 'web' } };
  const overriding = makeTo('MeshTimeout', 'new', { kind: 'MeshHTTPRoute', name: 'r' }, conf, {}, others);
  const { touched, untouched } = reach(old, route, overriding);
  expect(touched.map(({ proxy }) => proxy.displayName)).not.toContain('web');
  expect(untouched).toContainEqual({
    reason: 'is overridden: another MeshTimeout names MeshHTTPRoute r in its to[]',
    proxies: 1,
  });
});
