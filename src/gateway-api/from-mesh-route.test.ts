import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../resource/types.ts';
import { fromMeshRoute, type MeshResource } from './from-mesh-route.ts';

const CART = { kind: 'MeshService', name: 'cart', namespace: 'shop', sectionName: '80' };
const BACKENDS = { backendRefs: [{ kind: 'MeshService', name: 'cart', port: 80 }] };

function route(item: JsonObject, spec: JsonObject = {}): MeshResource {
  const labels = { 'k8s.kuma.io/namespace': 'shop', 'kuma.io/display-name': 'r', 'kuma.io/origin': 'zone' };
  return { type: 'MeshHTTPRoute', mesh: 'm', name: 'r.shop', labels, spec: { to: [{ targetRef: CART, ...item }], ...spec } };
}

describe('fromMeshRoute', () => {
  it('writes the target of a rule without backends as its backend', () => {
    const conf = { filters: [{ type: 'URLRewrite', urlRewrite: { hostname: 'a.b' } }] };
    expect(fromMeshRoute(route({ rules: [{ matches: [{}], default: conf }] }))).toEqual({
      document: {
        apiVersion: 'gateway.networking.k8s.io/v1',
        kind: 'HTTPRoute',
        metadata: { name: 'r', namespace: 'shop', labels: { 'kuma.io/mesh': 'm' } },
        spec: {
          parentRefs: [{ group: '', kind: 'Service', name: 'cart', port: 80 }],
          rules: [{ matches: [{}], ...conf, backendRefs: [{ kind: 'Service', name: 'cart', port: 80 }] }],
        },
      },
    });
  });

  it('writes a mirror without the weight that its schema adds, and names any other weight', () => {
    const mirrorOf = (weight: number): MeshResource => {
      const requestMirror = { backendRef: { kind: 'MeshService', name: 'copy', port: 81, weight } };
      return route({ rules: [{ matches: [{}], default: { ...BACKENDS, filters: [{ type: 'RequestMirror', requestMirror }] } }] });
    };
    expect(fromMeshRoute(mirrorOf(1))).toHaveProperty('document.spec.rules[0].filters', [
      { type: 'RequestMirror', requestMirror: { backendRef: { kind: 'Service', name: 'copy', port: 81 } } },
    ]);
    expect(fromMeshRoute(mirrorOf(2))).toHaveProperty(
      'violations[0].field',
      'spec.to[0].rules[0].default.filters[0].requestMirror.backendRef.weight',
    );
  });

  it('accepts labels that name one object', () => {
    const targetRef = { kind: 'MeshService', labels: { 'kuma.io/display-name': 'cart', 'k8s.kuma.io/namespace': 'billing' } };
    const inverse = fromMeshRoute(route({ targetRef, rules: [{ matches: [{}], default: BACKENDS }] }));
    expect(inverse).toHaveProperty('document.spec.parentRefs', [
      { group: '', kind: 'Service', name: 'cart', namespace: 'billing' },
    ]);
  });

  it('adds a rule to the target to a MeshTCPRoute without rules', () => {
    const inverse = fromMeshRoute({ ...route({ rules: [] }), type: 'MeshTCPRoute' });
    expect(inverse).toHaveProperty('document.spec.rules', [{ backendRefs: [{ kind: 'Service', name: 'cart', port: 80 }] }]);
  });

  it.each<[string, MeshResource, string]>([
    ['a selection of proxies', route({ rules: [] }, { targetRef: { kind: 'Dataplane' } }), 'spec.targetRef'],
    ['two targets', route({}, { to: [{}, {}] }), 'spec.to'],
    [
      'a selection of services',
      route({ targetRef: { kind: 'MeshService', labels: { team: 'a' } } }),
      'spec.to[0].targetRef.labels',
    ],
    ['hostnames', route({ hostnames: ['a'], rules: [] }), 'spec.to[0].hostnames'],
    [
      'an unknown port',
      route({ targetRef: { kind: 'MeshService', name: 'a' }, rules: [{ default: {} }] }),
      'spec.to[0].targetRef.port',
    ],
    [
      'Present',
      route({ rules: [{ matches: [{ headers: [{ type: 'Present', name: 'a' }] }], default: BACKENDS }] }),
      'spec.rules[0].matches[0].headers[0].type',
    ],
    [
      'a weight over the limit',
      route({ rules: [{ matches: [{}], default: { backendRefs: [{ ...CART, weight: 1_000_001 }] } }] }),
      'spec.rules[0].backendRefs[0].weight',
    ],
    ['a rule of text', route({ rules: ['x'] }), 'spec.to[0].rules[0]'],
    ['another type', { ...route({}), type: 'MeshTimeout' }, 'type'],
  ])('names the field that Gateway API does not have: %s', (_, resource, field) => {
    const inverse = fromMeshRoute(resource);
    expect('violations' in inverse ? inverse.violations.map((violation) => violation.field) : []).toContain(field);
  });

  it('takes only the request timeout from a MeshTimeout', () => {
    const timeout = (conf: JsonObject): MeshResource => ({
      ...route({}),
      type: 'MeshTimeout',
      spec: { to: [{ default: conf }] },
    });
    const rules = [{ matches: [{}], default: BACKENDS }];
    expect(fromMeshRoute(route({ rules }), { timeout: timeout({ http: { requestTimeout: '1m0s' } }) })).toHaveProperty(
      'document.spec.rules[0].timeouts',
      { request: '1m' },
    );
    expect(fromMeshRoute(route({ rules }), { timeout: timeout({ http: { streamIdleTimeout: '1m0s' } }) })).toHaveProperty(
      'violations[0].field',
      'timeout.spec.to[0].default.http.streamIdleTimeout',
    );
  });
});
