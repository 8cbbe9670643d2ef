// The answers of the inspect API, as policies 8 prints them.
import { runSteps } from '../base/steps.ts';
import { describe, expect, it } from 'vitest';
import { make, makeDataplane, makeRoute, makeService, makeTo } from '../../test/policy/make-resource.ts';
import { buildRules, type ProxyRules } from './build-rules.ts';
import { effectiveConf } from './effective-conf.ts';
import {
  inboundPoliciesView,
  layoutView,
  outboundPoliciesView,
  policiesView,
  policyDataplanesView,
  routePoliciesView,
  routesView,
  serviceDataplanesView,
} from './inspect-view.ts';
import { MeshIndex } from './mesh-index.ts';
import { rulesView } from './rules-view.ts';
import type { Labels, Resource } from '../resource/types.ts';

const web = makeDataplane('web-1', { zone: 'east', labels: { app: 'web' } });
const cart = makeService('cart', { zone: 'east' });
const withSelector = { ...cart, spec: { ...cart.spec, selector: { dataplaneLabels: { matchLabels: { app: 'web' } } } } };
const index = new MeshIndex('default', [
  web,
  withSelector,
  makeRoute('slow', { name: 'cart' }, '/slow'),
  make('MeshTCPRoute', 'tcp', {
    to: [{ targetRef: { kind: 'MeshService', name: 'cart' }, rules: [{ default: { backendRefs: [] } }] }],
  }),
  makeTo('MeshTimeout', 'slow-to', { kind: 'MeshHTTPRoute', name: 'slow' }, { http: { requestTimeout: '30s' } }),
  makeTo(
    'MeshTimeout',
    'all',
    { kind: 'Mesh' },
    { http: { requestTimeout: '5s', streamIdleTimeout: '1m0s' }, idleTimeout: '1h0m0s' },
  ),
  makeTo('MeshRetry', 'all', { kind: 'Mesh' }, { tcp: { maxConnectAttempt: 5 } }),
  make('MeshTimeout', 'in', {
    rules: [
      { matches: [{ spiffeID: { type: 'Prefix', value: 'spiffe://default' } }], default: { http: { requestTimeout: '2s' } } },
    ],
  }),
  make('MeshTrace', 'base', { default: { sampling: { overall: 80 } } }),
]);
const proxy = index.proxy('web-1.east');
if (proxy === undefined) throw new Error('no proxy');
const rules: ProxyRules = buildRules(index, proxy);
const OUTBOUND = 'kri_msvc_default_east__cart_80';
const SLOW = 'kri_mhttpr_default___slow_';

describe('_rules', () => {
  it('names resources, matches, origins', () => {
    const view = runSteps(rulesView(rules));
    const hash = 'q1w2=';
    expect(view['resource']).toEqual({ type: 'Dataplane', mesh: 'default', name: 'web-1.east', labels: web.labels });
    expect((view['httpMatches'] as { match: unknown }[]).map(({ match }) => ({ hash, match }))).toEqual([
      { hash, match: [{ path: { value: '/slow', type: 'PathPrefix' } }] },
    ]);
    const meta = (type: string, name: string): object => ({
      type,
      mesh: 'default',
      name,
      labels: { 'kuma.io/display-name': name, 'kuma.io/origin': 'global' },
    });
    expect((view['rules'] as { type: string }[]).find(({ type }) => type === 'MeshTimeout')).toEqual({
      type: 'MeshTimeout',
      warnings: [],
      toResourceRules: [
        {
          resourceMeta: { type: 'Mesh', mesh: '', name: 'default', labels: {} },
          resourceSectionName: '',
          conf: [{ http: { requestTimeout: '5s', streamIdleTimeout: '1m0s' }, idleTimeout: '1h0m0s' }],
          origin: [{ resourceMeta: meta('MeshTimeout', 'all'), ruleIndex: 0 }],
        },
        {
          resourceMeta: meta('MeshHTTPRoute', 'slow'),
          resourceSectionName: '',
          conf: [{ http: { requestTimeout: '30s', streamIdleTimeout: '1m0s' } }],
          origin: [
            { resourceMeta: meta('MeshTimeout', 'all'), ruleIndex: 0 },
            { resourceMeta: meta('MeshTimeout', 'slow-to'), ruleIndex: 0 },
          ],
        },
      ],
      inboundRules: [
        {
          inbound: { name: 'http', port: 8080, tags: null },
          rules: [
            {
              match: { spiffeID: { type: 'Prefix', value: 'spiffe://default' } },
              conf: [{ http: { requestTimeout: '2s' } }],
              origin: [{ resourceMeta: meta('MeshTimeout', 'in'), ruleIndex: 0 }],
            },
          ],
        },
      ],
    });
    expect((view['rules'] as { type: string }[]).map(({ type }) => type)).toEqual([
      'MeshHTTPRoute',
      'MeshTCPRoute',
      'MeshTrace',
      'MeshTimeout',
      'MeshRetry',
    ]);
  });
});

