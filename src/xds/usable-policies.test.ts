// Problems name the policy, the rule and the field that they come from, and what is in force stays without them.
import { describe, expect, it } from 'vitest';
import { make } from '../../test/policy/make-resource.ts';
import { buildRules } from '../policy/build-rules.ts';
import { effectiveOutbound } from '../policy/effective-conf.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import type { InboundRule } from '../policy/inbound-rules.ts';
import { outboundsOf } from '../policy/proxy-outbounds.ts';
import type { Policy } from '../policy/parse-policy.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import { BackendResolver } from './backends.ts';
import type { ConfigProblem } from './config-problem.ts';
import { reportTo, usableRules } from './usable-policies.ts';
import { usableOutbound } from './usable-routes.ts';

const CART = { kind: 'MeshService', labels: { 'kuma.io/display-name': 'cart' } };
const MISSING = { kind: 'MeshService', name: 'none', port: 80 };
/** External services, with the addresses of their endpoints. */
const OUTSIDE = { named: ['10.1.1.1', 'partner.example'], addressed: ['10.1.1.1', '::1'] };
const TO_TCP = { kind: 'MeshService', name: 'db' };
const TCP_FAULT = 'port 5432 of MeshService db has the protocol tcp, and HTTP routes need http, http2 or grpc';
const PATH = { path: { type: 'PathPrefix', value: '/a' } };
const HTTP_SHARE = 'MeshService none does not exist: its share of the requests is answered 500';
const TCP_SHARE = 'MeshService none does not exist: its share goes to the others';
const NO_MIRROR = 'MeshService none does not exist: nothing is mirrored';

/** Routes that stay usable, and problems `field reason`, of a proxy that calls the service `cart`. */
function usable(protocol: string, ...policies: Resource[]): { routes: number; problems: string[] } {
  const networking = {
    address: '10.0.0.1',
    inbound: [{ port: 8080, name: 'http', protocol: 'http' }],
    outbound: [{ port: 10_000, backendRef: { kind: 'MeshService', name: 'cart', port: 80 } }],
  };
  const index = new MeshIndex('default', [
    make('Dataplane', 'web', { networking }, { zone: 'east' }),
    make('MeshService', 'cart', { ports: [{ port: 80, appProtocol: protocol }] }, { zone: 'east' }),
    make('MeshService', 'db', { ports: [{ port: 5432, appProtocol: 'tcp' }] }, { zone: 'east' }),
    ...Object.entries(OUTSIDE).map(([name, addresses]) =>
      make('MeshExternalService', name, {
        match: { type: 'HostnameGenerator', port: 80, protocol: 'http' },
        endpoints: addresses.map((address) => ({ address, port: 80 })),
      }),
    ),
    ...policies,
  ]);
  const [proxy] = index.proxies();
  if (proxy === undefined) throw new Error('the mesh has no Dataplane');
  const [outbound] = outboundsOf(index, proxy);
  if (outbound === undefined) throw new Error('the Dataplane has no outbound');
  const problems: ConfigProblem[] = [];
  const effective = effectiveOutbound(index, buildRules(index, proxy), outbound);
  const { routes } = usableOutbound(effective, new BackendResolver(index, 'east'), reportTo(problems));
  return { routes: routes.length, problems: problems.map(({ field, reason }) => `${field} ${reason}`) };
}

const httpRoute = (...rules: JsonObject[]): Resource => make('MeshHTTPRoute', 'r', { to: [{ targetRef: CART, rules }] });
const tcpRoute = (conf: JsonObject): Resource =>
  make('MeshTCPRoute', 'r', { to: [{ targetRef: CART, rules: [{ default: conf }] }] });
const mirror = (backendRef: JsonObject): JsonObject => ({ type: 'RequestMirror', requestMirror: { backendRef } });
const outside = (name: string): JsonObject => ({ kind: 'MeshExternalService', name });
const REWRITE = { type: 'URLRewrite', urlRewrite: { hostname: 'a.b' } };
const toCart = { ...CART, port: 80 };

