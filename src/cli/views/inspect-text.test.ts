// The text output of `inspect dataplane`, `inspect policy` and `explain-sync`: within 80 columns, every value with its origin.
import { describe, expect, it } from 'vitest';
import { make, makeDataplane, makeRoute, makeService, makeTo } from '../../../test/policy/make-resource.ts';
import { effectiveHead, effectiveOutboundView } from '../../inspect/effective-view.ts';
import { globalSendRules } from '../../kds/protocol/rules.ts';
import { explainOnGlobal } from '../../inspect/explain-sync.ts';
import { reachHead, touchedView } from '../../inspect/reach-view.ts';
import { buildRules } from '../../policy/build-rules.ts';
import { MeshIndex } from '../../policy/mesh-index.ts';
import { outboundsOf } from '../../policy/proxy-outbounds.ts';
import { runSteps } from '../../base/steps.ts';
import { policyReach } from '../../policy/policy-reach.ts';
import type { JsonObject } from '../../resource/types.ts';
import type { Answer } from '../../answers/answers.ts';
import { describeEffective } from './effective-text.ts';
import { describeSync } from './sync-text.ts';
import { describeReach } from './policy-reach-text.ts';
import { longName, shortName } from './kri-text.ts';
import { ANY_ZONE } from '../../resource/zone-profile.ts';

const HASH = [{ type: 'Header', header: { name: 'x-a-rather-long-header-name-of-a-shop' } }];
const index = new MeshIndex('default', [
  makeDataplane('web-1', { zone: 'east', namespace: 'web' }),
  ...['cart', 'pay', 'ship', 'stock', 'user'].map((name) => makeService(name, { zone: 'east', namespace: 'shop' })),
  makeRoute('slow', { labels: { 'kuma.io/display-name': 'cart' } }, '/slow'),
  makeTo('MeshTimeout', 'all', { kind: 'Mesh' }, { connectionTimeout: '5s', http: { requestTimeout: '15s' } }),
  makeTo('MeshTimeout', 'slow', { kind: 'MeshHTTPRoute', name: 'slow' }, { http: { requestTimeout: '30s' } }),
  makeTo('MeshLoadBalancingStrategy', 'hash', { kind: 'Mesh' }, { hashPolicies: HASH, loadBalancer: { type: 'RingHash' } }),
  makeTo('MeshTimeout', 'lost', { kind: 'MeshService', name: 'gone' }, { connectionTimeout: '1s' }),
  make('MeshTimeout', 'in', {
    rules: [
      { matches: [{ spiffeID: { type: 'Prefix', value: 'spiffe://default' } }], default: { http: { requestTimeout: '2s' } } },
      { default: { idleTimeout: '7s' } },
    ],
  }),
  make('MeshTrace', 'base', { default: { sampling: { overall: 80 } } }),
]);

function effective(of: MeshIndex = index): Answer<'Effective'> {
  const proxy = [...of.proxies()][0];
  if (proxy === undefined) throw new Error('no proxy');
  const rules = buildRules(of, proxy);
  const outbounds = outboundsOf(of, proxy).map((outbound) => runSteps(effectiveOutboundView(of, rules, outbound)));
  return { ...effectiveHead(rules), outbounds, total: outbounds.length };
}

function reachOf(name: string): Answer<'Reach'> {
  const policy = index.policy('MeshTimeout', name);
  if (policy === undefined) throw new Error(`no policy ${name}`);
  const reach = runSteps(policyReach(index, policy));
  return { ...reachHead(reach), touched: reach.touched.map(touchedView), total: reach.touched.length };
}

function widest(text: string): number {
  return Math.max(...text.split('\n').map((line) => line.length));
}

