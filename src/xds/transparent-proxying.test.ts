import { expect, it } from 'vitest';
import { fromOwnSource, isVirtual } from './transparent-proxying.ts';

it.each([
  ['127.0.0.1', false],
  ['127.1.2.3', false],
  ['::1', false],
  ['10.0.0.1', true],
  ['12.127.0.1', true],
  ['240.0.0.1', true],
  ['::2', true],
])('a listener at %s has its connections from another one: %s', (address, expected) => {
  expect(isVirtual(address)).toBe(expected);
});

it.each([
  ['10.0.0.1', '127.0.0.6'],
  ['::1', '::6'],
  ['a.name', '127.0.0.6'],
])('connections to an application at %s come from %s, with any port', (address, source) => {
  expect(fromOwnSource(address)).toEqual({ upstreamBindConfig: { sourceAddress: { address: source, portValue: 0 } } });
});
