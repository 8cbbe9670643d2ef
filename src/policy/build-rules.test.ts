// Resource rules of a proxy: keys, sections, what a route's key holds, old rules, zone proxies (policies 3, 6; D12, D14).
import { describe, expect, it } from 'vitest';
import { make, makeDataplane, makeRoute, makeService, makeTo } from '../../test/policy/make-resource.ts';
import type { Json, JsonObject, Resource } from '../resource/types.ts';
import { buildRules, type TypeRules } from './build-rules.ts';
import { MeshIndex } from './mesh-index.ts';

const client = makeDataplane('client');
const SERVICE = { kind: 'MeshService', name: 'backend' };
const ROUTE = { kind: 'MeshHTTPRoute', name: 'r' };
const MESH = { kind: 'Mesh' };
const S = 'kri_msvc_default___backend_';
const R = 'kri_mhttpr_default___r_';
const M = 'kri_m____default_';
const http = (requestTimeout: string, more: JsonObject = {}): JsonObject => ({ http: { requestTimeout, ...more } });

function rulesOf(type: string, resources: readonly Resource[], proxy: Resource = client): TypeRules | undefined {
  const index = new MeshIndex('default', [proxy, ...resources]);
  const parsed = index.proxy(proxy.name);
  if (parsed === undefined) throw new Error('no proxy');
  return buildRules(index, parsed).types.find((rules) => rules.type === type);
}

function confs(rules: TypeRules | undefined): Record<string, Json> {
  return Object.fromEntries([...(rules?.toRules.values() ?? [])].map(({ kri, conf }) => [kri, conf[0] ?? null]));
}

describe('keys', () => {
  it('are the resolved references: the mesh, a service and its sections, and nothing unreferenced', () => {
    const rules = rulesOf('MeshTimeout', [
      makeService('backend'),
      makeService('other'),
      makeTo('MeshTimeout', 'mesh', MESH, { idleTimeout: '1s', connectionTimeout: '1s' }),
      makeTo('MeshTimeout', 'service', SERVICE, { connectionTimeout: '2s' }),
      makeTo('MeshTimeout', 'port', { ...SERVICE, sectionName: 'admin' }, http('3s')),
      makeTo('MeshTimeout', 'no-port', { ...SERVICE, sectionName: 'none' }, http('4s')),
    ]);
    expect(confs(rules)).toEqual({
      [M]: { idleTimeout: '1s', connectionTimeout: '1s' },
      [S]: { idleTimeout: '1s', connectionTimeout: '2s' },
      [`${S}admin`]: { idleTimeout: '1s', connectionTimeout: '2s', http: { requestTimeout: '3s' } },
    });
    expect(rules?.warnings).toEqual([
      'MeshTimeout no-port: spec.to[0].targetRef: MeshService backend section none does not exist: no such port',
    ]);
  });

  it('do not exist for unresolved references, which are warnings', () => {
    const rules = rulesOf('MeshTimeout', [
      makeTo('MeshTimeout', 'nothing', SERVICE, http('1s')),
      makeTo('MeshTimeout', 'wrong', { kind: 'Dataplane', name: 'client' }, http('1s')),
    ]);
    expect(confs(rules)).toEqual({});
    expect(rules?.warnings).toEqual([
      'MeshTimeout nothing: spec.to[0].targetRef: MeshService backend does not exist',
      'MeshTimeout wrong: spec.to[0].targetRef: MeshTimeout cannot be configured on a Dataplane',
    ]);
  });

  it('have each contribution with the index of its item, in merge order', () => {
    const policy = make('MeshTimeout', 'p', {
      to: [
        { targetRef: SERVICE, default: http('1s') },
        { targetRef: MESH, default: http('2s') },
        { targetRef: SERVICE, default: http('3s') },
      ],
    });
    const rules = rulesOf('MeshTimeout', [makeService('backend'), policy]);
    expect(rules?.toRules.get(S)?.contributions.map(({ index }) => index)).toEqual([1, 0, 2]);
    expect(confs(rules)[S]).toEqual(http('3s'));
  });
});