describe('a proxy', () => {
  it('shows refused and left out resources first', () => {
    const refused = {
      kind: 'refused',
      at: 'Listener self_inbound_dp_http',
      reason: 'in use\u001b[2J',
      time: '2026-01-01T00:00:00Z',
    } as const;
    const leftOut = { kind: 'leftOut', at: 'networking.outbound[0]', reason: 'no such port', policies: [] } as const;
    const policies = ['kri_mt_default___in_', 'kri_mt_default___all_'];
    const shown = { ...effective(), problems: [{ ...refused, policies }, leftOut] };
    const text = describeEffective(shown, 'default', { wide: false });
    expect(text.slice(text.indexOf('REFUSED'), text.indexOf('WHOLE PROXY'))).toBe(
      [
        'REFUSED: Listener self_inbound_dp_http since 2026-01-01T00:00:00Z',
        '  in use\\u001b[2J',
        '  policies on it, last changed first: in, all',
        '',
        'LEFT OUT: networking.outbound[0]',
        '  no such port',
        '',
        '',
      ].join('\n'),
    );
  });

  it('is printed in 80 columns, and shared conf of outbounds once', () => {
    const text = describeEffective(effective(), 'default', { wide: false });
    expect(text).toMatchInlineSnapshot(`
      "Dataplane web-1.web (east)
      kri_dp_default_east_web_web-1_

      warning: MeshTimeout lost: spec.to[0].targetRef: MeshService gone does not exist

      WHOLE PROXY
        POLICY      CONF                  FROM
        MeshTrace   sampling.overall=80   base

      INBOUND http: port 8080, http
        MeshTimeout, for Prefix spiffe://default, from in
          FIELD                 VALUE
          http.requestTimeout   2s
        MeshTimeout, for all requests, from in #1
          FIELD         VALUE
          idleTimeout   7s

      OUTBOUND MeshService cart.shop (east) 80: port 80, http
        MeshLoadBalancingStrategy, key of the mesh
          FIELD               VALUE                                               FROM
          hashPolicies        Header                                              hash
                              header.name=x-a-rather-long-header-name-of-a-shop
          loadBalancer.type   RingHash                                            hash
        MeshTimeout, key of the mesh
          FIELD                 VALUE   FROM
          connectionTimeout     5s      all
          http.requestTimeout   15s     all
        ROUTE MeshHTTPRoute slow: PathPrefix /slow
          to slow
          MeshTimeout, key of the route
            FIELD                 VALUE   FROM
            http.requestTimeout   30s     slow
          as on the outbound: MeshLoadBalancingStrategy

      OUTBOUND MeshService cart.shop (east) admin: port 90, tcp
        MeshLoadBalancingStrategy, key of the mesh
          FIELD               VALUE                                               FROM
          hashPolicies        Header                                              hash
                              header.name=x-a-rather-long-header-name-of-a-shop
          loadBalancer.type   RingHash                                            hash
        MeshTimeout, key of the mesh
          FIELD                 VALUE   FROM
          connectionTimeout     5s      all
          http.requestTimeout   15s     all
        ROUTE MeshHTTPRoute slow: PathPrefix /slow
          no effect: the port's protocol is tcp: HTTP routes need http, http2 or grpc

      OUTBOUND MeshService pay.shop (east) 80: port 80, http
               MeshService ship.shop (east) 80: port 80, http
               MeshService stock.shop (east) 80: port 80, http
               and 1 more with the same conf (-o wide names them)
        MeshLoadBalancingStrategy, key of the mesh
          FIELD               VALUE                                               FROM
          hashPolicies        Header                                              hash
                              header.name=x-a-rather-long-header-name-of-a-shop
          loadBalancer.type   RingHash                                            hash
        MeshTimeout, key of the mesh
          FIELD                 VALUE   FROM
          connectionTimeout     5s      all
          http.requestTimeout   15s     all

      OUTBOUND MeshService pay.shop (east) admin: port 90, tcp
               MeshService ship.shop (east) admin: port 90, tcp
               MeshService stock.shop (east) admin: port 90, tcp
               and 1 more with the same conf (-o wide names them)
        MeshLoadBalancingStrategy, key of the mesh
          FIELD               VALUE                                               FROM
          hashPolicies        Header                                              hash
                              header.name=x-a-rather-long-header-name-of-a-shop
          loadBalancer.type   RingHash                                            hash
        MeshTimeout, key of the mesh
          FIELD                 VALUE   FROM
          connectionTimeout     5s      all
          http.requestTimeout   15s     all"
    `);
    expect(widest(text)).toBeLessThanOrEqual(80);
  });

  it('shows the backends of a route with their shares, and its mirrors', () => {
    const shop = new MeshIndex('default', [
      makeDataplane('web-1', { zone: 'east' }),
      makeService('cart', { zone: 'east' }),
      make('MeshHTTPRoute', 'canary', {
        to: [
          {
            targetRef: { kind: 'MeshService', labels: { 'kuma.io/display-name': 'cart' } },
            rules: [
              {
                matches: [{ path: { type: 'PathPrefix', value: '/' } }],
                default: {
                  filters: [
                    {
                      type: 'RequestMirror',
                      requestMirror: { backendRef: { kind: 'MeshService', name: 'audit', port: 80 }, percentage: 5 },
                    },
                  ],
                  backendRefs: [
                    { kind: 'MeshService', name: 'cart-v1', port: 80, weight: 90 },
                    { kind: 'MeshService', labels: { version: 'v2' }, port: 80, weight: 10 },
                  ],
                },
              },
            ],
          },
        ],
      }),
    ]);
    const text = describeEffective(effective(shop), 'default', { wide: false });
    expect(text).toContain('\n    to cart-v1:80 90 %, {version=v2}:80 10 %\n    mirrored to audit:80 5 %');
  });

  it('marks the hash policies that are not used, and those that do nothing', () => {
    const header = (name: string): JsonObject => ({ type: 'Header', header: { name } });
    const both = {
      loadBalancer: { type: 'RingHash', ringHash: { hashPolicies: [header('x-old')] } },
      hashPolicies: [header('x-user'), header('x-tenant')],
    };
    const textOf = (conf: JsonObject): string => {
      const rows = [makeDataplane('web-1', { zone: 'east' }), makeService('cart', { zone: 'east' })];
      const strategy = makeTo('MeshLoadBalancingStrategy', 'hash', { kind: 'Mesh' }, conf);
      return describeEffective(effective(new MeshIndex('default', [...rows, strategy])), 'default', { wide: false });
    };
    const found = textOf(both);
    expect(found).toMatch(/ringHash\.hashPolicies \(not used\) +Header header\.name=x-old +hash/);
    expect(found).toMatch(/ hashPolicies +Header header\.name=x-user +hash\n +Header header\.name=x-tenant\n/);
    expect(found).not.toContain('note:');
    expect(textOf({ ...both, loadBalancer: { type: 'RoundRobin' } })).toContain(
      'note: hash policies do nothing under RoundRobin',
    );
    expect(textOf({ hashPolicies: [header('x')] })).toContain('note: hash policies do nothing under RoundRobin');
  });

  it('is printed with all columns when wide', () => {
    const text = describeEffective(effective(), 'default', { wide: true });
    expect(text).toContain(JSON.stringify(HASH));
    expect(text).toContain('MeshService user.shop (east) admin');
  });

  it('is printed with a note when it has no outbounds', () => {
    expect(describeEffective({ ...effective(), outbounds: [] }, 'default', { wide: false })).toContain('no outbounds');
  });
});

