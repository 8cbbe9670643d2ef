import { fc } from '../../test/support/property.ts';
import { expect, it } from 'vitest';
import { reconnectPauseMs } from './client.ts';

it('a zone reconnects within 0.8 s after any number of failures, and zones do not all reconnect at once (engine 22)', () => {
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
