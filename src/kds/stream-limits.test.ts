// The rate at which a zone may open streams.
import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { Openings, OpenStreams } from './stream-limits.ts';

const east = { zone: 'east', kind: 'globalToZone' } as const;

describe('openings of a zone', () => {
  it('are admitted at once, then one by one, then refused; other zones and kinds do not wait', () => {
    let now = 0;
    const openings = new Openings(() => now);
    for (let n = 0; n < 20; n += 1) expect(openings.take(east)).toBe(0);
    expect(Array.from({ length: 20 }, () => openings.take(east))).toEqual(Array.from({ length: 20 }, (_, n) => (n + 1) * 500));
    expect(openings.take(east)).toBeNull();
    expect(openings.take({ ...east, zone: 'west' })).toBe(0);
    expect(openings.take({ ...east, kind: 'zoneToGlobal' })).toBe(0);
    now = 500;
    expect(openings.take(east)).toBe(10_000);
    now = 60_000;
    expect(openings.take(east)).toBe(0);
  });

  it('never exceed the allowance, at any times of arrival', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(2_000), { maxLength: 200 }), (pauses) => {
        let now = 0;
        const openings = new Openings(() => now);
        const times: number[] = [];
        for (const pause of pauses) {
          now += pause;
          const wait = openings.take(east);
          if (wait !== null) times.push(now + wait);
        }
        // The most that any span of time has over what may be opened in it.
        let over = -Infinity;
        for (const [first, from] of times.entries())
          for (let last = first; last < times.length; last += 1)
            over = Math.max(over, last - first + 1 - 21 - (((times[last] ?? 0) - from) / 1_000) * 2);
        expect(over).toBeLessThanOrEqual(1e-6);
      }),
    );
  });
});

it('open streams are counted by zone and kind until they end', () => {
  const streams = new OpenStreams();
  const [one, two] = [{ ...east }, { ...east }];
  for (const stream of [one, one, two, { ...east, zone: 'west' }, { ...east, kind: 'zoneToGlobal' as const }])
    streams.add(stream);
  expect(streams.count(east)).toBe(2);
  streams.delete({ ...east });
  streams.delete({ ...east, zone: 'north' });
  expect(streams.count(east)).toBe(2);
  streams.delete(one);
  expect(streams.count(east)).toBe(1);
  streams.delete(two);
  streams.delete(two);
  expect([streams.count(east), streams.count({ ...east, zone: 'west' })]).toEqual([0, 1]);
  streams.add(one);
  expect(streams.count(east)).toBe(1);
});
