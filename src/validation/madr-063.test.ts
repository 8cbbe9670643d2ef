// Every YAML example of MADR 063, its slips mended as decisions lists them, is taken as the document says.
import { describe, expect, it } from 'vitest';
import { findIn, findInDocuments, inNamespace, NOTHING_FOUND } from './spec-table.fixture.ts';

const SUBSET = 'spec.targetRef.kind: MeshSubset is deprecated at the top level: use Dataplane with labels';

const policy = (type: string, namespace: string, spec: string): string =>
  `apiVersion: kuma.io/v1alpha1\nkind: ${type}\nmetadata: { name: x, namespace: ${namespace}, labels: { kuma.io/mesh: default } }\nspec:\n${spec}`;
const universal = (type: string, spec: string): string => `type: ${type}\nname: x\nmesh: default\nspec:\n${spec}`;
const timeout = (kind: string, name: string, namespace?: string, value = '10s'): string => `
    - targetRef: { kind: ${kind}, name: ${name}${namespace === undefined ? '' : `, namespace: ${namespace}`} }
      default: { http: { requestTimeout: ${value} } }`;
const subset = (tags: string): string => `  targetRef: { kind: MeshSubset, tags: { ${tags} } }\n`;
const routeTo = (service: string): string => `
    - targetRef: { kind: MeshService, name: ${service} }
      rules:
        - matches: [{ path: { type: PathPrefix, value: "/slow-endpoint" } }]
          default: { backendRefs: [{ kind: MeshService, name: ${service} }] }`;

