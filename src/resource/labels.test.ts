import { expect, it } from 'vitest';
import { defaultReach, isReachLabel } from './labels.ts';
import type { Labels } from './types.ts';

it.each<[labels: Labels, expected: string]>([
  [{}, 'all'],
  [{ 'meridian.io/reachable': 'none' }, 'none'],
  [{ 'meridian.io/reachable': 'all' }, 'all'],
  [{ 'meridian.io/reachable': 'some' }, 'all'],
  [{ 'meridian.io/reachable': 'none', 'reachable.meridian.io/east': 'all' }, 'all'],
  [{ 'meridian.io/reachable': 'none', 'reachable.meridian.io/east': 'some' }, 'none'],
  [{ 'reachable.meridian.io/east': 'none' }, 'none'],
  [{ 'reachable.meridian.io/west': 'none' }, 'all'],
])('of a Mesh with the labels %j proxies of zone east reach %s', (labels, expected) => {
  expect(defaultReach(labels, 'east')).toBe(expected);
});

it.each([
  ['meridian.io/reachable', true],
  ['reachable.meridian.io/east', true],
  ['meridian.io/other', false],
])('the label %s says what proxies reach: %s', (key, expected) => {
  expect(isReachLabel(key)).toBe(expected);
});
