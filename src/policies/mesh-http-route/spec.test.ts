// MeshHTTPRoute and MeshTCPRoute: good and bad rules (policies 2.5).
import { describe, expect, it } from 'vitest';
import { findIn, NOTHING_FOUND } from '../../validation/spec-table.fixture.ts';

const rule = (value: string, more = ''): string =>
  `to: [{ targetRef: { kind: MeshService, name: a }, rules: [${value}]${more} }]`;
const match = (value: string): string => rule(`{ matches: [${value}], default: {} }`);
const filter = (value: string, path = 'PathPrefix'): string =>
  rule(`{ matches: [{ path: { type: ${path}, value: /a } }], default: { filters: [${value}] } }`);
const headers = (value: string): string => filter(`{ type: RequestHeaderModifier, requestHeaderModifier: ${value} }`);
const HEADER =
  'must be a header name of 1 to 256 characters, without blanks, and not host: a hostname is changed by a URLRewrite';

describe('MeshHTTPRoute', () => {
  it.each([
    rule(''),
    match('{}'),
    match('{ path: { type: PathPrefix, value: / }, method: GET }'),
    match('{ path: { type: Exact, value: /a/ } }, { path: { type: RegularExpression, value: ".*" } }'),
    match(
      '{ headers: [{ name: x-a, value: b }, { type: Present, name: c }, { type: RegularExpression, name: d, value: "e+" }] }',
    ),
    match('{ queryParams: [{ type: Exact, name: a, value: "" }, { type: RegularExpression, name: b, value: c }] }'),
    headers('{ set: [{ name: X-A, value: b }], add: [{ name: c, value: d }], remove: [e] }'),
    filter('{ type: ResponseHeaderModifier, responseHeaderModifier: { remove: [a] } }'),
    filter(
      '{ type: RequestRedirect, requestRedirect: { scheme: https, hostname: a.b, port: 443, statusCode: 308, path: { type: ReplaceFullPath, replaceFullPath: /x } } }',
    ),
    filter('{ type: URLRewrite, urlRewrite: { hostname: a, path: { type: ReplacePrefixMatch, replacePrefixMatch: / } } }'),
    filter('{ type: RequestMirror, requestMirror: { percentage: "0.5", backendRef: { kind: MeshService, name: b, port: 80 } } }'),
    rule('{ matches: [{}], default: { backendRefs: [] } }', ', hostnames: []'),
  ])('may be %s', (spec) => {
    expect(findIn('MeshHTTPRoute', spec)).toEqual(NOTHING_FOUND);
  });

  const REWRITE_HOST = '{ type: URLRewrite, urlRewrite: { hostname: a.b } }';
  const REWRITE_PATH = '{ type: URLRewrite, urlRewrite: { path: { type: ReplaceFullPath, replaceFullPath: /x } } }';
  const REDIRECT = '{ type: RequestRedirect, requestRedirect: { hostname: a.b } }';
  const MIRROR = '{ type: RequestMirror, requestMirror: { backendRef: { kind: MeshService, name: b, port: 80 } } }';
  const MODIFIER = '{ type: RequestHeaderModifier, requestHeaderModifier: { remove: [a] } }';

  it.each([
    ['two header modifiers, and two rewrites of different fields', [MODIFIER, MODIFIER, REWRITE_HOST, REWRITE_PATH], []],
    ['two mirrors', [MIRROR, MIRROR], []],
    [
      'a second rewrite of one field',
      [REWRITE_PATH, REWRITE_HOST, REWRITE_PATH],
      ['[2].urlRewrite.path: has no effect: an earlier URLRewrite has a path'],
    ],
    [
      'a second redirect',
      [REDIRECT, MODIFIER, REDIRECT],
      ['[2]: has no effect: the first RequestRedirect of the rule is in force'],
    ],
    [
      'a rewrite and a mirror beside a redirect',
      [REWRITE_HOST, REDIRECT, MIRROR],
      ['[0]: has no effect: the rule redirects its requests', '[2]: has no effect: the rule redirects its requests'],
    ],
  ])('warns of filters without effect: %s', (_, filters, lines) => {
    const warnings = lines.map((line) => `spec.to[0].rules[0].default.filters${line}`);
    expect(findIn('MeshHTTPRoute', filter(filters.join(', ')))).toEqual({ violations: [], warnings });
  });

  it('may change 1000 headers of requests in all filters of a rule together', () => {
    const modifiers = (length: number): string =>
      Array.from({ length }, (_, at) => {
        const add = Array.from({ length: 10 }, (_unused, item) => `{ name: x-${String(at)}-${String(item)}, value: a }`);
        return `{ type: RequestHeaderModifier, requestHeaderModifier: { add: [${add.join(', ')}] } }`;
      }).join(', ');
    expect(findIn('MeshHTTPRoute', filter(modifiers(100)))).toEqual(NOTHING_FOUND);
    expect(findIn('MeshHTTPRoute', filter(modifiers(101))).violations).toEqual([
      'spec.to[0].rules[0].default.filters: must change at most 1000 headers by all requestHeaderModifier together',
    ]);
  });

  it.each([
    ['to: [{ targetRef: { kind: MeshService, name: a } }]', 'rules: must be given: a list'],
    [rule('{ default: {} }'), 'rules[0].matches: must be given: a list'],
    [rule('{ matches: [], default: {} }'), 'rules[0].matches: must have at least 1 item'],
    [rule('', ', hostnames: [a.b]'), 'hostnames: must be empty: only routes of a MeshGateway have hostnames'],
    [
      match('{ path: { type: Prefix, value: / } }'),
      'rules[0].matches[0].path.type: must be one of Exact, PathPrefix, RegularExpression, not "Prefix"',
    ],
    [
      match('{ path: { type: Exact, value: a } }'),
      'rules[0].matches[0].path.value: must be an absolute path with type Exact: begin with "/"',
    ],
    [
      match('{ path: { type: PathPrefix, value: /a/ } }'),
      'rules[0].matches[0].path.value: must not end with "/" with type PathPrefix',
    ],
    [match('{ path: { type: RegularExpression, value: "" } }'), 'rules[0].matches[0].path.value: must be text that is not empty'],
    [
      match('{ method: get }'),
      'rules[0].matches[0].method: must be one of CONNECT, DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT, TRACE, not "get"',
    ],
    [
      match('{ headers: [{ name: X-A, value: b }] }'),
      'rules[0].matches[0].headers[0].name: must be a header name in lower case of 1 to 256 characters, without blanks',
    ],
    [
      match('{ headers: [{ type: Absent, name: a, value: b }] }'),
      'rules[0].matches[0].headers[0].value: must not be set with type Absent',
    ],
    [match('{ headers: [{ name: a }] }'), 'rules[0].matches[0].headers[0].value: must be given with type Exact'],
    [
      match('{ queryParams: [{ type: Exact, name: a, value: b }, { type: Exact, name: a, value: c }] }'),
      'rules[0].matches[0].queryParams[1].name: must not name a parameter that is named already',
    ],
    [filter('{ type: URLRewrite }'), 'rules[0].default.filters[0].urlRewrite: must be given with type URLRewrite'],
    [headers('{}'), 'rules[0].default.filters[0].requestHeaderModifier: must have at least one of set, add, remove'],
    [headers('{ remove: [] }'), 'rules[0].default.filters[0].requestHeaderModifier: must have at least one of set, add, remove'],
    [headers('{ remove: [a b] }'), `rules[0].default.filters[0].requestHeaderModifier.remove[0]: ${HEADER}`],
    [
      headers('{ set: [{ name: a, value: b }], add: [{ name: A, value: c }] }'),
      'rules[0].default.filters[0].requestHeaderModifier.add[0].name: must not name a header that set, add or remove names already',
    ],
    [
      headers(`{ remove: [${Array.from({ length: 17 }, (_, index) => `h${String(index)}`).join()}] }`),
      'rules[0].default.filters[0].requestHeaderModifier.remove: must have at most 16 items',
    ],
    [
      filter('{ type: RequestRedirect, requestRedirect: { statusCode: 304 } }'),
      'rules[0].default.filters[0].requestRedirect.statusCode: must be one of 301, 302, 303, 307, 308',
    ],
    [
      filter('{ type: RequestRedirect, requestRedirect: { hostname: 10.0.0.1 } }'),
      'rules[0].default.filters[0].requestRedirect.hostname: must be a DNS name, not an IP address',
    ],
    [
      filter('{ type: URLRewrite, urlRewrite: { path: { type: ReplaceFullPath } } }'),
      'rules[0].default.filters[0].urlRewrite.path.replaceFullPath: must be given with type ReplaceFullPath',
    ],
    [
      filter('{ type: URLRewrite, urlRewrite: { path: { type: ReplacePrefixMatch, replacePrefixMatch: / } } }', 'Exact'),
      'rules[0].default.filters[0].urlRewrite.path.type: must not be ReplacePrefixMatch unless every match has a path of type PathPrefix',
    ],
    [
      filter('{ type: RequestMirror, requestMirror: {} }'),
      'rules[0].default.filters[0].requestMirror.backendRef: must be given: an object',
    ],
    [
      filter('{ type: RequestMirror, requestMirror: { percentage: 101, backendRef: { kind: MeshService, name: a } } }'),
      'rules[0].default.filters[0].requestMirror.percentage: must be a whole number or a decimal in quotes such as "12.5", from 0 to 100',
    ],
  ])('may not be %s', (spec, line) => {
    expect(findIn('MeshHTTPRoute', spec)).toEqual({ violations: [`spec.to[0].${line}`], warnings: [] });
  });
});

