// Invalid filters and matches: each is refused with its field.
import { describe, it } from 'vitest';
import { R, expectViolations, httpRoute, rule } from './bad-document.ts';

const filter = (text: string): unknown => rule(`filters: [${text}]`);
const match = (text: string): unknown => rule(`matches: [${text}]`);
const mirror = (text: string): unknown => filter(`{type: RequestMirror, requestMirror: ${text}}`);

describe('a bad rule', () => {
  it.each<[string, unknown, ...string[]]>([
    ['an unknown filter', filter('{type: CORS, cors: {}}'), `${R}.filters[0].type: "CORS" is not supported in a MeshHTTPRoute`],
    [
      'ExtensionRef',
      filter('{type: ExtensionRef, extensionRef: {group: a, kind: b, name: c}}'),
      `${R}.filters[0].type: "ExtensionRef" is not supported`,
    ],
    ['no type', filter('{urlRewrite: {hostname: a.b}}'), `${R}.filters[0].type: must be given`],
    ['no configuration', filter('{type: URLRewrite}'), `${R}.filters[0].urlRewrite: must be given`],
    [
      'another configuration',
      filter('{type: URLRewrite, urlRewrite: {hostname: a.b}, requestMirror: {}}'),
      `${R}.filters[0].requestMirror: belongs to a filter of type RequestMirror`,
    ],
    [
      'the same filter twice',
      filter('{type: URLRewrite, urlRewrite: {hostname: a.b}}, {type: URLRewrite, urlRewrite: {hostname: b.c}}'),
      `${R}.filters[1]: is the second URLRewrite`,
    ],
    ['an empty rewrite', filter('{type: URLRewrite, urlRewrite: {}}'), `${R}.filters[0].urlRewrite: must have hostname or path`],
    [
      'a rewrite to an IP',
      filter('{type: URLRewrite, urlRewrite: {hostname: 10.0.0.1}}'),
      `${R}.filters[0].urlRewrite.hostname: must be a DNS name`,
    ],
    [
      'a replacement without a type',
      filter('{type: URLRewrite, urlRewrite: {path: {replaceFullPath: /a}}}'),
      `${R}.filters[0].urlRewrite.path.type: must be given`,
    ],
    [
      'a replacement of the other type',
      filter('{type: URLRewrite, urlRewrite: {path: {type: ReplaceFullPath, replacePrefixMatch: /a}}}'),
      `${R}.filters[0].urlRewrite.path.replacePrefixMatch: is not supported here`,
      `${R}.filters[0].urlRewrite.path.replaceFullPath: must be given`,
    ],
    [
      'a prefix replaced without a prefix',
      rule(
        'matches: [{path: {type: Exact, value: /a}}], filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /b}}}]',
      ),
      `${R}.filters[0].urlRewrite.path: ReplacePrefixMatch needs`,
    ],
    [
      'a redirect beside backends',
      filter('{type: RequestRedirect, requestRedirect: {port: 80}}'),
      `${R}.backendRefs: stands beside the redirect ${R}.filters[0]`,
    ],
    [
      'a redirect beside a rewrite',
      httpRoute(
        '[{filters: [{type: RequestRedirect, requestRedirect: {port: 80}}, {type: URLRewrite, urlRewrite: {hostname: a.b}}]}]',
      ),
      `${R}.filters: ${R}.filters[0] redirects and ${R}.filters[1] rewrites`,
    ],
    [
      'a wrong scheme',
      httpRoute('[{filters: [{type: RequestRedirect, requestRedirect: {scheme: ftp}}]}]'),
      `${R}.filters[0].requestRedirect.scheme: must be one of http, https`,
    ],
    [
      'a wrong status',
      httpRoute('[{filters: [{type: RequestRedirect, requestRedirect: {statusCode: 200}}]}]'),
      `${R}.filters[0].requestRedirect.statusCode: must be one of 301`,
    ],
    [
      'an empty modifier',
      filter('{type: RequestHeaderModifier, requestHeaderModifier: {set: []}}'),
      `${R}.filters[0].requestHeaderModifier: must have set, add or remove`,
    ],
    [
      'a header twice',
      filter('{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: A, value: b}], remove: [a]}}'),
      `${R}.filters[0].requestHeaderModifier.remove[0]: "a" is modified by ${R}.filters[0].requestHeaderModifier.set[0].name already`,
    ],
    [
      '17 headers',
      filter(
        `{type: ResponseHeaderModifier, responseHeaderModifier: {remove: [${Array.from({ length: 17 }, (_, n) => `h${String(n)}`).join(', ')}]}}`,
      ),
      `${R}.filters[0].responseHeaderModifier.remove: must have at most 16`,
    ],
    [
      'headers as a map',
      filter('{type: RequestHeaderModifier, requestHeaderModifier: {add: {a: b}}}'),
      `${R}.filters[0].requestHeaderModifier.add: must be a list`,
    ],
    ...['Host', 'host', 'a b'].map((name): [string, unknown, string] => [
      `the changed header ${name}`,
      filter(`{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: "${name}", value: b}]}}`),
      `${R}.filters[0].requestHeaderModifier.set[0].name: must be a header name (an HTTP token) and not host`,
    ]),
    [
      'a removed header host',
      filter('{type: RequestHeaderModifier, requestHeaderModifier: {remove: [host]}}'),
      `${R}.filters[0].requestHeaderModifier.remove[0]: must be a header name`,
    ],
    ...['100%', '%NOTHING%', 'a\\u0001'].map((value): [string, unknown, string] => [
      `the header value ${value}, which Envoy cannot read`,
      filter(`{type: ResponseHeaderModifier, responseHeaderModifier: {add: [{name: a, value: "${value}"}]}}`),
      `${R}.filters[0].responseHeaderModifier.add[0].value: must be text of one line; a "%" begins a command of Envoy`,
    ]),
    [
      'serviceName in a mirror',
      mirror('{serviceName: a, port: 80}'),
      `${R}.filters[0].requestMirror.serviceName: was removed: write backendRef: {name: "a", port: 80}`,
    ],
    [
      'two specs in a mirror',
      mirror('{serviceName: a, backendRef: {name: b, port: 80}}'),
      `${R}.filters[0].requestMirror.serviceName: was removed, and another`,
    ],
    [
      'a mirror without a port',
      mirror('{backendRef: {name: a}}'),
      `${R}.filters[0].requestMirror.backendRef.port: must be given`,
    ],
    [
      'a mirror with two ports',
      mirror('{backendRef: {name: a, port: 80}, port: 81}'),
      `${R}.filters[0].requestMirror.port: stands beside backendRef.port`,
    ],
    [
      'a mirror with a weight',
      mirror('{backendRef: {name: a, port: 80}, weight: 1}'),
      `${R}.filters[0].requestMirror.weight: has no meaning in a mirror`,
    ],
    ['a mirror without a backend', mirror('{percent: 5}'), `${R}.filters[0].requestMirror.backendRef: must be given`],
    [
      '101 percent',
      mirror('{backendRef: {name: a, port: 80}, percent: 101}'),
      `${R}.filters[0].requestMirror.percent: must be an integer from 0 to 100`,
    ],
    [
      'a fraction over 1',
      mirror('{backendRef: {name: a, port: 80}, fraction: {numerator: 3, denominator: 2}}'),
      `${R}.filters[0].requestMirror.fraction.numerator: must be an integer from 0 to 2`,
    ],
    [
      'percent and fraction',
      mirror('{backendRef: {name: a, port: 80}, percent: 5, fraction: {numerator: 1}}'),
      `${R}.filters[0].requestMirror.fraction: stands beside percent`,
    ],
  ])('of filters: %s', (_, document, ...expected) => {
    expectViolations(document, expected);
  });

  it.each<[string, unknown, ...string[]]>([
    [
      'an unknown match',
      match('{sourceIP: 10.0.0.1}'),
      `${R}.matches[0].sourceIP: is not supported here; supported fields: path, method, headers, queryParams`,
    ],
    ['a relative path', match('{path: {value: a}}'), `${R}.matches[0].path.value: must be an absolute path`],
    ['a path with dots', match('{path: {type: Exact, value: /a/../b}}'), `${R}.matches[0].path.value: must be an absolute path`],
    ...['//', '//admin', '/a//', '/./a', '/.', '/../admin', '/..', '/%2Fa', '/#'].map((path): [string, unknown, string] => [
      `the path ${path}, which is not normalized`,
      match(`{path: {type: PathPrefix, value: "${path}"}}`),
      `${R}.matches[0].path.value: must be an absolute path`,
    ]),
    [
      'a query parameter whose name has more than 1024 bytes',
      match(`{queryParams: [{name: ${'ü'.repeat(513)}, value: a}]}`),
      `${R}.matches[0].queryParams[0].name: must be one line of at most 1024 bytes`,
    ],
    ...['/a(', '/(?!admin).*', 'a{1000}{1000}'].map((value): [string, unknown, ...string[]] => [
      `${value}, which is no regular expression in RE2 syntax`,
      match(
        `{path: {type: RegularExpression, value: "${value}"}, headers: [{type: RegularExpression, name: a, value: "${value}"}], queryParams: [{type: RegularExpression, name: a, value: "${value}"}]}`,
      ),
      `${R}.matches[0].headers[0].value: must be a regular expression in RE2 syntax`,
      `${R}.matches[0].queryParams[0].value: must be a regular expression in RE2 syntax`,
      `${R}.matches[0].path.value: must be a regular expression in RE2 syntax`,
    ]),
    [
      'an unknown type of path',
      match('{path: {type: ImplementationSpecific, value: /}}'),
      `${R}.matches[0].path.type: must be one of Exact, PathPrefix, RegularExpression`,
    ],
    ['an unknown method', match('{method: get}'), `${R}.matches[0].method: must be one of CONNECT`],
    ['headers as a map', match('{headers: {type: Exact, values: {a: b}}}'), `${R}.matches[0].headers: must be a list`],
    [
      'a header twice',
      match('{headers: [{name: A, value: b}, {name: a, value: c}]}'),
      `${R}.matches[0].headers[1].name: "a" stands in this match already`,
    ],
    ['a header without a value', match('{headers: [{name: a}]}'), `${R}.matches[0].headers[0].value: must be given`],
    [
      'Present',
      match('{headers: [{type: Present, name: a, value: b}]}'),
      `${R}.matches[0].headers[0].type: must be one of Exact, RegularExpression`,
    ],
    [
      'a query parameter without a name',
      match('{queryParams: [{value: b}]}'),
      `${R}.matches[0].queryParams[0].name: must be given`,
    ],
    ['a match as text', match('/a'), `${R}.matches[0]: must be an object`],
  ])('of matches: %s', (_, document, ...expected) => {
    expectViolations(document, expected);
  });
});