describe("a route's key", () => {
  const route = makeRoute('r', { name: 'backend' });

  it('has the items of the route over those of the Mesh, and only fields that a route can have (D12)', () => {
    const rules = rulesOf('MeshTimeout', [
      makeService('backend'),
      route,
      makeTo('MeshTimeout', 'a-mesh', MESH, {
        ...http('1s', { streamIdleTimeout: '1m0s', maxStreamDuration: '1s' }),
        idleTimeout: '1h0m0s',
      }),
      makeTo('MeshTimeout', 'a-service', SERVICE, http('2s', { streamIdleTimeout: '2m0s' })),
      makeTo('MeshTimeout', 'z-route', ROUTE, { ...http('3s'), connectionTimeout: '3s' }),
      makeTo('MeshTimeout', 'a-consumer', MESH, { connectionTimeout: '4s' }, { role: 'consumer' }),
    ]);
    expect(confs(rules)[R]).toEqual(http('3s', { streamIdleTimeout: '1m0s' }));
    expect(rules?.toRules.get(R)?.contributions.map(({ policy }) => policy.displayName)).toEqual(['a-mesh', 'z-route']);
  });

  it.each<[string, JsonObject, JsonObject]>([
    ['MeshTimeout', { idleTimeout: '1s', ...http('1s') }, { idleTimeout: '1s' }],
    ['MeshRetry', { tcp: { maxConnectAttempt: 2 }, http: { numRetries: 1 } }, { tcp: { maxConnectAttempt: 2 } }],
    [
      'MeshLoadBalancingStrategy',
      { hashPolicies: [{ type: 'Header', header: { name: 'x' } }, { type: 'Connection' }], loadBalancer: { type: 'Maglev' } },
      { hashPolicies: [{ type: 'Connection' }] },
    ],
    ['MeshAccessLog', { backends: [] }, { backends: [] }],
  ])('of a MeshTCPRoute for %s has only what D11 allows', (type, conf, expected) => {
    const tcp = make('MeshTCPRoute', 'r', { to: [{ targetRef: SERVICE, rules: [] }] });
    const found = rulesOf(type, [makeService('backend'), tcp, makeTo(type, 'p', { kind: 'MeshTCPRoute', name: 'r' }, conf)]);
    expect(confs(found)).toEqual({ kri_mtcpr_default___r_: expected });
  });

  it('exists only for types that a route can be configured with', () => {
    expect(
      confs(rulesOf('MeshCircuitBreaker', [route, makeTo('MeshCircuitBreaker', 'p', ROUTE, { connectionLimits: {} })])),
    ).toEqual({});
  });

  it('exists only on proxies that have the route', () => {
    const elsewhere = makeRoute('r', { name: 'backend' }, '/', {}, { kind: 'Dataplane', name: 'other' });
    expect(confs(rulesOf('MeshTimeout', [elsewhere, makeTo('MeshTimeout', 'p', ROUTE, http('1s'))]))).toEqual({});
  });

  it('replaces old rules (D14)', () => {
    const old = makeTo('MeshTimeout', 'old', MESH, http('7s'), {}, ROUTE);
    const mesh = makeTo('MeshTimeout', 'mesh', MESH, http('1s', { streamIdleTimeout: '1m0s' }));
    const alone = rulesOf('MeshTimeout', [route, old, mesh]);
    expect(alone?.oldRules).toMatchObject([{ kri: R, destination: null, conf: http('7s', { streamIdleTimeout: '1m0s' }) }]);
    const both = rulesOf('MeshTimeout', [route, old, mesh, makeTo('MeshTimeout', 'new', ROUTE, http('5s'))]);
    expect(both?.oldRules).toEqual([]);
    expect(confs(both)[R]).toEqual(http('5s', { streamIdleTimeout: '1m0s' }));
  });
});