it('prints the matches of all routes by their hash, in any order of the routes', () => {
  const paths = ['/a', '/b', '/c', '/d', '/e'];
  const hashesOf = (order: readonly string[]): string[] => {
    const routes = order.map((path, at) => makeRoute(`r${String(at)}`, { name: 'cart' }, path));
    const routed = new MeshIndex('default', [web, withSelector, ...routes]);
    const client = routed.proxy('web-1.east');
    if (client === undefined) throw new Error('no proxy');
    return (runSteps(rulesView(buildRules(routed, client)))['httpMatches'] as { hash: string }[]).map(({ hash }) => hash);
  };
  const hashes = hashesOf(paths);
  expect(hashes).toHaveLength(paths.length);
  expect(hashes).toEqual([...hashes].sort());
  expect(hashesOf(paths.toReversed())).toEqual(hashes);
});

it('prints the clients of old rules with their tags, at each inbound', () => {
  const from = [{ targetRef: { kind: 'MeshSubset', tags: { app: 'shop' } }, default: { action: 'Allow' } }];
  const permitted = new MeshIndex('default', [web, make('MeshTrafficPermission', 'p', { from })]);
  const server = permitted.proxy('web-1.east');
  if (server === undefined) throw new Error('no proxy');
  const rules = [
    { from: { kind: 'MeshSubset', tags: { app: 'shop' } }, conf: [{ action: 'Allow' }], origin: [{ ruleIndex: 0 }] },
  ];
  expect(runSteps(rulesView(buildRules(permitted, server)))['rules']).toMatchObject([
    { type: 'MeshTrafficPermission', fromRules: [{ inbound: { name: 'http', port: 8080 }, rules }] },
  ]);
});

it('prints the tags of an inbound that has some', () => {
  const tagged = makeDataplane('tagged', { zone: 'east' }, { inbound: [{ port: 8080, tags: { 'kuma.io/service': 'web' } }] });
  const timeout = make('MeshTimeout', 'in', { rules: [{ default: { idleTimeout: '2s' } }] });
  const server = new MeshIndex('default', [tagged, timeout]).proxy(tagged.name);
  if (server === undefined) throw new Error('no proxy');
  const view = runSteps(rulesView(buildRules(new MeshIndex('default', [tagged, timeout]), server)));
  expect(view['rules']).toMatchObject([{ inboundRules: [{ inbound: { port: 8080, tags: { 'kuma.io/service': 'web' } } }] }]);
});

