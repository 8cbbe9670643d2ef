import { describe, expect, it } from 'vitest';
import { make } from '../../test/policy/make-resource.ts';
import type { Conf } from '../policies/confs.ts';
import type { InboundRule } from '../policy/inbound-rules.ts';
import { parsePolicy } from '../policy/parse-policy.ts';
import type { InboundMatch } from '../schema/inbound-match.ts';
import type { JsonObject } from '../resource/types.ts';
import { clientFilter } from '../policies/mesh-access-log/envoy.ts';
import { clientPredicate } from './client-match.ts';
import { faultFilters } from '../policies/mesh-fault-injection/envoy.ts';
import type { PermissionRule } from '../policies/mesh-traffic-permission/clients.ts';
import { httpPermission, networkPermission, permissionFilter } from '../policies/mesh-traffic-permission/envoy.ts';

const spiffe = (type: 'Exact' | 'Prefix', value = 'spiffe://a/b') => ({ spiffeID: { type, value } });
const sni = { sni: { type: 'Exact', value: 'a.b' } } as const;
const policy = parsePolicy(make('MeshTrafficPermission', 'p', {}), 0);

function rule<C>(conf: C, match: InboundMatch | null = null): InboundRule<C, InboundMatch> {
  return { match, conf, policy, index: 0 };
}

/** `valueMatch` of each predicate, with what joins them. */
function shown(predicate: JsonObject | null): unknown {
  const inner = (list: unknown): unknown => (list as { predicate: JsonObject[] }).predicate.map(shown);
  if (predicate === null) return null;
  if ('andMatcher' in predicate) return { and: inner(predicate['andMatcher']) };
  if ('orMatcher' in predicate) return { or: inner(predicate['orMatcher']) };
  return (predicate['singlePredicate'] as JsonObject)['valueMatch'];
}

it.each<[InboundMatch, unknown]>([
  [{}, null],
  [spiffe('Exact'), { exact: 'spiffe://a/b' }],
  [spiffe('Prefix'), { prefix: 'spiffe://a/b' }],
  [sni, { exact: 'a.b' }],
  [{ ...spiffe('Exact'), ...sni }, { and: [{ exact: 'spiffe://a/b' }, { exact: 'a.b' }] }],
])('the predicate of the match %j is %j', (match, expected) => {
  expect(shown(clientPredicate(match))).toEqual(expected);
});

describe('a permission', () => {
  type Matcher = { predicate: JsonObject; onMatch: { action: { typedConfig: JsonObject } } };

  const network = (rules: readonly PermissionRule[]): JsonObject => networkPermission(rules, 'in')['typedConfig'] as JsonObject;
  function http(rules: readonly PermissionRule[]): JsonObject {
    const { typedPerFilterConfig } = httpPermission(rules) as Record<string, Record<string, JsonObject>>;
    return typedPerFilterConfig?.['envoy.filters.http.rbac']?.['rbac'] as JsonObject;
  }
  const otherwise = (matcher: JsonObject): unknown => (matcher['onNoMatch'] as Matcher['onMatch']).action.typedConfig;
  function decisions(permission: JsonObject, key = 'matcher'): unknown {
    const { matcherList } = permission[key] as JsonObject;
    const matchers = (matcherList as { matchers: Matcher[] } | undefined)?.matchers ?? [];
    return matchers.map(({ predicate, onMatch }) => [
      onMatch.action.typedConfig['action'] ?? 'ALLOW',
      onMatch.action.typedConfig['name'],
      shown(predicate),
    ]);
  }
  const [a, b, c] = ['a', 'b', 'c'].map((value) => ({ exact: value }));
  const exact = (value: string): InboundMatch => spiffe('Exact', value);
  const rules: PermissionRule[] = [
    rule({ allow: [exact('a'), exact('b')] }),
    rule({ deny: [exact('c')], allow: [{}] }, spiffe('Prefix', 'p')),
    rule({ allowWithShadowDeny: [exact('c')] }),
  ];

  it('asks for denials first, and denies what nothing permits', () => {
    const expected = [
      ['DENY', policy.kri, { and: [{ prefix: 'p' }, c] }],
      ['ALLOW', policy.kri, { or: [a, b] }],
      ['ALLOW', policy.kri, c],
    ];
    expect(decisions(http(rules))).toEqual(expected);
    expect(decisions(network(rules))).toEqual(expected);
    expect(network(rules)).toMatchObject({ statPrefix: 'in.' });
    expect(otherwise(http(rules)['matcher'] as JsonObject)).toMatchObject({ name: 'default', action: 'DENY' });
    expect(decisions(http(rules), 'shadowMatcher')).toEqual([['DENY', policy.kri, c]]);
  });

  it('denies every client by an empty match, of those that its rule is about', () => {
    const everyone = { prefix: 'spiffe://' };
    const denial: PermissionRule[] = [rule({ deny: [{}] }), rule({ deny: [{}] }, spiffe('Prefix', 'p'))];
    for (const permission of [http(denial), network(denial)])
      expect(decisions(permission)).toEqual([
        ['DENY', policy.kri, everyone],
        ['DENY', policy.kri, { and: [{ prefix: 'p' }, everyone] }],
      ]);
  });

  it('permits no client by an empty match', () => {
    const empty: PermissionRule[] = [rule({ allow: [{}] }), rule({ allowWithShadowDeny: [{}] })];
    expect(decisions(http(empty))).toEqual([]);
    expect(http(empty)).not.toHaveProperty('shadowMatcher');
  });

  it('denies in its shadow the clients alone that are named for it', () => {
    for (const permission of [http(rules), network(rules)]) {
      const shadow = otherwise(permission['shadowMatcher'] as JsonObject);
      expect(shadow).toMatchObject({ name: 'default' });
      expect(shadow).not.toHaveProperty('action');
    }
  });

  it('has no matchers without rules, and no shadow without one', () => {
    expect(decisions(http([]))).toEqual([]);
    expect(http([])).not.toHaveProperty('shadowMatcher');
    expect(http([])['matcher']).not.toHaveProperty('matcherList');
    expect(otherwise(http([])['matcher'] as JsonObject)).toMatchObject({ action: 'DENY' });
  });

  it('denies every request that no route permits', () => {
    const { matcher } = permissionFilter['typedConfig'] as Record<string, JsonObject>;
    expect(matcher).not.toHaveProperty('matcherList');
    expect(otherwise(matcher ?? {})).toMatchObject({ action: 'DENY' });
  });
});