describe('the usable rules of a route', () => {
  it.each<[what: string, protocol: string, route: Resource, routes: number, problems: string[]]>([
    ['a backend that exists', 'http', httpRoute({ matches: [PATH], default: { backendRefs: [toCart] } }), 1, []],
    [
      'the second of two missing backends: the first has no weight',
      'http',
      httpRoute({ matches: [PATH], default: { backendRefs: [{ ...MISSING, weight: 0 }, MISSING] } }),
      1,
      [`spec.to[0].rules[0].default.backendRefs[1] ${HTTP_SHARE}`],
    ],
    [
      'a missing backend of TCP',
      'tcp',
      tcpRoute({ backendRefs: [toCart, { ...MISSING, weight: 2 }] }),
      1,
      [`spec.to[0].rules[0].default.backendRefs[1] ${TCP_SHARE}`],
    ],
    [
      'a backend and a mirror that speak no HTTP',
      'http',
      httpRoute({ matches: [PATH], default: { backendRefs: [toCart, TO_TCP], filters: [mirror(TO_TCP)] } }),
      1,
      [
        `spec.to[0].rules[0].default.backendRefs[1] ${TCP_FAULT}: its share of the requests is answered 500`,
        `spec.to[0].rules[0].default.filters[0].requestMirror.backendRef ${TCP_FAULT}: nothing is mirrored`,
      ],
    ],
    ['no protocol of a backend of TCP', 'tcp', tcpRoute({ backendRefs: [toCart, TO_TCP] }), 1, []],
    [
      'the mirror that means nothing',
      'http',
      httpRoute(
        { matches: [{ path: { type: 'Exact', value: '/b' } }], default: {} },
        { matches: [PATH], default: { filters: [mirror(toCart), mirror(MISSING)] } },
      ),
      2,
      [`spec.to[0].rules[1].default.filters[1].requestMirror.backendRef ${NO_MIRROR}`],
    ],
    [
      'a filter that another one excludes',
      'http',
      httpRoute({
        matches: [PATH],
        default: {
          filters: [
            { type: 'URLRewrite', urlRewrite: { hostname: 'a.b' } },
            { type: 'RequestRedirect', requestRedirect: { hostname: 'c.d' } },
          ],
        },
      }),
      1,
      ['spec.to[0].rules[0].default.filters[0] has no effect: the rule redirects its requests'],
    ],
    [
      'no mirror in a filter of another type',
      'http',
      httpRoute({ matches: [PATH], default: { filters: [{ type: 'URLRewrite', urlRewrite: { hostname: 'a.b' } }] } }),
      1,
      [],
    ],
    [
      'the hostname of a URLRewrite for an external service with a DNS name',
      'http',
      httpRoute({ matches: [PATH], default: { filters: [mirror(toCart), REWRITE], backendRefs: [toCart, outside('named')] } }),
      1,
      [
        'spec.to[0].rules[0].default.filters[1].urlRewrite.hostname has no effect: the egress calls MeshExternalService named by the name of its endpoint',
      ],
    ],
    [
      'no hostname for an external service with IP addresses, nor where the URLRewrite has none',
      'http',
      httpRoute(
        { matches: [PATH], default: { filters: [REWRITE], backendRefs: [outside('addressed')] } },
        {
          matches: [{ path: { type: 'Exact', value: '/b' } }],
          default: {
            filters: [{ type: 'URLRewrite', urlRewrite: { path: { type: 'ReplaceFullPath', replaceFullPath: '/' } } }],
            backendRefs: [outside('named')],
          },
        },
      ),
      2,
      [],
    ],
    [
      'no port of a wrong type, as if it had none: the service has one port',
      'http',
      httpRoute({
        matches: [PATH],
        default: { backendRefs: [{ ...toCart, port: '81' }], filters: [mirror({ ...toCart, port: true })] },
      }),
      1,
      [],
    ],
    [
      'backends of a wrong type as if they were not there, and one of an unknown kind as missing',
      'http',
      httpRoute({ matches: [PATH], default: { backendRefs: [toCart, 5, { kind: 'Cart', name: 'a' }] } }),
      1,
      ['spec.to[0].rules[0].default.backendRefs[1] Cart a does not exist: its share of the requests is answered 500'],
    ],
    [
      'nothing of a route that does nothing on the port',
      'tcp',
      httpRoute({ matches: [PATH], default: { backendRefs: [MISSING] } }),
      0,
      [],
    ],
  ])('name %s', (_, protocol, route, routes, problems) => {
    expect(usable(protocol, route)).toEqual({ routes, problems });
  });

  it.each([
    ['together', [2 ** 32 - 1, 2 ** 32 - 1], 'backendRefs must have weights of at most 4294967295 together'],
    ['of one', [2 ** 32], 'backendRefs[0].weight must be a whole number from 0 to 4294967295'],
  ])('are without a rule whose weights are too large for Envoy: %s', (_, weights, problem) => {
    const backendRefs = weights.map((weight) => ({ ...toCart, weight }));
    expect(usable('http', httpRoute({ matches: [PATH], default: { backendRefs } }))).toEqual({
      ...{ routes: 0, problems: [`spec.to[0].rules[0].default.${problem}`] },
    });
  });

  it('are without a rule that has a wrong filter at a backend', () => {
    const filter = { type: 'RequestHeaderModifier', requestHeaderModifier: { set: [{ name: 'no name', value: '1' }] } };
    const { routes, problems } = usable(
      'http',
      httpRoute({ matches: [PATH], default: { backendRefs: [{ ...toCart, filters: [filter] }] } }),
    );
    expect([routes, problems.map((problem) => problem.split(' ')[0])]).toEqual([
      0,
      ['spec.to[0].rules[0].default.backendRefs[0].filters[0].requestHeaderModifier.set[0].name'],
    ]);
  });

  it('are without a rule whose match cannot be read, which is named once', () => {
    const bad = { matches: [{ path: { type: 'RegularExpression', value: 'a(' } }], default: {} };
    const { routes, problems } = usable('http', httpRoute({ matches: [PATH], default: {} }, bad));
    expect([routes, problems.map((problem) => problem.split(' ')[0])]).toEqual([
      1,
      ['spec.to[0].rules[1].matches[0].path.value'],
    ]);
  });
});