describe('the paths below a dataplane', () => {
  it('_policies', () => {
    expect(policiesView(rules)).toEqual({
      policies: [{ kind: 'MeshTrace', conf: { sampling: { overall: 80 } }, origins: [{ kri: 'kri_mtr_default___base_' }] }],
    });
  });

  it('_inbounds/{kri}/_policies', () => {
    expect(inboundPoliciesView(rules, 'kri_dp_default_east__web-1_http')).toEqual({
      policies: [
        {
          kind: 'MeshTimeout',
          rules: [
            {
              kri: 'kri_mt_default___in_',
              conf: { http: { requestTimeout: '2s' } },
              match: { spiffeID: { type: 'Prefix', value: 'spiffe://default' } },
            },
          ],
          origins: [{ kri: 'kri_mt_default___in_' }],
        },
      ],
    });
    expect(inboundPoliciesView(rules, 'kri_dp_default_east__web-1_none')).toBeNull();
  });

  it('_outbounds/{kri}/_policies', () => {
    expect(outboundPoliciesView(index, rules, OUTBOUND)).toMatchObject({
      policies: [
        { kind: 'MeshTimeout' },
        { kind: 'MeshRetry', conf: [{ tcp: { maxConnectAttempt: 5 } }], origins: [{ kri: 'kri_mr_default___all_' }] },
      ],
    });
    for (const kri of ['kri_msvc_default_east__none_80', 'kri_msvc_default_east__cart_81', 'nonsense', SLOW])
      expect(outboundPoliciesView(index, rules, kri)).toBeNull();
  });

  it('_outbounds/{kri}/_routes', () => {
    expect(routesView(index, rules, OUTBOUND)).toEqual({
      routes: [
        {
          kind: 'MeshHTTPRoute',
          rules: [
            {
              kri: SLOW,
              matches: [{ path: { value: '/slow', type: 'PathPrefix' } }],
              conf: { backendRefs: [{ kind: 'MeshService', name: 'slow', weight: 1 }] },
            },
          ],
          origins: [{ kri: SLOW }],
        },
        {
          kind: 'MeshTCPRoute',
          rules: [{ kri: '', matches: null, conf: { backendRefs: [] } }],
          origins: [{ kri: 'kri_mtcpr_default___tcp_' }],
        },
      ],
    });
  });

  it('_outbounds/{kri}/_routes/{kri}/_policies: the route, else the outbound (D13)', () => {
    expect(routePoliciesView(index, rules, OUTBOUND, `${SLOW}rule_0`)).toEqual({
      policies: [
        {
          kind: 'MeshTimeout',
          conf: [{ http: { requestTimeout: '30s', streamIdleTimeout: '1m0s' } }],
          origins: [{ kri: 'kri_mt_default___all_' }, { kri: 'kri_mt_default___slow-to_' }],
        },
        { kind: 'MeshRetry', conf: [{ tcp: { maxConnectAttempt: 5 } }], origins: [{ kri: 'kri_mr_default___all_' }] },
      ],
    });
    expect(routePoliciesView(index, rules, OUTBOUND, 'kri_mhttpr_default___none_')).toBeNull();
  });

  it('_layout', () => {
    expect(layoutView(index, proxy)).toMatchObject({
      kri: 'kri_dp_default_east__web-1_',
      inbounds: [
        { kri: 'kri_dp_default_east__web-1_http', port: 8080, protocol: 'http', proxyResourceName: 'self_inbound_dp_http' },
      ],
      listeners: [],
      outbounds: [
        { kri: OUTBOUND, port: 80, protocol: 'http', proxyResourceName: OUTBOUND },
        { kri: 'kri_msvc_default_east__cart_admin', port: 90, protocol: 'tcp' },
      ],
    });
  });
});

it('_resources/dataplanes and _dataplanes list proxies', () => {
  const policy = index.policy('MeshTimeout', 'all');
  if (policy === undefined) throw new Error('no policy');
  const items = [{ type: 'Dataplane', mesh: 'default', name: 'web-1.east', labels: web.labels }];
  expect(policyDataplanesView(index, policy)).toEqual(items);
  expect(serviceDataplanesView(index, withSelector)).toEqual(items);
  expect(serviceDataplanesView(index, cart)).toEqual([]);
});

it('the proxies of a policy come by their names, and those of one name by their KRIs', () => {
  const proxies = [
    makeDataplane('b', { zone: 'east' }),
    makeDataplane('a', { zone: 'west' }),
    makeDataplane('c', { zone: 'a' }),
    makeDataplane('a', { zone: 'east' }),
  ];
  const everywhere = new MeshIndex('default', [...proxies, make('MeshTrace', 'base', { default: {} })]);
  const policy = everywhere.policy('MeshTrace', 'base');
  if (policy === undefined) throw new Error('no policy');
  expect(policyDataplanesView(everywhere, policy).map(({ name }) => name)).toEqual(['a.east', 'a.west', 'b.east', 'c.a']);
});