describe('a policy', () => {
  it('is printed with the proxies that it configures', () => {
    const text = describeReach(reachOf('all'), 'default', { wide: false });
    expect(text).toMatchInlineSnapshot(`
      "MeshTimeout all, a system policy
      kri_mt_default___all_

      touches 1 proxy

      PROXY              INBOUNDS   TO
      web-1.web (east)   http       Mesh default"
    `);
    expect(widest(text)).toBeLessThanOrEqual(80);
  });

  it('is printed with the reason when it configures no proxy', () => {
    expect(describeReach(reachOf('lost'), 'default', { wide: false })).toMatchInlineSnapshot(`
      "MeshTimeout lost, a system policy
      kri_mt_default___lost_

      warning: spec.to[0].targetRef: MeshService gone does not exist

      touches no proxy

      it leaves out
        1 proxy: it matches, but has no effect: MeshService gone does not exist"
    `);
  });
});

describe('sync', () => {
  it('prints for each zone whether the resource is sent, its name there, and the reason', () => {
    const resource = make('MeshTimeout', 'mine', { to: [] }, { zone: 'east', namespace: 'web', role: 'consumer' });
    const insight = {
      syncProblems: [{ stream: 'globalToZone', type: 'Mesh', kind: 'refused', resources: [], message: 'no such' }],
    };
    const zones = [
      { name: 'east', profile: ANY_ZONE, insight: {} },
      { name: 'west', profile: ANY_ZONE, insight },
    ];
    expect(describeSync(explainOnGlobal(globalSendRules(), resource, zones))).toMatchInlineSnapshot(`
      "MeshTimeout mine (stored as mine.web.east), as global sees it
      role consumer by its label, workload-owner by its spec

      TO     BY RULE   STATE   SINCE   NAME THERE
      east   no        -       -       -
      west   no        -       -       -

      east: only producer policies cross zones
      west: only producer policies cross zones"
    `);
    const mesh = make('Mesh', 'default', {});
    expect(describeSync(explainOnGlobal(globalSendRules(), mesh, zones))).toMatchInlineSnapshot(`
      "Mesh default, as global sees it

      TO     BY RULE   STATE   SINCE   NAME THERE
      east   yes       -       -       default
      west   yes       -       -       default

      east: written on global
      west: written on global
        refused: no such"
    `);
    expect(describeSync(explainOnGlobal(globalSendRules(), mesh, []))).toContain('no zone has joined yet');
  });
});

it.each([
  ['kri_msvc_default_east_shop_cart_http', 'cart.shop (east)', 'MeshService cart.shop (east) http'],
  ['kri_mt_default___all_', 'all', 'MeshTimeout all'],
  ['kri_m____my_mesh_', 'my_mesh', 'Mesh my_mesh'],
  ['kri_mt_other___all_', 'kri_mt_other___all_', 'kri_mt_other___all_'],
  ['nonsense', 'nonsense', 'nonsense'],
])('%s is read as %s', (kri, short, long) => {
  expect([shortName(kri, 'default'), longName(kri, 'default')]).toEqual([short, long]);
});
