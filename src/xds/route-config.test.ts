// The routes of an HTTP outbound: what each part of a rule adds to them, without a mesh.
import { describe, expect, it } from 'vitest';
import { makeRow } from '../../test/support/make-row.ts';
import type { EffectivePolicy } from '../policy/effective-conf.ts';
import type { HttpMatch, RouteConf, RouteFilter } from '../policies/routes.ts';
import { objectOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';
import { RouteSource } from './route-source.ts';
import type { Backend, Backends } from './backend.ts';
import type { BackendResolver } from './backends.ts';
import { confOf } from './conf-of.ts';
import { destinationsOf, outboundRoutes, routeConfiguration } from './route-config.ts';
import type { UsableOutbound, UsableRoute } from './usable-routes.ts';

const CART = 'kri_msvc_default_east__cart_http';
const EVERY: HttpMatch[] = [{ path: { type: 'PathPrefix', value: '/' } }];
const PAY: HttpMatch[] = [{ path: { type: 'Exact', value: '/pay' } }];

const target = (kri: string, type = 'MeshService') => ({
  ...{ kri, base: kri, section: 'http', port: 80, protocol: 'http', resource: makeRow(type, kri) },
});
const outboundOf = (routes: readonly UsableRoute[], policies: readonly EffectivePolicy[] = []): UsableOutbound => ({
  ...target(CART),
  ...{ routes, policies },
});
const rule = (
  fields: Partial<Pick<UsableRoute, 'kind' | 'policies'>> & { conf?: Partial<RouteConf>; matches?: HttpMatch[] | null },
) =>
  ({
    matches: PAY,
    conf: {},
    policies: [],
    kind: 'MeshHTTPRoute',
    note: null,
    index: 0,
    route: { kri: 'kri_route' },
    ...fields,
  }) as unknown as UsableRoute;
const policy = (type: string, conf: JsonObject): EffectivePolicy => ({ type, conf: [conf] }) as unknown as EffectivePolicy;

/** A resolver that finds the same for each rule. */
function found(
  kris: readonly string[],
  {
    missingPercent = 0,
    mirrors = [],
    type = 'MeshService',
  }: Partial<Omit<Backends, 'backends'>> & { mirrors?: string[]; type?: string } = {},
): BackendResolver {
  const backends: Backend[] = kris.map((kri) => ({ outbound: target(kri, type), weight: 1, filters: [] }));
  const mirrored = mirrors.map((kri) => ({ outbound: target(kri), share: 5 }));
  return {
    all: (): Backends => ({ backends, missingPercent }),
    mirrors: () => mirrored,
    sourceOf: () => new RouteSource(null),
  } as unknown as BackendResolver;
}
const names = (routes: readonly JsonObject[]): unknown[] => routes.map(({ name }) => name);
const actionOf = (route: JsonObject | undefined): JsonObject => objectOf(route?.['route']);
const set = (name: string) => ({ set: [{ name, value: '1' }] });
const HEADERS: RouteFilter[] = [
  { type: 'RequestHeaderModifier', requestHeaderModifier: set('asked') },
  { type: 'ResponseHeaderModifier', responseHeaderModifier: set('answered') },
];

describe('a rule', () => {
  const only = (fields: Parameters<typeof rule>[0], resolver = found(['one'])): JsonObject | undefined =>
    outboundRoutes(outboundOf([rule(fields)]), resolver)[0];

  it('leads to its backend, with the times of Envoy where no policy says another', () => {
    expect(only({})).toEqual({
      ...{ name: 'kri_routerule_0', match: { path: '/pay' } },
      route: { cluster: 'one', timeout: '15s', idleTimeout: '1800s' },
    });
  });

  it('changes headers of requests that it passes on and of those that it redirects', () => {
    const redirect: RouteFilter = { type: 'RequestRedirect', requestRedirect: { hostname: 'other', statusCode: 302 } };
    for (const filters of [HEADERS, [...HEADERS, redirect]]) {
      const route = only({ conf: { filters } });
      expect(route).toMatchObject({
        requestHeadersToAdd: [{ header: { key: 'asked' } }],
        responseHeadersToAdd: [{ header: { key: 'answered' } }],
      });
    }
    expect(only({ conf: { filters: [redirect] } })).toMatchObject({ redirect: { hostRedirect: 'other' } });
    expect(only({ conf: { filters: [redirect] } })).not.toHaveProperty('route');
  });

  it('answers 500 without a backend, and for the share of those that do not exist', () => {
    const none = { directResponse: { status: 500 } };
    expect(only({}, found([]))).toMatchObject(none);
    expect(only({}, found([]))).not.toHaveProperty('route');
    const [missing, rest] = outboundRoutes(outboundOf([rule({})]), found(['one'], { missingPercent: 33.333 }));
    expect(missing).toMatchObject({
      ...none,
      match: { path: '/pay', runtimeFraction: { defaultValue: { numerator: 3333, denominator: 'TEN_THOUSAND' } } },
    });
    expect([rest?.['match'], actionOf(rest)['cluster']]).toEqual([{ path: '/pay' }, 'one']);
  });

  it('calls a service outside of the mesh by its own host, unless it writes another', () => {
    const external = found(['bank'], { type: 'MeshExternalService' });
    expect(actionOf(only({}, external))).toMatchObject({ autoHostRewrite: true });
    expect(actionOf(only({}))).not.toHaveProperty('autoHostRewrite');
    const filters: RouteFilter[] = [{ type: 'URLRewrite', urlRewrite: { hostname: 'written' } }];
    const written = actionOf(only({ conf: { filters } }, external));
    expect(written).toMatchObject({ hostRewriteLiteral: 'written' });
    expect(written).not.toHaveProperty('autoHostRewrite');
  });

  it('has the times, retries, hashes and mirrors of its own policies', () => {
    const policies = [
      policy('MeshTimeout', { http: { requestTimeout: '7s', streamIdleTimeout: '8s' } }),
      policy('MeshRetry', { http: { numRetries: 3 } }),
    ];
    const action = actionOf(only({ policies }, found(['one'], { mirrors: ['copy'] })));
    expect(action).toMatchObject({ timeout: '7s', idleTimeout: '8s', retryPolicy: { numRetries: 3 } });
    expect(action['requestMirrorPolicies']).toMatchObject([{ cluster: 'copy' }]);
    expect(actionOf(only({}))).not.toHaveProperty('retryPolicy');
  });
});

describe('the routes of an outbound', () => {
  const timed = [policy('MeshTimeout', { http: { requestTimeout: '9s' } })];

  it('end with its own cluster and its own policies, unless a rule takes every request', () => {
    const routes = outboundRoutes(outboundOf([rule({})], timed), found(['one']));
    expect(routes.at(-1)).toMatchObject({ match: { prefix: '/' }, route: { cluster: CART, timeout: '9s' } });
    expect(names(outboundRoutes(outboundOf([rule({ matches: EVERY })], timed), found(['one'])))).toEqual(['kri_routerule_0']);
    expect(outboundRoutes(outboundOf([], timed), found([]))).toMatchObject([{ route: { cluster: CART, timeout: '9s' } }]);
  });

  it('are asked from the most special match on, and a rule without matches is none', () => {
    const routes = outboundRoutes(
      outboundOf([rule({ matches: [...EVERY, ...PAY] }), rule({ matches: null, kind: 'MeshTCPRoute' })]),
      found(['one']),
    );
    expect(routes.map(({ match }) => match)).toEqual([{ path: '/pay' }, { prefix: '/' }]);
  });

  it('lead to their backends and mirrors, and to the service itself where a request may meet no rule', () => {
    const resolver = found(['one'], { mirrors: ['copy'] });
    const of = (kind: UsableRoute['kind'], ...routes: UsableRoute[]): string[] =>
      destinationsOf(outboundOf(routes), kind, resolver).map(({ kri }) => kri);
    expect(of('MeshHTTPRoute')).toEqual([CART]);
    expect(of('MeshHTTPRoute', rule({}))).toEqual(['one', 'copy', CART]);
    expect(of('MeshHTTPRoute', rule({ matches: EVERY }))).toEqual(['one', 'copy']);
    expect(of('MeshHTTPRoute', rule({}), rule({ matches: EVERY }))).toEqual(['one', 'copy']);
    const tcp = rule({ kind: 'MeshTCPRoute', matches: null });
    expect([of('MeshTCPRoute', tcp), of('MeshHTTPRoute', tcp), of('MeshTCPRoute', rule({}))]).toEqual([
      ['one', 'copy'],
      [CART],
      [CART],
    ]);
  });
});

it('a route configuration has one host for all, and may name clusters that come later', () => {
  expect(routeConfiguration('n', [{ name: 'r' }], { more: 1 })).toEqual({
    ...{ name: 'n', more: 1, validateClusters: false },
    virtualHosts: [{ name: 'n', domains: ['*'], routes: [{ name: 'r' }] }],
  });
});

it('the conf of a type is the first in force, and empty where there is none', () => {
  const policies = [policy('MeshRetry', { tcp: {} }), policy('MeshTimeout', { idleTimeout: '1s' })];
  expect([confOf(policies, 'MeshTimeout'), confOf(policies, 'MeshHealthCheck'), confOf([], 'MeshRetry')]).toEqual([
    { idleTimeout: '1s' },
    {},
    {},
  ]);
});
