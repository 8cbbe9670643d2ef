// The rate at which a peer may open streams.
import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { StreamOpenRate } from './stream-open-rate.ts';

const east = 'east globalToZone';

describe('openings of a peer', () => {
  it('are admitted at once, then one by one, then refused; other peers do not wait', () => {
    let now = 0;
    const openings = new StreamOpenRate(() => now);
    for (let n = 0; n < 20; n += 1) expect(openings.take(east)).toBe(0);
    expect(Array.from({ length: 20 }, () => openings.take(east))).toEqual(Array.from({ length: 20 }, (_, n) => (n + 1) * 500));
    expect(openings.take(east)).toBeNull();
    expect(openings.take('west globalToZone')).toBe(0);
    expect(openings.take('east zoneToGlobal')).toBe(0);
    now = 500;
    expect(openings.take(east)).toBe(10_000);
    now = 60_000;
    expect(openings.take(east)).toBe(0);
  });

  it('never exceed the allowance, at any times of arrival', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(2_000), { maxLength: 200 }), (pauses) => {
        let now = 0;
        const openings = new StreamOpenRate(() => now);
        const times: number[] = [];
        for (const pause of pauses) {
          now += pause;
          const wait = openings.take(east);
          if (wait !== null) times.push(now + wait);
        }
        // The largest excess over the limit, for all spans of time.
        let over = -Infinity;
        for (const [first, from] of times.entries())
          for (let last = first; last < times.length; last += 1)
            over = Math.max(over, last - first + 1 - 21 - (((times[last] ?? 0) - from) / 1_000) * 2);
        expect(over).toBeLessThanOrEqual(1e-6);
      }),
    );
  });
});
