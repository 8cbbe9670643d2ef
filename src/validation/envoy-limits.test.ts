// A spec that Envoy 1.40 refuses is refused before it is stored (decision 48): Envoy would refuse the whole listener or all
// routes with it.
import { describe, expect, it } from 'vitest';
import { FORMAT_FORM } from '../schema/expressions/envoy-format.ts';
import { RE2_FORM } from '../schema/expressions/re2.ts';
import { HEADER_VALUE_FORM } from '../schema/header-text.ts';
import { find, findIn, NOTHING_FOUND } from './spec-table.fixture.ts';
import type { JsonObject } from '../resource/types.ts';

type Case = readonly [type: string, spec: JsonObject];

const toMesh = (type: string, conf: JsonObject): Case => [type, { to: [{ targetRef: { kind: 'Mesh' }, default: conf }] }];
const route = (rule: JsonObject): Case => [
  'MeshHTTPRoute',
  { to: [{ targetRef: { kind: 'MeshService', name: 'a' }, rules: [{ matches: [{}], ...rule }] }] },
];
const match = (value: JsonObject): Case => route({ matches: [value], default: {} });
const prefix = { path: { type: 'PathPrefix', value: '/a' } };
const filter = (value: JsonObject): Case => route({ matches: [prefix], default: { filters: [value] } });
const backends = (...weights: number[]): Case =>
  route({ default: { backendRefs: weights.map((weight) => ({ kind: 'MeshService', name: 'b', weight })) } });
const rateLimit = (set: number, add: number): Case => {
  const headers = { set: headersOf(set, 'x-set'), add: headersOf(add, 'x-add') };
  const http = { requestRate: { num: 1, interval: '1s' }, onRateLimit: { headers } };
  return ['MeshRateLimit', { targetRef: { kind: 'Dataplane' }, rules: [{ default: { local: { http } } }] }];
};
const headersOf = (length: number, name: string): JsonObject[] =>
  Array.from({ length }, (_, at) => ({ name: `${name}-${String(at)}`, value: 'v' }));
const hashHeader = (name: string): Case =>
  toMesh('MeshLoadBalancingStrategy', { hashPolicies: [{ type: 'Header', header: { name } }] });
const traceHeader = (name: string): Case => [
  'MeshTrace',
  { default: { backends: [{ type: 'Zipkin', zipkin: { url: 'http://z/x' } }], tags: [{ name: 'a', header: { name } }] } },
];
const rewrite = (path: JsonObject): Case => filter({ type: 'URLRewrite', urlRewrite: { path } });
const setHeader = (value: string): Case =>
  filter({ type: 'RequestHeaderModifier', requestHeaderModifier: { set: [{ name: 'x', value }] } });
const header = (value: string): JsonObject => ({ type: 'RegularExpression', name: 'x', value });
const parameter = (type: string, name: string, value: string): Case => match({ queryParams: [{ type, name, value }] });
const timeout = (value: string): Case => toMesh('MeshTimeout', { http: { requestTimeout: value } });
const backOff = (value: string): Case => toMesh('MeshRetry', { http: { backOff: { baseInterval: value } } });