describe('the filters of a single backend', () => {
  const route = (filters: string): readonly string[] => {
    const rule = `{ matches: [{}], default: { backendRefs: [{ kind: MeshService, name: b, port: 80, filters: ${filters} }] } }`;
    return findIn('MeshHTTPRoute', `to: [{ targetRef: { kind: MeshService, name: a }, rules: [${rule}] }]`).violations;
  };
  const AT = 'spec.to[0].rules[0].default.backendRefs[0].filters';

  it('change headers', () => {
    expect(route('[{ type: RequestHeaderModifier, requestHeaderModifier: { set: [{ name: x, value: y }] } }]')).toEqual([]);
    expect(route('[{ type: ResponseHeaderModifier, responseHeaderModifier: { remove: [x] } }]')).toEqual([]);
  });

  it.each([
    ['[{ type: URLRewrite, urlRewrite: {} }]', `${AT}[0].type: must be one of RequestHeaderModifier, ResponseHeaderModifier`],
    ['[{ type: RequestHeaderModifier }]', `${AT}[0].requestHeaderModifier: must be given`],
    ['[{ type: RequestHeaderModifier, requestHeaderModifier: {} }]', `${AT}[0].requestHeaderModifier: must have at least one`],
    [
      '[{ type: RequestHeaderModifier, requestHeaderModifier: { set: [{ name: host, value: y }] } }]',
      `${AT}[0].requestHeaderModifier.set[0].name: `,
    ],
  ])('are no others: %s', (filters, line) => {
    expect(route(filters)).toContainEqual(expect.stringContaining(line));
  });
});

