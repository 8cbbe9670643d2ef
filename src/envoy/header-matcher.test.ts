import { expect, it } from 'vitest';
import type { JsonObject } from '../resource/types.ts';
import { headerMatcher } from './header-matcher.ts';

it.each<[JsonObject, JsonObject]>([
  [
    { type: 'Present', name: 'a' },
    { name: 'a', presentMatch: true },
  ],
  [
    { type: 'Absent', name: 'a' },
    { name: 'a', presentMatch: false },
  ],
  [
    { type: 'Prefix', name: 'a', value: 'b' },
    { name: 'a', stringMatch: { prefix: 'b' } },
  ],
  [
    { type: 'Prefix', name: 'a', value: '' },
    { name: 'a', presentMatch: true },
  ],
  [
    { type: 'RegularExpression', name: 'a', value: 'b+' },
    { name: 'a', stringMatch: { safeRegex: { regex: 'b+' } } },
  ],
  [
    { type: 'Exact', name: 'a', value: 'b' },
    { name: 'a', stringMatch: { exact: 'b' } },
  ],
  [{}, { name: '', stringMatch: { exact: '' } }],
])('the matcher of the header %j is %j', (written, expected) => {
  expect(headerMatcher(written)).toEqual(expected);
});
