import { fc } from '../../test/support/property.ts';
import { expect, it } from 'vitest';
import { reconnectPauseMs } from './client.ts';

it('a zone dials again within 0.8 s, however often it failed, and not all zones at once (engine 22)', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), (random) => {
      const pause = reconnectPauseMs(() => random);
      expect(pause).toBeGreaterThanOrEqual(100);
      expect(pause).toBeLessThan(800);
    }),
  );
  const pauses = Array.from({ length: 1_000 }, () => reconnectPauseMs());
  expect(Math.max(...pauses) - Math.min(...pauses)).toBeGreaterThan(300);
});