describe('MeshTCPRoute', () => {
  const to = (rules: string): string => `to: [{ targetRef: { kind: MeshService, name: a }${rules} }]`;
  const one = '{ default: { backendRefs: [{ kind: MeshService, name: b }] } }';

  it.each([to(', rules: []'), to(`, rules: [${one}]`)])('may be %s', (spec) => {
    expect(findIn('MeshTCPRoute', spec)).toEqual(NOTHING_FOUND);
  });

  it.each([
    [to(''), 'rules: must be given: a list'],
    [to(`, rules: [${one}, ${one}]`), 'rules: must have at most 1 item'],
    [to(', rules: [{ default: { backendRefs: [] } }]'), 'rules[0].default.backendRefs: must have at least 1 item'],
    [to(', rules: [{ default: {} }]'), 'rules[0].default.backendRefs: must be given: a list'],
    [
      'to: [{ targetRef: { kind: Mesh }, rules: [] }]',
      'targetRef.kind: must be one of MeshService, MeshExternalService, MeshMultiZoneService, not "Mesh"',
    ],
  ])('may not be %s', (spec, line) => {
    expect(findIn('MeshTCPRoute', spec)).toEqual({ violations: [`spec.to[0].${line}`], warnings: [] });
  });

  it('may route a MeshGateway to the whole mesh', () => {
    expect(
      findIn('MeshTCPRoute', `targetRef: { kind: MeshGateway, name: g }\nto: [{ targetRef: { kind: Mesh }, rules: [${one}] }]`),
    ).toEqual({
      violations: [],
      warnings: ['spec.targetRef.kind: MeshGateway selects nothing here: there are no built-in gateways'],
    });
  });
});
