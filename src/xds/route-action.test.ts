import { describe, expect, it } from 'vitest';
import type { RouteFilter } from '../policies/routes.ts';
import type { JsonObject } from '../resource/types.ts';
import type { Backend, Backends } from './backend.ts';
import { changedClusters, headerChanges, mirrorPolicies, redirectOf, urlRewrite } from './route-action.ts';

type Redirect = NonNullable<RouteFilter['requestRedirect']>;
type Rewrite = NonNullable<RouteFilter['urlRewrite']>;
type Modifier = NonNullable<RouteFilter['requestHeaderModifier']>;
type OfBackend = Backend['filters'][number];

const outbound = (kri: string): Backend['outbound'] => ({ kri }) as Backend['outbound'];
const whole = (substitution: string): JsonObject => ({ regexRewrite: { pattern: { regex: '.*' }, substitution } });

describe('a redirect', () => {
  const redirect = (requestRedirect: Redirect, isBelowPrefix = false): JsonObject | null =>
    redirectOf([{ type: 'URLRewrite' }, { type: 'RequestRedirect', requestRedirect }], isBelowPrefix);

  it('is the first of several', () => {
    const filters = ['a', 'b'].map((hostname): RouteFilter => {
      return { type: 'RequestRedirect', requestRedirect: { hostname, statusCode: 302 } };
    });
    expect(redirectOf(filters, false)).toMatchObject({ hostRedirect: 'a' });
  });

  it('is none without its filter', () => {
    expect(redirectOf([], false)).toBeNull();
    expect(redirectOf([{ type: 'URLRewrite' }], false)).toBeNull();
  });

  it.each<[Redirect, JsonObject]>([
    // The default of Envoy.
    [{ statusCode: 301 }, {}],
    [{ statusCode: 302 }, { responseCode: 'FOUND' }],
    [{ statusCode: 303 }, { responseCode: 'SEE_OTHER' }],
    [{ statusCode: 307 }, { responseCode: 'TEMPORARY_REDIRECT' }],
    [{ statusCode: 308 }, { responseCode: 'PERMANENT_REDIRECT' }],
    [
      { statusCode: 301, scheme: 'https', hostname: 'a', port: 8443 },
      { schemeRedirect: 'https', hostRedirect: 'a', portRedirect: 8443 },
    ],
    [{ statusCode: 301, path: { type: 'ReplaceFullPath', replaceFullPath: '/b' } }, whole('/b')],
  ])('%j is %j', (written, expected) => {
    expect(redirect(written)).toEqual(expected);
  });
});

describe('a rewrite', () => {
  const rewrite = (written: Rewrite, isBelowPrefix: boolean): JsonObject =>
    urlRewrite([{ type: 'URLRewrite', urlRewrite: written }], isBelowPrefix);
  const prefix = (replacePrefixMatch: string): Rewrite => ({ path: { type: 'ReplacePrefixMatch', replacePrefixMatch } });

  it.each<[string, JsonObject, JsonObject]>([
    ['/three', { prefixRewrite: '/three/' }, whole('/three')],
    ['/three/', { prefixRewrite: '/three/' }, whole('/three/')],
    ['', { prefixRewrite: '/' }, whole('/')],
    ['/', { prefixRewrite: '/' }, whole('/')],
  ])('of a prefix by «%s» replaces the prefix below it, and the whole path elsewhere', (to, below, elsewhere) => {
    expect(rewrite(prefix(to), true)).toEqual(below);
    expect(rewrite(prefix(to), false)).toEqual(elsewhere);
  });

  it('takes a backslash as it is, and not as a group of the pattern', () => {
    const path = { type: 'ReplaceFullPath', replaceFullPath: String.raw`/x\1` } as const;
    expect(rewrite({ path }, false)).toEqual(whole(String.raw`/x\\1`));
    expect(rewrite(prefix(String.raw`/x\1`), false)).toEqual(whole(String.raw`/x\\1`));
    expect(rewrite(prefix(String.raw`/x\1`), true)).toEqual({ prefixRewrite: String.raw`/x\1/` });
  });

  it('replaces the whole path, the host, both or nothing', () => {
    const path = { type: 'ReplaceFullPath', replaceFullPath: '/b' } as const;
    expect(rewrite({ path }, true)).toEqual(whole('/b'));
    expect(rewrite({ hostname: 'a' }, false)).toEqual({ hostRewriteLiteral: 'a' });
    expect(rewrite({ hostname: 'a', path }, false)).toEqual({ ...whole('/b'), hostRewriteLiteral: 'a' });
    expect(rewrite({}, true)).toEqual({});
    expect(urlRewrite([{ type: 'RequestRedirect' }], true)).toEqual({});
  });

  it('has the host of one URLRewrite and the path of another, and of each the first', () => {
    const path = { type: 'ReplaceFullPath', replaceFullPath: '/b' } as const;
    const all = [{ hostname: 'a' }, { path }, { hostname: 'c', path: { ...path, replaceFullPath: '/c' } }] as const;
    expect(
      urlRewrite(
        all.map((urlRewrite): RouteFilter => ({ type: 'URLRewrite', urlRewrite })),
        false,
      ),
    ).toEqual({
      ...{ ...whole('/b'), hostRewriteLiteral: 'a' },
    });
  });
});

