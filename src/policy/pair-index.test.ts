import { expect, it } from 'vitest';
import { PairIndex } from './pair-index.ts';

const NONE = new PairIndex<string>().get('kind', 'name');

function indexOf(...items: readonly (readonly [key: string, value: string, item: string])[]): PairIndex<string> {
  const index = new PairIndex<string>();
  for (const item of items) index.add(...item);
  return index;
}

it('a pair has its items, and a key the items of all its values', () => {
  const index = indexOf(['app', 'a', 'x'], ['app', 'a', 'y'], ['app', 'b', 'z'], ['team', 'a', 'w']);
  expect([...index.get('app', 'a')]).toEqual(['x', 'y']);
  expect([...index.under('app')]).toEqual(['x', 'y', 'z']);
  expect([...index.under('zone'), ...index.get('app', 'c'), ...index.get('zone', 'a')]).toEqual([]);
});

it('no empty set remains of a deleted item, and the other items stay', () => {
  const index = indexOf(['app', 'a', 'x'], ['app', 'a', 'y'], ['app', 'b', 'z']);
  index.delete('app', 'a', 'x');
  expect([...index.get('app', 'a')]).toEqual(['y']);
  index.delete('app', 'a', 'y');
  expect(index.get('app', 'a')).toBe(NONE);
  expect([...index.under('app')]).toEqual(['z']);
  index.delete('app', 'b', 'z');
  index.delete('app', 'b', 'z');
  expect(index.get('app', 'b')).toBe(NONE);
});