describe('a fault', () => {
  type Fault = NonNullable<Conf<'MeshFaultInjection'>['http']>[number];
  const faultOf = (fault: object, match: InboundMatch | null = null): JsonObject => {
    const [filter] = faultFilters([rule({ http: [fault as Fault] }, match)]);
    return filter?.['typedConfig'] as JsonObject;
  };

  it.each<[JsonObject, JsonObject]>([
    [{}, {}],
    [{ abort: { httpStatus: 503, percentage: '2.5' } }, { abort: { httpStatus: 503, percentage: tenThousandth(250) } }],
    [{ delay: { value: '15ms', percentage: 3 } }, { delay: { fixedDelay: '0.015s', percentage: { numerator: 3 } } }],
    [{ delay: {} }, { delay: { fixedDelay: '0s', percentage: { numerator: 0 } } }],
    ...(
      [
        ['7kbps', '7'],
        ['7 Mbps', '7000'],
        ['7Gbps', '7000000'],
        ['fast', '0'],
      ] as const
    ).map(([limit, limitKbps]): [JsonObject, JsonObject] => [
      { responseBandwidth: { limit, percentage: 5 } },
      { responseRateLimit: { fixedLimit: { limitKbps }, percentage: { numerator: 5 } } },
    ]),
  ])('of %j is %j', (written, expected) => {
    const { '@type': _, ...fault } = (faultOf(written)['extensionConfig'] as JsonObject)['typedConfig'] as JsonObject;
    expect(fault).toEqual(expected);
  });

  it('is skipped for every other client than those of its match', () => {
    expect(faultOf({})['xdsMatcher']).toEqual({});
    expect(faultOf({}, {})['xdsMatcher']).toEqual({});
    expect(faultOf({}, spiffe('Exact'))['xdsMatcher']).toMatchObject({
      matcherList: {
        matchers: [{ predicate: { notMatcher: clientPredicate(spiffe('Exact')) }, onMatch: { action: { name: 'skip' } } }],
      },
    });
  });
});

function tenThousandth(numerator: number): JsonObject {
  return { numerator, denominator: 'TEN_THOUSAND' };
}

it.each<[InboundMatch, string | null]>([
  [{}, null],
  [spiffe('Exact', 'a"b'), String.raw`connection.uri_san_peer_certificate == "a\"b"`],
  [spiffe('Prefix', 'a'), 'connection.uri_san_peer_certificate.startsWith("a")'],
  [{ sni: { type: 'Exact', value: 'a.b' } }, 'connection.requested_server_name == "a.b"'],
  [
    { ...spiffe('Exact', 'a'), sni: { type: 'Exact', value: 'a.b' } },
    'connection.uri_san_peer_certificate == "a" && connection.requested_server_name == "a.b"',
  ],
])('requests are logged for the clients of %j: %s', (match, expression) => {
  const filter = clientFilter(match);
  if (expression === null) expect(filter).toBeNull();
  else expect(filter).toMatchObject({ extensionFilter: { typedConfig: { expression } } });
});
