import { expect, it } from 'vitest';
import { storedNameOfGiven } from './given-name.ts';

const text = (labels: unknown): string => JSON.stringify({ type: 'Dataplane', name: 'cart-1', labels });

it.each<[string, string, string]>([
  ['a namespace', text({ 'k8s.kuma.io/namespace': 'ns' }), 'cart-1.ns'],
  ['no namespace', text({ app: 'cart' }), 'cart-1'],
  ['an empty namespace', text({ 'k8s.kuma.io/namespace': '' }), 'cart-1'],
  ['a namespace that is no text', text({ 'k8s.kuma.io/namespace': 3 }), 'cart-1'],
  ['no document', '', 'cart-1'],
  ['a text that is no JSON', '{"k8s.kuma.io/namespace"', 'cart-1'],
  ['a namespace elsewhere', JSON.stringify({ 'k8s.kuma.io/namespace': 'ns' }), 'cart-1'],
])('the stored name of a Dataplane with %s', (_, given, expected) => {
  expect(storedNameOfGiven(given, 'cart-1')).toBe(expected);
});

it('is the same for a proxy that knows its stored name', () => {
  expect(storedNameOfGiven(text({ 'k8s.kuma.io/namespace': 'ns' }), 'cart-1.ns')).toBe('cart-1.ns');
});