it('effective conf names the origin of each value', () => {
  const { outbounds, inbounds } = effectiveConf(index, rules);
  const [cartHttp, cartAdmin] = outbounds;
  const timeout = cartHttp?.routes[0]?.policies.find(({ type }) => type === 'MeshTimeout');
  expect(timeout?.source).toBe('route');
  expect(timeout?.values.map(({ path, value, from }) => [path, value, from.map(({ policy }) => policy.displayName)])).toEqual([
    ['http.requestTimeout', '30s', ['slow-to']],
    ['http.streamIdleTimeout', '1m0s', ['all']],
  ]);
  expect(cartHttp?.policies.find(({ type }) => type === 'MeshTimeout')?.source).toBe('mesh');
  expect(cartHttp?.routes.map(({ kind, note }) => [kind, note])).toEqual([
    ['MeshHTTPRoute', null],
    ['MeshTCPRoute', 'a MeshHTTPRoute on the same port comes first'],
  ]);
  expect(cartAdmin?.routes[0]?.note).toMatch(/protocol is tcp/);
  expect(inbounds.map(({ type, catchAll }) => [type, catchAll])).toEqual([['MeshTimeout', {}]]);
});

const READY = { conditions: [{ type: 'Ready', status: 'True', reason: 'Ready' }] };

function identity(name: string, matchLabels: Labels, path = `/${name}`, labels: Labels = {}): Resource {
  const spec = { selector: { dataplane: { matchLabels } }, spiffeID: { trustDomain: 't.example', path } };
  const row = make('MeshIdentity', name, spec);
  return { ...row, labels: { ...row.labels, ...labels }, status: READY };
}

/** The SPIFFE ID that the layout of a proxy of zone east with the labels la and lb says. */
function idWith(...identities: Resource[]): unknown {
  const index = new MeshIndex('default', [makeDataplane('web-1', { zone: 'east', labels: { la: '1', lb: '2' } }), ...identities]);
  const [proxy] = [...index.proxies()];
  return proxy === undefined ? 'no proxy' : layoutView(index, proxy)['spiffeId'];
}

describe('the SPIFFE ID of a proxy', () => {
  it('is that of the MeshIdentity with the most labels', () => {
    expect(idWith(identity('a', { la: '1' }), identity('b', { la: '1', lb: '2' }), identity('c', {}))).toBe(
      'spiffe://t.example/b',
    );
  });

  it('is that of the first MeshIdentity by name when several have equally many labels', () => {
    expect(idWith(identity('b', { la: '1' }), identity('a', { lb: '2' }))).toBe('spiffe://t.example/a');
  });

  it('is omitted when the template needs a value that the proxy lacks', () => {
    expect(idWith(identity('a', { la: '1' }, '/wl/{{ .Workload }}'), identity('b', {}))).toBeUndefined();
  });

  it('is omitted when no ready MeshIdentity of its zone selects the proxy', () => {
    expect(idWith()).toBeUndefined();
    expect(idWith(identity('a', { la: '2' }))).toBeUndefined();
    expect(idWith({ ...identity('a', {}), status: {} })).toBeUndefined();
    expect(idWith(identity('a', {}, '/a', { 'kuma.io/zone': 'west' }))).toBeUndefined();
    expect(idWith(identity('a', {}, '/a', { 'kuma.io/zone': 'east' }))).toBe('spiffe://t.example/a');
  });
});

describe('the protocol of an inbound', () => {
  it.each([
    [{ port: 1, protocol: 'http' }, 'http'],
    [{ port: 1, tags: { 'kuma.io/protocol': 'grpc' } }, 'grpc'],
    [{ port: 1, protocol: 'http', tags: { 'kuma.io/protocol': 'grpc' } }, 'http'],
    [{ port: 1 }, ''],
  ])('%j is %j', (inbound, protocol) => {
    const dataplane = make('Dataplane', 'd', { networking: { address: '10.0.0.1', inbound: [inbound] } });
    const index = new MeshIndex('default', [dataplane]);
    const [proxy] = [...index.proxies()];
    expect(proxy === undefined ? null : layoutView(index, proxy)['inbounds']).toMatchObject([{ protocol }]);
  });
});
