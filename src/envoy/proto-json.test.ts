import { describe, expect, it } from 'vitest';
import type { Json } from '../resource/types.ts';
import { decimal, duration, given, headerOptions, optionalDuration, percentage } from './proto-json.ts';

describe('a duration', () => {
  it.each([
    ['0s', '0s'],
    ['15ms', '0.015s'],
    ['1h', '3600s'],
    ['1m30s', '90s'],
    ['1.5s', '1.500s'],
    ['10us', '0.000010s'],
    ['100ns', '0.000000100s'],
    ['1s1ns', '1.000000001s'],
  ])('of %s is %s', (text, expected) => {
    expect(optionalDuration(text)).toBe(expected);
    expect(duration(text, '7s')).toBe(expected);
  });

  it.each<Json | undefined>([undefined, '', 'soon', 5, null])('of %j is the default', (text) => {
    expect([optionalDuration(text), duration(text, '7s')]).toEqual([undefined, '7s']);
  });
});

it.each<[Json | undefined, number | undefined]>([
  [62.5, 62.5],
  ['62.5', 62.5],
  ['0', 0],
  ['', undefined],
  ['many', undefined],
  [null, undefined],
  [undefined, undefined],
])('the decimal %j is %j', (text, expected) => {
  expect(decimal(text)).toBe(expected);
});

it.each<[Json | undefined, object]>([
  [50, { numerator: 50 }],
  ['50', { numerator: 50 }],
  ['12.5', { numerator: 1250, denominator: 'TEN_THOUSAND' }],
  [0.01, { numerator: 1, denominator: 'TEN_THOUSAND' }],
  [undefined, { numerator: 0 }],
])('the share %j is %j', (share, expected) => {
  expect(percentage(share)).toEqual(expected);
});

it('an object has the values that are given, also 0, false and null', () => {
  expect(given({ a: undefined, b: 0, c: false, d: null, e: '' })).toEqual({ b: 0, c: false, d: null, e: '' });
});

it('headers are replaced, then added', () => {
  expect(headerOptions([{ name: 'a', value: '1' }], [{ name: 'b' }])).toEqual([
    { header: { key: 'a', value: '1' }, appendAction: 'OVERWRITE_IF_EXISTS_OR_ADD' },
    { header: { key: 'b', value: '' } },
  ]);
});