describe('the examples of MADR 063', () => {
  it.each([
    ['1, producer on MeshService', policy('MeshTimeout', 'backend-ns', `  to:${timeout('MeshService', 'backend')}`)],
    [
      '2, consumer on MeshService',
      policy('MeshTimeout', 'frontend-ns', `  to:${timeout('MeshService', 'backend', 'backend-ns')}`),
    ],
    ['4, producer on MeshHTTPRoute', policy('MeshTimeout', 'backend-ns', `  to:${timeout('MeshHTTPRoute', 'backend-route')}`)],
    ['5, consumer on MeshHTTPRoute', policy('MeshTimeout', 'frontend-ns', `  to:${timeout('MeshHTTPRoute', 'r', 'backend-ns')}`)],
    [
      '7, consumer on both',
      policy(
        'MeshTimeout',
        'frontend-ns',
        `  to:${timeout('MeshService', 'backend', 'backend-ns', '5s')}${timeout('MeshHTTPRoute', 'slow-backend-route', 'backend-ns', '15s')}`,
      ),
    ],
    [
      'the new API with targetRef',
      universal(
        'MeshTimeout',
        `  targetRef: { kind: Mesh }
  to:
    - targetRef: { kind: MeshHTTPRoute, name: route-to-backend }
      default: { http: { requestTimeout: 5s, streamIdleTimeout: 1h } }`,
      ),
    ],
    [
      'the new API without targetRef',
      universal(
        'MeshTimeout',
        `  to:
    - targetRef: { kind: MeshHTTPRoute, name: route-to-backend }
      default: { http: { requestTimeout: 5s, streamIdleTimeout: 1h } }`,
      ),
    ],
    [
      'retries by producer and consumer',
      [
        policy(
          'MeshRetry',
          'backend-ns',
          `  to:
    - targetRef: { kind: MeshHTTPRoute, name: backend-route }
      default: { http: { numRetries: 3, backOff: { baseInterval: 10ms, maxInterval: 1s }, retryOn: ["500"] } }`,
        ),
        policy(
          'MeshRetry',
          'frontend-ns',
          `  to:
    - targetRef: { kind: MeshHTTPRoute, name: backend-route, namespace: backend-ns }
      default: { http: { retryOn: ["5xx"] } }`,
        ),
      ].join('\n---\n'),
    ],
    [
      'merging and applying, overriding',
      [
        policy('MeshHTTPRoute', 'backend-ns', `  to:${routeTo('backend')}`),
        policy('MeshTimeout', 'backend-ns', `  to:${timeout('MeshService', 'backend')}`),
        policy('MeshTimeout', 'backend-ns', `  to:${timeout('MeshHTTPRoute', 'route-to-backend')}`),
        policy('MeshTimeout', 'backend-ns', `  to:${timeout('MeshHTTPRoute', 'route-to-backend', 'backend-ns')}`),
        policy('MeshTimeout', 'frontend-ns', `  to:${timeout('MeshHTTPRoute', 'route-to-backend', 'backend-ns')}`),
      ].join('\n---\n'),
    ],
    [
      'overriding on Universal, before the override',
      [
        universal('MeshHTTPRoute', `  to:${routeTo('backend')}`),
        universal('MeshTimeout', `  to:${timeout('MeshService', 'backend')}`),
        universal('MeshTimeout', `  to:${timeout('MeshHTTPRoute', 'route-to-backend')}`),
      ].join('\n---\n'),
    ],
    [
      'a policy on two services and a route',
      policy(
        'MeshTimeout',
        'backend-ns',
        `  to:${timeout('MeshService', 'backend')}${timeout('MeshService', 'frontend')}${timeout('MeshHTTPRoute', 'slow-backend-route', 'backend-ns')}`,
      ),
    ],
  ])('takes %s', (_, documents) => {
    for (const found of findInDocuments(documents)) expect(found).toEqual(NOTHING_FOUND);
  });

  it.each([
    [
      '3',
      policy(
        'MeshTimeout',
        'frontend-ns',
        `${subset('service-type: ui')}  to:${timeout('MeshService', 'backend', 'backend-ns')}`,
      ),
    ],
    [
      '6',
      policy('MeshTimeout', 'frontend-ns', `${subset('service-type: ui')}  to:${timeout('MeshHTTPRoute', 'r', 'backend-ns')}`),
    ],
    [
      'a policy and a route on different subsets',
      [
        policy('MeshHTTPRoute', 'backend-ns', `${subset('k8s.kuma.io/namespace: frontend-ns')}  to:${routeTo('backend')}`),
        policy(
          'MeshTimeout',
          'backend-ns',
          `${subset('k8s.kuma.io/namespace: other')}  to:${timeout('MeshHTTPRoute', 'route-to-backend')}`,
        ),
      ].join('\n---\n'),
    ],
    [
      'the overrides on Universal',
      [
        universal('MeshTimeout', `${subset('services-group: frontend')}  to:${timeout('MeshService', 'backend')}`),
        universal('MeshTimeout', `${subset('services-group: frontend')}  to:${timeout('MeshHTTPRoute', 'route-to-backend')}`),
      ].join('\n---\n'),
    ],
  ])('takes %s with a warning about MeshSubset', (_, documents) => {
    for (const found of findInDocuments(documents)) expect(found).toEqual({ violations: [], warnings: [SUBSET] });
  });

  it('takes a route with several to[] in the whole mesh, with a warning', () => {
    const route = `to:${routeTo('backend')}${routeTo('frontend')}`;
    expect(findIn('MeshHTTPRoute', route)).toEqual({
      violations: [],
      warnings: ['spec.to: several entries are deprecated: make a MeshHTTPRoute for each'],
    });
    expect(findIn('MeshHTTPRoute', route, { labels: inNamespace('backend-ns') })).toEqual({
      violations: ['spec.to: must have exactly one entry in a producer policy, not 2'],
      warnings: [],
    });
  });

  it('takes a route at the top level in the whole mesh only', () => {
    const old =
      'targetRef: { kind: MeshHTTPRoute, name: r }\nto: [{ targetRef: { kind: Mesh }, default: { http: { requestTimeout: 5s } } }]';
    expect(findIn('MeshTimeout', old)).toEqual({
      violations: [],
      warnings: ['spec.targetRef.kind: MeshHTTPRoute is deprecated at the top level: put the route in to[].targetRef'],
    });
    expect(findIn('MeshTimeout', old, { labels: inNamespace('ns') })).toEqual({
      violations: ['spec.targetRef.kind: must not be MeshHTTPRoute in a consumer policy: put the route in to[].targetRef'],
      warnings: [],
    });
  });

  it.each([
    [
      'MeshTimeout',
      'MeshTCPRoute',
      '{ connectionTimeout: 1s, idleTimeout: 1s, http: { requestTimeout: 1s, streamIdleTimeout: 1s } }',
      ['connectionTimeout', 'http.requestTimeout', 'http.streamIdleTimeout'],
      'idleTimeout',
    ],
    [
      'MeshRetry',
      'MeshTCPRoute',
      '{ tcp: { maxConnectAttempt: 1 }, http: { numRetries: 1 }, grpc: { numRetries: 1 } }',
      ['http', 'grpc'],
      'tcp',
    ],
    [
      'MeshLoadBalancingStrategy',
      'MeshHTTPRoute',
      '{ hashPolicies: [], loadBalancer: { type: Random }, localityAwareness: { disabled: true } }',
      ['loadBalancer', 'localityAwareness'],
      'hashPolicies',
    ],
    [
      'MeshLoadBalancingStrategy',
      'MeshTCPRoute',
      '{ hashPolicies: [{ type: Connection, connection: {} }], loadBalancer: { type: Random } }',
      ['loadBalancer'],
      'hashPolicies of type Connection',
    ],
    ['MeshAccessLog', 'MeshHTTPRoute', '{ backends: [] }', [], ''],
    ['MeshAccessLog', 'MeshTCPRoute', '{ backends: [{ type: File, file: { path: /tmp/x } }] }', [], ''],
  ])('refuses fields of %s on %s that a route cannot have', (type, kind, conf, refused, allowed) => {
    expect(findIn(type, `to: [{ targetRef: { kind: ${kind}, name: r }, default: ${conf} }]`)).toEqual({
      violations: refused.map(
        (field) => `spec.to[0].default.${field}: must not be set for a ${kind}: a route can have ${allowed}`,
      ),
      warnings: [],
    });
  });

  it.each([
    [
      'MeshTimeout',
      '{ connectionTimeout: 1s, idleTimeout: 1s, http: { requestTimeout: 1s, streamIdleTimeout: 1s, requestHeadersTimeout: 1s, maxStreamDuration: 1s, maxConnectionDuration: 1s } }',
      ['connectionTimeout', 'idleTimeout', 'http.maxStreamDuration', 'http.maxConnectionDuration', 'http.requestHeadersTimeout'],
      'http.requestTimeout and http.streamIdleTimeout',
    ],
    ['MeshRetry', '{ tcp: { maxConnectAttempt: 1 }, http: { numRetries: 1 } }', ['tcp'], 'http and grpc'],
  ])('warns about fields in %s that a MeshHTTPRoute cannot have and Kuma accepts', (type, conf, ignored, allowed) => {
    expect(findIn(type, `to: [{ targetRef: { kind: MeshHTTPRoute, name: r }, default: ${conf} }]`)).toEqual({
      violations: [],
      warnings: ignored.map(
        (field) => `spec.to[0].default.${field}: has no effect for a MeshHTTPRoute: a route can have ${allowed}`,
      ),
    });
  });

  it.each(['MeshRateLimit', 'MeshCircuitBreaker', 'MeshHealthCheck', 'MeshHTTPRoute'])(
    'refuses a route in to[] of %s',
    (type) => {
      const found = findIn(type, 'to: [{ targetRef: { kind: MeshHTTPRoute, name: r }, default: {}, rules: [] }]', {
        strict: false,
      });
      expect(found.violations.find((line) => line.startsWith('spec.to[0].targetRef.kind: must be '))).toContain(
        'not "MeshHTTPRoute"',
      );
    },
  );

  it('refuses producer and consumer items in one policy', () => {
    const mixed = `to:${timeout('MeshService', 'backend')}${timeout('MeshService', 'backend', 'other-ns')}`;
    expect(findIn('MeshTimeout', mixed, { labels: inNamespace('ns') })).toEqual({
      violations: ['spec.to: must not mix producer items (this namespace, by name) and consumer items: make two policies'],
      warnings: [],
    });
    expect(findIn('MeshTimeout', mixed)).toEqual(NOTHING_FOUND);
  });
});