describe('old rules of one route', () => {
  const route = makeRoute('r', { name: 'backend' });
  const weak = makeTo('MeshTimeout', 'b', MESH, http('7s', { streamIdleTimeout: '1m0s' }), {}, ROUTE);
  const strong = makeTo('MeshTimeout', 'a', MESH, http('5s'), {}, ROUTE);
  const service = makeTo('MeshTimeout', 'c', SERVICE, http('3s'), {}, ROUTE);
  const other = makeRoute('q', { name: 'backend' });
  const onOther = makeTo('MeshTimeout', 'd', MESH, http('2s'), {}, { ...ROUTE, name: 'q' });

  it.each([
    ['one order of arrival', [weak, strong, service, onOther]],
    ['the other', [onOther, service, strong, weak]],
  ])('merge by precedence, for each service that they name, in %s', (_, policies) => {
    const found = rulesOf('MeshTimeout', [route, other, makeService('backend'), ...policies])?.oldRules ?? [];
    const shown = found.map(({ kri, destination, conf, contributions }) => [
      ...[kri, destination, conf['http']],
      contributions.map(({ policy }) => policy.displayName),
    ]);
    expect(shown).toEqual([
      ['kri_mhttpr_default___q_', null, { requestTimeout: '2s' }, ['d']],
      [R, null, { requestTimeout: '5s', streamIdleTimeout: '1m0s' }, ['b', 'a']],
      [R, S, { requestTimeout: '3s', streamIdleTimeout: '1m0s' }, ['b', 'a', 'c']],
    ]);
  });
});

describe('policies about the whole proxy', () => {
  it('merge, and lists under append keys grow', () => {
    const patch = (name: string, value: string): Resource =>
      make('MeshProxyPatch', name, { default: { appendModifications: [value] } });
    expect(rulesOf('MeshProxyPatch', [patch('a', 'strong'), patch('b', 'weak')])?.proxyRule?.conf).toEqual({
      appendModifications: ['weak', 'strong'],
    });
  });
});

