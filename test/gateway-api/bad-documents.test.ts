// Invalid routes, parents and documents: each is refused with its field.
import { describe, it } from 'vitest';
import { parse } from 'yaml';
import { R, expectViolations, httpRoute, rule } from './bad-document.ts';

describe('a bad document', () => {
  it.each<[string, unknown, ...string[]]>([
    ['backendRequest', rule('timeouts: {backendRequest: 1s}'), `${R}.timeouts.backendRequest: is not supported in a MeshTimeout`],
    ['a wrong duration', rule('timeouts: {request: 1.5s}'), `${R}.timeouts.request: must be a duration`],
    ['a number as duration', rule('timeouts: {request: 10}'), `${R}.timeouts.request: must be a string`],
    ['retry', rule('retry: {attempts: 3}'), `${R}.retry: is not supported in a MeshHTTPRoute: write a MeshRetry`],
    ['sessionPersistence', rule('sessionPersistence: {}'), `${R}.sessionPersistence: is not supported`],
    [
      'an unknown key with __proto__',
      rule('__proto__: {a: 1}, constructor: 1'),
      `${R}.__proto__: is not supported here`,
      `${R}.constructor: is not supported here`,
    ],
    [
      'hostnames',
      httpRoute('[{backendRefs: [{name: a, port: 80}]}]', { spec: 'hostnames: [a.b]' }),
      'spec.hostnames: is not supported in a mesh',
    ],
    [
      'gateways',
      httpRoute('[{backendRefs: [{name: a, port: 80}]}]', { spec: 'gateways: {allow: All}' }),
      'spec.gateways: is not supported in a mesh: write parentRefs',
    ],
    ['no rules', httpRoute('[]'), 'spec.rules: must have at least one rule'],
    ['rules as an object', httpRoute('{}'), 'spec.rules: must be a list'],
    [
      'equal names',
      httpRoute('[{name: a, backendRefs: [{name: a, port: 80}]}, {name: a, backendRefs: [{name: a, port: 80}]}]'),
      `spec.rules[1].name: is the name of ${R} already`,
    ],
    [
      'TLSRoute',
      httpRoute('[]', { kind: 'TLSRoute' }),
      'kind: "TLSRoute" is not supported in a mesh: write HTTPRoute or TCPRoute',
    ],
    ['UDPRoute', httpRoute('[]', { kind: 'UDPRoute' }), 'kind: "UDPRoute" is not supported'],
    ['GRPCRoute', httpRoute('[]', { kind: 'GRPCRoute' }), 'kind: "GRPCRoute" is not supported'],
    [
      'another version',
      httpRoute('[{backendRefs: [{name: a, port: 80}]}]', { version: 'v3' }),
      'apiVersion: must be one of gateway.networking.k8s.io/v1,',
    ],
    [
      'two rules in a TCPRoute',
      httpRoute('[{backendRefs: [{name: a, port: 80}]}, {backendRefs: [{name: a, port: 80}]}]', { kind: 'TCPRoute' }),
      'spec.rules: must have one rule, not 2',
    ],
    [
      'a match in a TCPRoute',
      httpRoute('[{matches: [], backendRefs: [{name: a, port: 80}]}]', { kind: 'TCPRoute' }),
      `${R}.matches: is not supported here`,
    ],
  ])('of routes: %s', (_, document, ...expected) => {
    expectViolations(document, expected);
  });

  const parents = (text: string): unknown =>
    parse(
      `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r}, spec: {parentRefs: ${text}, rules: [{backendRefs: [{name: a, port: 80}]}]}}`,
    );
  it.each<[string, unknown, ...string[]]>([
    [
      'a Gateway',
      parents('[{group: gateway.networking.k8s.io, kind: Gateway, name: g}]'),
      'spec.parentRefs[0].kind: Gateway is not supported in a mesh: write group: "" and kind: Service',
    ],
    ['no kind', parents('[{name: g}]'), 'spec.parentRefs[0].kind: must be given, since it would mean Gateway'],
    [
      'a custom kind',
      parents('[{group: acme.io, kind: Server, name: g}]'),
      'spec.parentRefs[0].kind: "Server" is not supported in a mesh',
    ],
    ['none', parents('[]'), 'spec.parentRefs: must name at least one service'],
    [
      'the same twice',
      parents('[{kind: Service, name: a}, {kind: Service, name: a, group: ""}]'),
      'spec.parentRefs[1]: is the same parent as spec.parentRefs[0]',
    ],
    ['a weight', parents('[{kind: Service, name: a, weight: 1}]'), 'spec.parentRefs[0].weight: is not supported here'],
  ])('of parents: %s', (_, document, ...expected) => {
    expectViolations(document, expected);
  });

  it.each<[string, unknown, ...string[]]>([
    ['nothing', null, 'document: must be an object'],
    ['a list', [], 'document: must be an object'],
    ['text', 'HTTPRoute', 'document: must be an object'],
    ['an empty object', {}, 'apiVersion: must be given', 'kind: must be given', 'metadata: must be given', 'spec: must be given'],
    [
      'a spec as a list',
      { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute', metadata: { name: 'a' }, spec: [] },
      'spec: must be an object',
    ],
    [
      'labels as a list',
      { ...(rule('name: a') as object), metadata: { name: 'a', labels: ['x'] } },
      'metadata.labels: must be an object',
    ],
    [
      'a label as a number',
      { ...(rule('name: a') as object), metadata: { name: 'a', labels: { 'a.b/c': 1 } } },
      'metadata.labels["a.b/c"]: must be a string',
    ],
    [
      'two namespaces',
      { ...(rule('name: a') as object), metadata: { name: 'a', namespace: 'b', labels: { 'k8s.kuma.io/namespace': 'c' } } },
      'metadata.labels["k8s.kuma.io/namespace"]: must be b',
    ],
    [
      '__proto__',
      JSON.parse('{"__proto__": {"kind": "HTTPRoute"}}'),
      '__proto__: is not supported here',
      'apiVersion: must be given',
      'kind: must be given',
      'metadata: must be given',
      'spec: must be given',
    ],
  ])('of documents: %s', (_, document, ...expected) => {
    expectViolations(document, expected);
  });

  it('is refused with all violations at once', () => {
    const document = httpRoute(
      '[{backendRefs: [{name: a, weight: -1}], timeouts: {request: x}}, {filters: [{type: No}], forwardTo: [{serviceName: b, port: 1}]}]',
    );
    expectViolations(document, [
      `${R}.backendRefs[0].weight`,
      `${R}.backendRefs[0].port`,
      `${R}.timeouts.request`,
      'spec.rules[1].filters[0].type',
      'spec.rules[1].forwardTo[0].serviceName',
    ]);
  });
});
