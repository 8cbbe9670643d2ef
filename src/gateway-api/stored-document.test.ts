import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../resource/types.ts';
import { documentOf, universalOf } from './stored-document.ts';

const SPEC = { parentRefs: [{ kind: 'Service', name: 'cart' }], rules: [{ backendRefs: [{ name: 'cart', port: 80 }] }] };

function document(metadata: JsonObject, rest: JsonObject = {}): JsonObject {
  return { apiVersion: 'gateway.networking.k8s.io/v1beta1', kind: 'HTTPRoute', metadata, spec: SPEC, ...rest };
}

describe('universalOf', () => {
  it('makes namespace and mesh what they are on Universal (D5)', () => {
    const labels = { 'kuma.io/mesh': 'm', team: 'a' };
    const read = universalOf(document({ name: 'r', namespace: 'shop', labels, annotations: { note: 'x' } }));
    expect(read).toEqual({
      body: { type: 'HTTPRoute', name: 'r', mesh: 'm', labels: { team: 'a', 'k8s.kuma.io/namespace': 'shop' }, spec: SPEC },
    });
    expect(universalOf(document({ name: 'r' }))).toHaveProperty('body.mesh', 'default');
  });

  it('leaves the spec to the check of a write', () => {
    expect(universalOf(document({ name: 'r' }, { spec: { rules: [] } }))).toHaveProperty('body.spec', { rules: [] });
    expect(universalOf(document({ name: 'r' }, { spec: [] }))).toHaveProperty('violation.field', 'spec');
  });

  it.each<[string, JsonObject, string]>([
    ['a kind without a home', document({ name: 'r' }, { kind: 'TLSRoute' }), 'kind'],
    ['a version that never was', document({ name: 'r' }, { apiVersion: 'gateway.networking.k8s.io/v9' }), 'apiVersion'],
    ['no name', document({}), 'metadata.name'],
    ['no metadata', document({ name: 'r' }, { metadata: null }), 'metadata'],
    ['a key of nobody', document({ name: 'r' }, { data: {} }), 'data'],
    ['two namespaces', document({ name: 'r', namespace: 'a', labels: { 'k8s.kuma.io/namespace': 'b' } }), 'metadata.labels'],
  ])('names %s', (_, given, field) => {
    const read = universalOf(given);
    expect('violation' in read ? read.violation.field : '').toMatch(new RegExp(`^${field.replace('.', '\\.')}`));
  });
});

describe('documentOf', () => {
  it('shows the status where a Gateway API user looks, and none of the labels that a control plane computes', () => {
    const labels = {
      ...{ 'kuma.io/display-name': 'r', 'k8s.kuma.io/namespace': 'shop', 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east' },
      ...{ 'kuma.io/kds-sync': 'disabled', team: 'a' },
    };
    const row = { type: 'TCPRoute', mesh: 'm', name: 'r.shop', labels, spec: SPEC, status: { parents: [] } };
    expect(documentOf(row)).toEqual({
      apiVersion: 'gateway.networking.k8s.io/v1alpha2',
      kind: 'TCPRoute',
      metadata: {
        name: 'r',
        namespace: 'shop',
        labels: { 'kuma.io/kds-sync': 'disabled', team: 'a', 'kuma.io/mesh': 'm' },
      },
      spec: SPEC,
      status: { parents: [] },
    });
  });
});
