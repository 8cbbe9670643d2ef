import { expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { SparseMap } from './sparse-map.ts';

it('a sparse map has the entries of a Map, in the same order', () => {
  const steps = fc.array(fc.record({ key: fc.nat(3), value: fc.option(fc.nat(9), { nil: null }) }), { maxLength: 20 });
  fc.assert(
    fc.property(steps, (all) => {
      const [sparse, map] = [new SparseMap<number, number>(), new Map<number, number>()];
      for (const { key, value } of all) {
        if (value === null) expect(sparse.delete(key)).toBe(map.delete(key));
        else {
          sparse.set(key, value);
          map.set(key, value);
        }
        expect([...sparse.entries]).toEqual([...map]);
        expect([sparse.has(key), sparse.get(key)]).toEqual([map.has(key), map.get(key)]);
        expect(sparse.size).toBe(map.size);
      }
      const taken = sparse.takeAll();
      sparse.set(9, 9);
      expect([[...taken], [...sparse.entries]]).toEqual([[...map], [[9, 9]]]);
    }),
  );
});

it('a sparse map that is emptied in a loop over its entries ends the loop', () => {
  const sparse = new SparseMap<string, number>();
  sparse.set('a', 1);
  sparse.set('b', 2);
  const seen: string[] = [];
  for (const key of sparse.entries.keys()) {
    seen.push(key);
    sparse.delete(key);
  }
  expect([seen, sparse.size]).toEqual([['a', 'b'], 0]);
});
