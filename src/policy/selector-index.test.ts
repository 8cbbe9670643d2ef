import { expect, it, vi } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { ItemIndex, SelectorIndex, type Pair } from './selector-index.ts';

const pairArbitrary = fc.tuple(fc.constantFrom('app', 'tier'), fc.constantFrom('a', 'b')).map((pair): Pair => pair);
const pairsArbitrary = fc.uniqueArray(pairArbitrary, { maxLength: 4, selector: (pair) => pair.join() });
const stepArbitrary = fc.record({ item: fc.constantFrom('x', 'y', 'z'), pairs: fc.option(pairsArbitrary) });
const hasAll = (pairs: readonly Pair[], of: readonly Pair[]): boolean =>
  of.every(([key, value]) => pairs.some((pair) => pair[0] === key && pair[1] === value));

it('both indexes find what a search of all entries finds, after any changes', () => {
  fc.assert(
    fc.property(fc.array(stepArbitrary, { maxLength: 12 }), pairsArbitrary, (steps, wanted) => {
      const [items, selectors] = [new ItemIndex<string>(), new SelectorIndex()];
      const entries = new Map<string, readonly Pair[]>();
      for (const { item, pairs } of steps) {
        for (const index of [items, selectors]) {
          if (pairs === null) index.remove(item);
          else index.put(item, pairs);
        }
        if (pairs === null) entries.delete(item);
        else entries.set(item, pairs);
      }
      const found = (isFound: (pairs: readonly Pair[]) => boolean): string[] =>
        [...entries].flatMap(([item, pairs]) => (isFound(pairs) ? [item] : [])).sort();
      expect(items.withAll(wanted).sort()).toEqual(found((pairs) => wanted.length > 0 && hasAll(pairs, wanted)));
      expect([...selectors.selecting(wanted)].sort()).toEqual(found((pairs) => pairs.length > 0 && hasAll(wanted, pairs)));
      for (const item of ['x', 'y', 'z']) expect(selectors.pairsOf(item)).toEqual(entries.get(item) ?? []);
    }),
  );
});

it('a selector of nothing replaces the last one', () => {
  const index = new SelectorIndex();
  index.put('x', [['app', 'a']]);
  index.put('x', null);
  expect([[...index.selecting([['app', 'a']])], index.pairsOf('x')]).toEqual([[], []]);
});

it('a lookup of items visits those of the rarest pair', () => {
  const index = new ItemIndex<number>();
  for (let n = 0; n < 100; n += 1) index.put(n, n === 7 ? [['env', 'prod'], ['app', 'a']] : [['env', 'prod']]); // oxfmt-ignore
  const visits = vi.spyOn(Set.prototype, 'has');
  const found = index.withAll([['env', 'prod'], ['app', 'a']]); // oxfmt-ignore
  const { length } = visits.mock.calls;
  visits.mockRestore();
  expect([found, length]).toEqual([[7], 1]);
});

it('a lookup visits few selectors that do not match, as each is under its rarest pair', () => {
  const index = new SelectorIndex();
  for (let n = 0; n < 100; n += 1)
    index.put(String(n), [
      ['env', 'prod'],
      ['app', String(n)],
    ]);
  const visits = vi.spyOn(index, 'pairsOf');
  expect([
    ...index.selecting([
      ['app', '7'],
      ['env', 'prod'],
    ]),
  ]).toEqual(['7']);
  expect(visits.mock.calls.length).toBeLessThanOrEqual(2);
});
