import { describe, expect, it } from 'vitest';
import type { Json, JsonObject, Labels } from '../resource/types.ts';
import { checkRoute } from './check-route.ts';

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
  it('passes a right route, whatever labels its row has', () => {
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

  it('names what stands outside the spec as Universal form has it', () => {
    expect(fieldsOf(RULE, { name: 'Cart_1' })).toEqual(['name']);
    expect(fieldsOf(RULE, { labels: { 'k8s.kuma.io/namespace': 'not a namespace' } })).toEqual([
      'labels["k8s.kuma.io/namespace"]',
    ]);
    expect(fieldsOf(RULE, { spec: {} })).toEqual(['spec.parentRefs', 'spec.rules']);
  });
});
