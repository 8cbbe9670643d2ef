import { describe, expect, it } from 'vitest';
import { fc } from './property.ts';
import { runsOf } from './sized-fast-check.ts';

describe('a property', () => {
  it.each([
    { asked: 2_000, push: 400, full: 2_000 },
    { asked: undefined, push: 25, full: 100 },
    { asked: 100, push: 25, full: 100 },
    { asked: 8, push: 8, full: 8 },
  ])('with $asked runs has $push on a push and $full at full size', ({ asked, push, full }) => {
    expect([runsOf(asked, false), runsOf(asked, true)]).toEqual([push, full]);
  });

  it('runs as often as runsOf says', async () => {
    let runs = 0;
    fc.assert(fc.property(fc.nat(), () => void (runs += 1)));
    await fc.assert(fc.asyncProperty(fc.nat(), async () => void (runs += 1)));
    expect(runs).toBe(2 * runsOf());
  });

  it('prints its seed when it fails', async () => {
    expect(() => fc.assert(fc.property(fc.nat(), (n) => n < 1))).toThrow(/seed: -?\d+, path: "/);
    await expect(fc.assert(fc.asyncProperty(fc.nat(), async (n) => n < 1))).rejects.toThrow(/seed: -?\d+, path: "/);
  });

  it('generates lists of the given length', () => {
    const lengths = fc.sample(fc.array(fc.nat(), { maxLength: 200 }), { numRuns: 50, seed: 1 }).map((list) => list.length);
    expect(Math.max(...lengths)).toBeGreaterThan(10);
  });
});
