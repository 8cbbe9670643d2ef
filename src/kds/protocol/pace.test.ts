import { describe, expect, it } from 'vitest';
import { fc } from '../../../test/support/property.ts';
import { batchesOf } from './pace.ts';

const itself = (bytes: number): number => bytes;

describe('the batches of a list', () => {
  it.each<[rows: number, bytes: number, items: number[], expected: number[][]]>([
    [2, Infinity, [], []],
    [2, Infinity, [1, 1, 1], [[1, 1], [1]]],
    [3, Infinity, [1, 1, 1], [[1, 1, 1]]],
    [Infinity, 10, [4, 6, 1], [[4, 6], [1]]],
    [Infinity, 10, [4, 7, 3], [[4], [7, 3]]],
    [Infinity, 10, [11, 1, 12], [[11], [1], [12]]],
    [Infinity, 10, [0, 10, 0, 1], [[0, 10, 0], [1]]],
    [0, 0, [1, 1], [[1], [1]]],
    [Infinity, Infinity, [5, 5, 5], [[5, 5, 5]]],
  ])('of at most %d rows and %d bytes: %j', (batchRows, batchBytes, items, expected) => {
    expect(batchesOf(items, { batchRows, batchBytes }, itself)).toEqual(expected);
  });

  it('have all of it in its order, and the next item of each would not have fit', () => {
    const limits = fc.record({ batchRows: fc.integer({ min: 1, max: 5 }), batchBytes: fc.integer({ min: 0, max: 20 }) });
    fc.assert(
      fc.property(fc.array(fc.nat(12), { maxLength: 40, size: 'max' }), limits, (items, { batchRows, batchBytes }) => {
        const batches = batchesOf(items, { batchRows, batchBytes }, itself);
        expect(batches.flat()).toEqual(items);
        const sum = (batch: readonly number[]): number => batch.reduce((bytes, size) => bytes + size, 0);
        for (const [at, batch] of batches.entries()) {
          expect(batch.length >= 1 && batch.length <= batchRows).toBe(true);
          if (batch.length > 1) expect(sum(batch)).toBeLessThanOrEqual(batchBytes);
          const next = batches[at + 1]?.[0];
          if (next !== undefined) expect(batch.length === batchRows || sum(batch) + next > batchBytes).toBe(true);
        }
      }),
    );
  });
});
