// Which changes a trial of many finds, and with how many trials.
import { expect, it } from 'vitest';
import { fc } from '../support/property.ts';
import { culpritsAmong, withoutOverlaps } from '../../scripts/mutation/culprits.ts';

it('finds each change with which alone the trial fails, with few trials', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(fc.nat(63), { maxLength: 5 }), async (bad) => {
      let trials = 0;
      const fails = async (some: readonly number[]): Promise<boolean> => {
        trials += 1;
        return some.some((one) => bad.includes(one));
      };
      const all = Array.from({ length: 64 }, (_, index) => index);
      expect(await culpritsAmong(all, fails)).toEqual(bad.toSorted((a, b) => a - b));
      expect(trials).toBeLessThanOrEqual(1 + 12 * bad.length);
    }),
  );
});

it('does not name changes that fail only together', async () => {
  expect(await culpritsAmong([1, 2, 3, 4], async (some) => some.length > 2)).toEqual([]);
});

it('makes no two changes at once that overlap in a file', () => {
  const change = (file: string, start: number, end: number) => ({ file, mutant: { start, end } });
  const [outer, inner, after, other] = [change('a', 0, 9), change('a', 3, 4), change('a', 9, 12), change('b', 3, 4)];
  expect(withoutOverlaps([outer, inner, after, other])).toEqual([[outer, after, other], [inner]]);
});
