// The bitset compared with a plain Set.
import { fc } from '../../../test/support/property.ts';
import { describe, expect, it } from 'vitest';
import { Bitset } from './bitset.ts';

/** The indexes are around the ends of words and of the array as it grows, and anywhere. */
const index = fc.oneof(
  fc.constantFrom(0, 1, 30, 31, 32, 33, 63, 64, 127, 128, 255, 256, 1_000, 20_000),
  fc.nat(300),
  fc.nat(100_000),
);
const command = fc.record({ do: fc.constantFrom('add' as const, 'delete' as const, 'has' as const), index });

describe('a bitset', () => {
  it('behaves as a Set', () => {
    fc.assert(
      fc.property(fc.array(command, { maxLength: 200 }), (commands) => {
        const held = new Bitset();
        const model = new Set<number>();
        for (const step of commands) {
          if (step.do === 'add') {
            expect(held.add(step.index)).toBe(!model.has(step.index));
            model.add(step.index);
          } else if (step.do === 'delete') {
            held.delete(step.index);
            model.delete(step.index);
          }
          expect(held.has(step.index)).toBe(model.has(step.index));
        }
        expect([...held.indexes()]).toEqual([...model].sort((a, b) => a - b));
        for (const { index: asked } of commands) {
          for (const near of [asked - 1, asked, asked + 1, asked + 32])
            if (near >= 0) expect([near, held.has(near)]).toEqual([near, model.has(near)]);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('distinguishes all bits of a word, the highest included', () => {
    const held = new Bitset();
    for (let bit = 0; bit < 64; bit += 1) expect(held.add(bit)).toBe(true);
    held.delete(31);
    expect(Array.from({ length: 64 }, (_, bit) => bit).filter((bit) => !held.has(bit))).toEqual([31]);
  });

  it('keeps its bits while it grows', () => {
    const held = new Bitset();
    held.add(3);
    for (let bit = 1_000; bit < 2_000_000; bit *= 2) held.add(bit);
    expect(held.has(3)).toBe(true);
    expect(held.has(4)).toBe(false);
  });

  it('does not have an index beyond its end, and does not grow to delete it', () => {
    const held = new Bitset();
    held.delete(1_000_000);
    expect(held.has(1_000_000)).toBe(false);
    expect(held.add(1_000_000)).toBe(true);
  });
});
