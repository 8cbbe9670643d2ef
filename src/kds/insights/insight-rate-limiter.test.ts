// Zones always have changed insights: these tests show how many rows global then stores.
import { expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { FREE_ZONES, InsightRateLimiter } from './insight-rate-limiter.ts';

type Fleet = { readonly zones: number; readonly replicas: number; readonly proxies: number; readonly seconds: number };

/** The rows that are stored in each second, when all proxies of all zones change all the time, the first time all at once. */
async function rowsOf({ zones, replicas, proxies, seconds }: Fleet): Promise<number[]> {
  const clock = new ManualClock();
  const ownZones = zones / replicas;
  const perSecond: number[] = [];
  let rows = 0;
  const send = (limiter: InsightRateLimiter): void => {
    const store = (): void => {
      rows += proxies;
      clock.after(1_000, () => send(limiter));
    };
    if (limiter.admits(proxies)) store();
    else limiter.wait(proxies, store);
  };
  for (let replica = 0; replica < replicas; replica += 1) {
    const limiter = new InsightRateLimiter({ clock, fleetSize: () => zones, ownZones: () => ownZones });
    for (let zone = 0; zone < ownZones; zone += 1) send(limiter);
  }
  for (let second = 0; second < seconds; second += 1) {
    await clock.advance(1_000);
    perSecond.push(rows);
    rows = 0;
  }
  return perSecond;
}

const sum = (rows: readonly number[]): number => rows.reduce((total, each) => total + each, 0);

it.each([1, 4])('10,000 zones of 20 proxies on %i replicas store at most 150 rows a second', async (replicas) => {
  const rows = await rowsOf({ zones: 10_000, replicas, proxies: 20, seconds: 1_500 });
  // The rows of a second may be stored ahead. With the 50 rows a second of ZoneInsights that is the bound of 200.
  const most = 150 + 150 + 20 * replicas;
  expect(Math.max(...rows)).toBeLessThanOrEqual(most);
  expect(sum(rows)).toBeLessThanOrEqual(150 * 1_500 + most);
  // Each zone has had a turn.
  expect(sum(rows)).toBeGreaterThan(20 * 10_000);
});

const of = (clock: ManualClock, zones: () => number): InsightRateLimiter =>
  new InsightRateLimiter({ clock, fleetSize: zones, ownZones: zones });

it('a fleet of 500 zones does not wait, and one of 501 waits above 3,000 rows a second', () => {
  const clock = new ManualClock();
  const free = of(clock, () => FREE_ZONES);
  expect([free.admits(1_000_000), free.admits(1)]).toEqual([true, true]);
  const limited = of(clock, () => FREE_ZONES + 1);
  expect([2_900, 2_900, 1, 0].map((rows) => limited.admits(rows))).toEqual([true, true, false, true]);
});

it('streams that wait have their turns in their order, and a stream that has left has none', async () => {
  const clock = new ManualClock();
  const limiter = of(clock, () => 10_000);
  limiter.count(300);
  const had: string[] = [];
  const leave = limiter.wait(150, () => had.push('left'));
  limiter.wait(150, () => had.push('first'));
  limiter.wait(150, () => had.push('second'));
  expect(limiter.waiting).toBe(3);
  leave();
  expect(limiter.waiting).toBe(2);
  await clock.advance(1_999);
  expect([had, limiter.admits(1)]).toEqual([[], false]);
  await clock.advance(1);
  expect(had).toEqual(['first']);
  await clock.advance(1_000);
  expect(had).toEqual(['first', 'second']);
});

it('rows that are stored without a turn delay the next turn', async () => {
  const clock = new ManualClock();
  const limiter = of(clock, () => 10_000);
  const had: string[] = [];
  limiter.count(150);
  limiter.wait(150, () => had.push('turn'));
  limiter.count(150);
  await clock.advance(1_999);
  expect(had).toEqual([]);
  await clock.advance(1);
  expect(had).toEqual(['turn']);
});

it('a fleet that becomes small does not wait for what was stored before', async () => {
  const clock = new ManualClock();
  let zones = 10_000;
  const limiter = of(clock, () => zones);
  limiter.count(150_000);
  const had: string[] = [];
  limiter.wait(1, () => had.push('turn'));
  expect(limiter.admits(1)).toBe(false);
  zones = 500;
  expect(limiter.admits(1)).toBe(true);
  await clock.advance(10_000);
  expect(had).toEqual(['turn']);
  zones = 10_000;
  expect(limiter.admits(1)).toBe(true);
});