describe('changes of headers', () => {
  const [a, b] = [
    { name: 'a', value: '1' },
    { name: 'b', value: '2' },
  ];

  it('are those of requests and of responses; a set header replaces, an added one appends', () => {
    expect(
      headerChanges([
        { type: 'RequestHeaderModifier', requestHeaderModifier: { set: [a], add: [b], remove: ['c'] } },
        { type: 'ResponseHeaderModifier', responseHeaderModifier: { add: [a] } },
      ]),
    ).toEqual({
      requestHeadersToAdd: [
        { header: { key: 'a', value: '1' }, appendAction: 'OVERWRITE_IF_EXISTS_OR_ADD' },
        { header: { key: 'b', value: '2' } },
      ],
      requestHeadersToRemove: ['c'],
      responseHeadersToAdd: [{ header: { key: 'a', value: '1' } }],
    });
  });

  it('are those of all modifiers, as if one changed the headers after the other', () => {
    const modifiers: Modifier[] = [
      { set: [a], add: [b] },
      { set: [{ name: 'x', value: '1' }], add: [{ ...b, value: '3' }], remove: ['c'] },
      { set: [{ name: 'A', value: '9' }], remove: ['X'] },
      { add: [{ name: 'c', value: '4' }] },
    ];
    const filters = modifiers.map((requestHeaderModifier): RouteFilter => {
      return { type: 'RequestHeaderModifier', requestHeaderModifier };
    });
    expect(headerChanges(filters)).toEqual({
      requestHeadersToAdd: [
        { header: { key: 'A', value: '9' }, appendAction: 'OVERWRITE_IF_EXISTS_OR_ADD' },
        { header: { key: 'b', value: '2' } },
        { header: { key: 'b', value: '3' } },
        { header: { key: 'c', value: '4' } },
      ],
      requestHeadersToRemove: ['c', 'X'],
    });
  });

  it('are none in other filters and in empty lists', () => {
    expect(headerChanges([{ type: 'URLRewrite', requestHeaderModifier: { set: [a] } }])).toEqual({});
    expect(headerChanges([{ type: 'RequestHeaderModifier', requestHeaderModifier: { set: [], remove: [] } }])).toEqual({});
  });
});

it('mirrors get their share of the requests, or all', () => {
  expect(mirrorPolicies([])).toEqual({});
  expect(
    mirrorPolicies([
      { outbound: outbound('a'), share: undefined },
      { outbound: outbound('b'), share: '0.5' },
      { outbound: outbound('c'), share: 20 },
    ]),
  ).toEqual({
    requestMirrorPolicies: [
      { cluster: 'a' },
      { cluster: 'b', runtimeFraction: { defaultValue: { numerator: 50, denominator: 'TEN_THOUSAND' } } },
      { cluster: 'c', runtimeFraction: { defaultValue: { numerator: 20 } } },
    ],
  });
});

describe('the header changes of backends', () => {
  const setting = (name: string, value: string): OfBackend => ({
    type: 'RequestHeaderModifier',
    requestHeaderModifier: { set: [{ name, value }] },
  });
  const backend = (kri: string, filters: Backend['filters'] = []): Backend => ({
    outbound: outbound(kri),
    weight: 1,
    filters,
  });
  const found = (...backends: Backend[]): Backends => ({ backends, missingPercent: 0 });
  const added = (...headers: (readonly [string, string])[]): JsonObject =>
    headerChanges(headers.map(([name, value]) => setting(name, value)));

  it('stay at the route while no backend has its own', () => {
    const { clusters, changes } = changedClusters(found(backend('a'), backend('b')), [setting('x', '1')]);
    expect(changes).toEqual(added(['x', '1']));
    expect(clusters).toEqual({
      weightedClusters: {
        clusters: [
          { name: 'a', weight: 1 },
          { name: 'b', weight: 1 },
        ],
      },
    });
  });

  it('of the only backend are at the route, after those of the rule', () => {
    const { clusters, changes } = changedClusters(found(backend('a', [setting('x', '2'), setting('y', '3')])), [
      setting('x', '1'),
    ]);
    expect(clusters).toEqual({ cluster: 'a' });
    expect(changes).toEqual(added(['x', '2'], ['y', '3']));
  });

  it('are at each cluster, after those of the rule, when one of several backends has its own', () => {
    const { clusters, changes } = changedClusters(found(backend('a', [setting('x', '2')]), backend('b')), [setting('x', '1')]);
    expect(changes).toEqual({});
    expect(clusters).toEqual({
      weightedClusters: {
        clusters: [
          { name: 'a', weight: 1, ...added(['x', '2']) },
          { name: 'b', weight: 1, ...added(['x', '1']) },
        ],
      },
    });
  });
});