describe('the usable rules of an inbound', () => {
  const policy = (kri: string): Policy => ({ kri }) as unknown as Policy;
  const MATCH = { spiffeID: { type: 'Exact', value: 'spiffe://a/b' } };
  const rule = (kri: string, index: number, conf: JsonObject, match: JsonObject | null = null): InboundRule => ({
    ...{ match, conf, policy: policy(kri), index },
  });
  const named = (problems: ConfigProblem[]): string[] => problems.map(({ policy: by, field }) => `${by ?? '-'} ${field}`);

  it('are the given ones where all are good', () => {
    const rules = [rule('a', 0, { idleTimeout: '1s' }), rule('b', 1, { idleTimeout: '2s' })];
    const problems: ConfigProblem[] = [];
    const found = usableRules('MeshTimeout', rules, reportTo(problems));
    expect(found.map((one, at) => one === rules[at])).toEqual([true, true]);
    expect(problems).toEqual([]);
  });

  it('are without a bad value, and without a rule whose match is bad', () => {
    const problems: ConfigProblem[] = [];
    const file = (path: string): JsonObject => ({ type: 'File', file: { path } });
    const [good, bad] = [file('/log'), file('no path')];
    const unreadable = rule('c', 3, { backends: [good] }, { spiffeID: { type: 'Exact', value: 'no id' } });
    const rules = [rule('a', 2, { backends: [bad, good] }, MATCH), unreadable];
    expect(usableRules('MeshAccessLog', rules, reportTo(problems))).toEqual([rule('a', 2, { backends: [good] }, MATCH)]);
    expect(named(problems)).toEqual(['a spec.rules[2].default.backends[0].file.path', 'c spec.rules[3].matches']);
  });

  it('are one for every client where good confs merge into a bad one, which is named on the strongest', () => {
    const problems: ConfigProblem[] = [];
    const tls = (tlsVersion: JsonObject): JsonObject => ({ mode: 'Strict', tlsVersion });
    const forOne = rule('one', 0, tls({ min: 'TLS11' }), { sni: { type: 'Exact', value: 'a.b' } });
    const rules = [forOne, rule('weak', 0, tls({ min: 'TLS13' })), rule('strong', 4, tls({ max: 'TLS12' }))];
    expect(usableRules('MeshTLS', rules, reportTo(problems))).toEqual([forOne, rule('strong', 4, tls({ max: 'TLS12' }))]);
    expect(named(problems)).toEqual(['strong spec.rules[4].default.tlsVersion.min']);
  });
});

describe('a list of problems', () => {
  it('has each once, and two that differ in policy, field or reason', () => {
    const problems: ConfigProblem[] = [];
    const report = reportTo(problems);
    const one = { policy: 'p', field: 'f', reason: 'r' };
    const all = [one, { ...one, policy: null }, { ...one, field: 'g' }, { ...one, reason: 's' }];
    for (const problem of [...all, ...all]) report({ ...problem });
    expect(problems).toEqual(all);
  });
});