describe('inbound rules', () => {
  const inbound = (name: string, rules: JsonObject[], top?: JsonObject): Resource =>
    make('MeshTimeout', name, { rules, ...(top !== undefined && { targetRef: top }) });
  const spiffe = (type: string): JsonObject => ({ spiffeID: { type, value: 'spiffe://a/b' } });

  it('are one for each match: exact before prefix before none, a server name before none, the weakest policy first', () => {
    const rules = rulesOf('MeshTimeout', [
      inbound('b', [{ default: http('1s') }, { matches: [spiffe('Prefix'), spiffe('Exact')], default: http('2s') }]),
      inbound('a', [
        { matches: [{ spiffeId: { type: 'Exact', value: 'x' }, sni: { type: 'Exact', value: 's' } }], default: http('3s') },
        { default: http('4s') },
      ]),
    ]);
    const [section] = rules?.inboundRules ?? [];
    expect(section?.rules.map(({ match, conf }) => [match === null ? null : Object.keys(match).sort(), conf])).toEqual([
      [['sni', 'spiffeID'], http('3s')],
      [['spiffeID'], http('2s')],
      [['spiffeID'], http('2s')],
      [null, http('1s')],
      [null, http('4s')],
    ]);
    expect(section?.rules[1]?.match).toEqual(spiffe('Exact'));
  });

  it('are on the sections that the policy selects, zone listeners included', () => {
    const zoneProxy = makeDataplane(
      'zp',
      {},
      {
        inbound: [],
        zoneEgress: { address: '10.0.0.1', port: 10002, name: 'ze' },
        zoneIngress: { address: '10.0.0.1', port: 10001, name: 'zi' },
      },
    );
    const one = inbound('one', [{ default: http('1s') }], { kind: 'Dataplane', sectionName: 'ze' });
    const all = inbound('all', [{ default: http('2s') }]);
    const found = rulesOf('MeshTimeout', [one, all], zoneProxy)?.inboundRules ?? [];
    expect(found.map(({ section, rules }) => [section.section, rules.map(({ policy }) => policy.displayName)])).toEqual([
      ['zi', ['all']],
      ['ze', ['all', 'one']],
    ]);
  });

  it('are ordered by the top-level kind before the role: D10 is about to[] alone', () => {
    const breaker = (name: string, role: string, targetRef: JsonObject): Resource =>
      make('MeshCircuitBreaker', name, { targetRef, rules: [{ default: {} }] }, { namespace: 'shop', role });
    const web = makeDataplane('web', { namespace: 'shop', labels: { app: 'web' } });
    const found = rulesOf(
      'MeshCircuitBreaker',
      [
        breaker('narrow', 'producer', { kind: 'Dataplane', labels: { app: 'web' } }),
        breaker('wide', 'consumer', { kind: 'Mesh' }),
      ],
      web,
    );
    expect(found?.inboundRules[0]?.rules.map(({ policy }) => policy.displayName)).toEqual(['wide', 'narrow']);
  });

  it('have no match for a type without matches', () => {
    const conf = { connectionLimits: { maxConnections: 1 } };
    const matches = [{ spiffeID: { type: 'Exact', value: 'spiffe://a/b' } }];
    const found = rulesOf('MeshCircuitBreaker', [make('MeshCircuitBreaker', 'p', { rules: [{ matches, default: conf }] })]);
    expect(found?.inboundRules[0]?.rules).toMatchObject([{ match: null, conf }]);
  });

  it('read from[] as rules without a match when rules is empty, and keep clients for types that distinguish them', () => {
    const from = [{ targetRef: { kind: 'Mesh' }, default: { action: 'Allow' } }];
    const timeouts = rulesOf('MeshTimeout', [
      make('MeshTimeout', 'p', { from }),
      make('MeshTimeout', 'q', { from, rules: [{ default: http('1s') }] }),
    ]);
    expect(timeouts?.inboundRules[0]?.rules.map(({ conf }) => conf)).toEqual([http('1s'), { action: 'Allow' }]);
    const permissions = rulesOf('MeshTrafficPermission', [make('MeshTrafficPermission', 'p', { from })]);
    expect(permissions?.inboundRules[0]).toMatchObject({
      rules: [],
      fromRules: [{ from: { kind: 'Mesh' }, conf: { action: 'Allow' } }],
    });
  });

  it('read from[] of a MeshFaultInjection as rules without a match where its kind is Mesh', () => {
    const fault = (httpStatus: number): JsonObject => ({ http: [{ abort: { httpStatus, percentage: 100 } }] });
    const from = [
      { targetRef: { kind: 'Mesh' }, default: fault(500) },
      { targetRef: { kind: 'MeshSubset', tags: { app: 'a' } }, default: fault(501) },
      { targetRef: { kind: 'Mesh', proxyTypes: ['Gateway'] }, default: fault(502) },
    ];
    const found = rulesOf('MeshFaultInjection', [
      make('MeshFaultInjection', 'p', { from }),
      make('MeshFaultInjection', 'q', { from, rules: [{ default: fault(503) }] }),
    ]);
    const [section] = found?.inboundRules ?? [];
    expect(section?.rules).toMatchObject([
      { match: null, conf: fault(503) },
      { match: null, conf: fault(500) },
    ]);
    expect(new Set(section?.fromRules.map(({ index }) => index))).toEqual(new Set([1, 2]));
  });
});

it('are built from any input without an error', () => {
  const bad = (spec: JsonObject): Resource => make('MeshTimeout', 'bad', spec);
  for (const spec of [
    {},
    { to: 'x' },
    { to: [null, 1, {}] },
    { targetRef: 3, to: [{ targetRef: [], default: 1 }] },
    { rules: [{ matches: 'x' }], from: {} },
  ])
    expect(() => rulesOf('MeshTimeout', [bad(spec)])).not.toThrow();
});