describe('a limit of Envoy', () => {
  it.each<[what: string, refused: Case, line: string, accepted: Case]>([
    [
      'headers of the answer to a limited request: 10',
      rateLimit(6, 5),
      'spec.rules[0].default.local.http.onRateLimit.headers: must have at most 10 headers in set and add together',
      rateLimit(5, 5),
    ],
    [
      'an expression for a header, not empty',
      match({ headers: [header('')] }),
      'spec.to[0].rules[0].matches[0].headers[0].value: must be text that is not empty',
      match({ headers: [header('a*')] }),
    ],
    [
      'an expression for a header of retried requests, not empty',
      toMesh('MeshRetry', { http: { retriableRequestHeaders: [header('')] } }),
      'spec.to[0].default.http.retriableRequestHeaders[0].value: must be text that is not empty',
      toMesh('MeshRetry', { http: { retriableRequestHeaders: [header('a*')] } }),
    ],
    [
      'an expression for a query parameter, not empty',
      parameter('RegularExpression', 'a', ''),
      'spec.to[0].rules[0].matches[0].queryParams[0].value: must be text that is not empty',
      parameter('Exact', 'a', ''),
    ],
    [
      'an expression for a query parameter, of bytes',
      parameter('RegularExpression', 'a', '\\x{100}'),
      `spec.to[0].rules[0].matches[0].queryParams[0].value: must be ${RE2_FORM}`,
      parameter('RegularExpression', 'a', '\\x{ff}'),
    ],
    [
      'the name of a query parameter: 1024 bytes',
      parameter('Exact', 'ü'.repeat(513), 'a'),
      'spec.to[0].rules[0].matches[0].queryParams[0].name: must be text of at most 1024 bytes that is not empty',
      parameter('Exact', 'ü'.repeat(512), 'a'),
    ],
    [
      'the value of a header: 16384 bytes',
      setHeader('ü'.repeat(8_193)),
      `spec.to[0].rules[0].default.filters[0].requestHeaderModifier.set[0].value: must be ${HEADER_VALUE_FORM}`,
      setHeader('ü'.repeat(8_192)),
    ],
    [
      'a path that replaces another: one line',
      rewrite({ type: 'ReplaceFullPath', replaceFullPath: '/a\nb' }),
      'spec.to[0].rules[0].default.filters[0].urlRewrite.path.replaceFullPath: must be text of one line',
      rewrite({ type: 'ReplaceFullPath', replaceFullPath: '' }),
    ],
    [
      'a prefix that replaces another: one line',
      rewrite({ type: 'ReplacePrefixMatch', replacePrefixMatch: '/a\0' }),
      'spec.to[0].rules[0].default.filters[0].urlRewrite.path.replacePrefixMatch: must be text of one line',
      rewrite({ type: 'ReplacePrefixMatch', replacePrefixMatch: '/a b' }),
    ],
    [
      'a header whose hash chooses an endpoint: one line',
      hashHeader('a\rb'),
      'spec.to[0].default.hashPolicies[0].header.name: must be text of one line',
      hashHeader('a b'),
    ],
    [
      'a header that becomes a tag of a span: one line',
      traceHeader('a\nb'),
      'spec.default.tags[0].header.name: must be text of one line',
      traceHeader('a b'),
    ],
    [
      'the sum of the weights of a route: 32 bits',
      backends(4_294_967_295, 1),
      'spec.to[0].rules[0].default.backendRefs: must have weights of at most 4294967295 together',
      backends(4_294_967_294, 1),
    ],
    [
      'a time limit: nanoseconds in 64 bits',
      timeout('2562047h47m16.5s'),
      'spec.to[0].default.http.requestTimeout: must be a duration of at most 2562047h',
      timeout('2562047h'),
    ],
    [
      'an interval: nanoseconds in 64 bits',
      backOff('2562047h47m16s'),
      'spec.to[0].default.http.backOff.baseInterval: must be a duration of at most 2562047h',
      backOff('2562047h'),
    ],
  ])('holds for %s', (_, [type, refused], line, [, accepted]) => {
    expect(find(type, refused)).toEqual({ violations: [line], warnings: [] });
    expect(find(type, accepted)).toEqual(NOTHING_FOUND);
  });
});

describe('a format of an access log', () => {
  const found = (plain: string) =>
    findIn(
      'MeshAccessLog',
      `to: [{ targetRef: { kind: Mesh }, default: { backends: [{ type: File, file: { path: /log, format: { type: Plain, plain: ${JSON.stringify(plain)} } } }] } }]`,
    );

  it.each([
    ...['%REQ(:PATH)%', '%REQ(X-A?:METHOD):20%', "%RESP(a!#$&'*+-.^_`|~)%", '%TRAILER(grpc-status)%'],
    ...['%START_TIME(%Y-%m-%dT%H:%M:%S.%3fZ)%', '%START_TIME%', '%ENVIRONMENT(A)%'],
    ...['%CEL(request.headers["x-a"])%', "%CEL(request.headers['x'] == 'a' && !b.c)%", '%CEL(request.path.startsWith("/a"))%'],
    ...['%CEL( a  ==  -1.5 )%'],
    ...['%CEL((a || !(b == 1)) && c)%', '%CEL(has(a.b) ? a.b : "-")%', '%CEL(a in [200, 201])%', '%CEL(a[b.c].d)%'],
    ...['%CEL(size(a) > int(b.c))%', '%CEL(a.b.size())%', "%CEL(a.matches('^/[a-z]+'))%", "%CEL(a > duration('1s'))%"],
    ...[`%CEL(a${'.b'.repeat(24)})%`, `%CEL(a${'&&a'.repeat(24)})%`, `%CEL(${'('.repeat(8)}a${')'.repeat(8)})%`],
    ...['%CEL(response.code >= 400)%', '%CEL(a[0].b in c)%', `%CEL(a${'&&a'.repeat(40)})%`, '%CEL(int(a) % 2 == 1)%'],
  ])('may have %s', (plain) => {
    expect(found(plain)).toEqual(NOTHING_FOUND);
  });

  it.each([
    ...['%REQ(a/b)%', '%REQ("a")%', '%REQ(:)%', '%REQ(a:b)%', '%REQ(a?:)%', '%RESP(ü)%', '%TRAILER(a@b)%', '%REQ(a?b?c)%'],
    ...['%START_TIME(%Y\n)%', '%ENVIRONMENT(a\nb)%', '%CEL(a\n)%'],
    ...['%CEL(()%', '%CEL(nope()%', '%CEL(nope())%', '%CEL(a.nope())%', '%CEL(a.for == 1 =)%', '%CEL(package)%', '%CEL()%'],
    ...[`%CEL(a${'.b'.repeat(40)})%`, `%CEL(a${'+a'.repeat(40)})%`, '%CEL(int(a)%2 == 1)%'],
  ])('may not have %s', (plain) => {
    expect(found(plain).violations).toEqual([
      `spec.to[0].default.backends[0].file.format.plain: must be text in which ${FORMAT_FORM}`,
    ]);
  });
});
