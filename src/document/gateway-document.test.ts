import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../resource/types.ts';
import { fromKubernetes } from './kubernetes-form.ts';

const spec = {
  parentRefs: [{ kind: 'Service', name: 'cart' }],
  rules: [{ forwardTo: [{ backendRef: { name: 'cart' }, port: 80 }] }],
};

function route(rest: JsonObject = {}): JsonObject {
  const metadata = { name: 'cart-route', namespace: 'shop', labels: { 'kuma.io/mesh': 'm', team: 'a' } };
  return { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute', metadata, spec, ...rest };
}

it('has no namespace when its Kubernetes object has none', () => {
  const mesh = { apiVersion: 'kuma.io/v1alpha1', kind: 'Mesh', metadata: { name: 'm', namespace: 'a' }, spec: {} };
  expect(fromKubernetes(mesh)).toEqual({ body: { type: 'Mesh', name: 'm', labels: {} } });
});

describe('a Gateway API document that is applied', () => {
  it.each(['v1', 'v1beta1', 'v1alpha2', 'v1alpha1'])('is read in version %s', (version) => {
    const labels = { team: 'a', 'k8s.kuma.io/namespace': 'shop' };
    const body = { type: 'HTTPRoute', mesh: 'm', name: 'cart-route', spec, labels };
    expect(fromKubernetes(route({ apiVersion: `gateway.networking.k8s.io/${version}` }))).toEqual({ body });
  });

  it.each<[string, JsonObject, RegExp]>([
    ['another version', { apiVersion: 'gateway.networking.k8s.io/v9' }, /^apiVersion: must be one of/],
    [
      'a kind that is not supported',
      { kind: 'TLSRoute' },
      /^kind: "TLSRoute" is not supported in a mesh: write HTTPRoute or TCPRoute/,
    ],
    ['no name', { metadata: { namespace: 'shop' } }, /^metadata\.name: must be given/],
  ])('is refused with %s', (_, rest, expected) => {
    const read = fromKubernetes(route(rest));
    expect('violation' in read ? `${read.violation.field}: ${read.violation.reason}` : '').toMatch(expected);
  });
});
