import { describe, expect, it } from 'vitest';
import type { Json, JsonObject, Labels } from '../resource/types.ts';
import { checkRoute, documentOf, universalOf } from './stored-document.ts';

const SPEC = { parentRefs: [{ kind: 'Service', name: 'cart' }], rules: [{ backendRefs: [{ name: 'cart', port: 80 }] }] };

function document(metadata: JsonObject, rest: JsonObject = {}): JsonObject {
  return { apiVersion: 'gateway.networking.k8s.io/v1beta1', kind: 'HTTPRoute', metadata, spec: SPEC, ...rest };
}

describe('universalOf', () => {
  it('converts namespace and mesh to their Universal form (D5)', () => {
    const labels = { 'kuma.io/mesh': 'm', team: 'a' };
    const read = universalOf(document({ name: 'r', namespace: 'shop', labels, annotations: { note: 'x' } }));
    expect(read).toEqual({
      body: { type: 'HTTPRoute', name: 'r', mesh: 'm', labels: { team: 'a', 'k8s.kuma.io/namespace': 'shop' }, spec: SPEC },
    });
    expect(universalOf(document({ name: 'r' }))).toHaveProperty('body.mesh', 'default');
  });

  it('does not check the spec, because the check of a write does', () => {
    expect(universalOf(document({ name: 'r' }, { spec: { rules: [] } }))).toHaveProperty('body.spec', { rules: [] });
    expect(universalOf(document({ name: 'r' }, { spec: [] }))).toHaveProperty('violation.field', 'spec');
  });

  it.each<[string, JsonObject, string]>([
    ['a kind without a home', document({ name: 'r' }, { kind: 'TLSRoute' }), 'kind'],
    ['a version that never was', document({ name: 'r' }, { apiVersion: 'gateway.networking.k8s.io/v9' }), 'apiVersion'],
    ['no name', document({}), 'metadata.name'],
    ['no metadata', document({ name: 'r' }, { metadata: null }), 'metadata'],
    ['an unknown key', document({ name: 'r' }, { data: {} }), 'data'],
    ['two namespaces', document({ name: 'r', namespace: 'a', labels: { 'k8s.kuma.io/namespace': 'b' } }), 'metadata.labels'],
  ])('names %s', (_, given, field) => {
    const read = universalOf(given);
    expect('violation' in read ? read.violation.field : '').toMatch(new RegExp(`^${field.replace('.', '\\.')}`));
  });
});

describe('documentOf', () => {
  it('has the status at the place of Gateway API, and no computed labels', () => {
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

const NAMESPACE: Labels = { 'k8s.kuma.io/namespace': 'shop' };

function fieldsOf(rule: Json, row: { name?: string; labels?: Labels; type?: string; spec?: JsonObject } = {}): string[] {
  const { type = 'HTTPRoute', name = 'cart-route', labels = NAMESPACE } = row;
  const spec = row.spec ?? { parentRefs: [{ kind: 'Service', name: 'cart' }], rules: [rule] };
  return checkRoute({ type, mesh: 'default', name, labels, spec }).map(({ field }) => field);
}

const RULE: JsonObject = { backendRefs: [{ name: 'cart', port: 80 }] };
const backend = (ref: JsonObject): JsonObject => ({ backendRefs: [{ name: 'cart', port: 80, ...ref }] });
const forwardTo = (entry: JsonObject): JsonObject => ({ forwardTo: [entry] });

describe('checkRoute', () => {
  it('accepts a valid route with any labels', () => {
    const computed = { 'kuma.io/display-name': 'Old Name', 'kuma.io/origin': 'zone', 'kuma.io/mesh': 'default' };
    expect(fieldsOf(RULE, { labels: { ...NAMESPACE, ...computed } })).toEqual([]);
    expect(fieldsOf(RULE, { labels: {} })).toEqual([]);
    expect(fieldsOf(RULE, { labels: { 'k8s.kuma.io/namespace': '' } })).toEqual([]);
    expect(fieldsOf(RULE, { type: 'TCPRoute' })).toEqual([]);
  });

  it.each<[string, Json, string]>([
    ['a Service without a port', { backendRefs: [{ name: 'cart' }] }, 'spec.rules[0].backendRefs[0].port'],
    ['weight -1', backend({ weight: -1 }), 'spec.rules[0].backendRefs[0].weight'],
    ['weight 1,000,001', backend({ weight: 1_000_001 }), 'spec.rules[0].backendRefs[0].weight'],
    ['an unknown filter', { ...RULE, filters: [{ type: 'CORS', cors: {} }] }, 'spec.rules[0].filters[0].type'],
    ['serviceName', forwardTo({ serviceName: 'cart', port: 80 }), 'spec.rules[0].forwardTo[0].serviceName'],
    [
      'two specs in one backend',
      forwardTo({ serviceName: 'cart', backendRef: { name: 'cart' }, port: 80 }),
      'spec.rules[0].forwardTo[0].serviceName',
    ],
    ['an unknown key', { ...RULE, retry: { attempts: 2 } }, 'spec.rules[0].retry'],
  ])('names the field of %s', (_, rule, field) => {
    expect(fieldsOf(rule)).toEqual([field]);
  });

  it('reports fields outside the spec with their path in Universal form', () => {
    expect(fieldsOf(RULE, { name: 'Cart_1' })).toEqual(['name']);
    expect(fieldsOf(RULE, { labels: { 'k8s.kuma.io/namespace': 'not a namespace' } })).toEqual([
      'labels["k8s.kuma.io/namespace"]',
    ]);
    expect(fieldsOf(RULE, { spec: {} })).toEqual(['spec.parentRefs', 'spec.rules']);
  });
});
