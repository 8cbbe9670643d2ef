// Zones that always have changed insights, and how many rows global then stores.
import { expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { FREE_ZONES, InsightTurns } from './insight-turns.ts';

type Fleet = { readonly zones: number; readonly replicas: number; readonly proxies: number; readonly seconds: number };

/** The rows that are stored in each second, when each zone sends the rows of all its proxies as soon as it may. */
async function rowsOf({ zones, replicas, proxies, seconds }: Fleet): Promise<number[]> {
  const clock = new ManualClock();
  const ownZones = zones / replicas;
  const turns = Array.from(
    { length: replicas },
    () => new InsightTurns({ clock, fleetSize: () => zones, ownZones: () => ownZones }),
  );
  const perSecond: number[] = [];
  /** Second → replicas with a zone that may send then. */
  const due = new Map<number, number[]>([[0, turns.flatMap((_, at) => Array.from({ length: ownZones }, () => at))]]);
  for (let second = 0; second < seconds; second += 1) {
    const now = due.get(second) ?? [];
    due.delete(second);
    perSecond.push(now.length * proxies);
    for (const at of now) {
      const next = second + Math.max(1, Math.ceil((turns[at]?.after(proxies) ?? 0) / 1_000));
      due.set(next, [...(due.get(next) ?? []), at]);
    }
    await clock.advance(1_000);
  }
  return perSecond;
}

const sum = (rows: readonly number[]): number => rows.reduce((total, each) => total + each, 0);

it.each([1, 4])(
  '10,000 zones of 20 proxies on %i replicas have at most 150 rows a second after their first',
  async (replicas) => {
    const rows = await rowsOf({ zones: 10_000, replicas, proxies: 20, seconds: 3_000 });
    expect(rows[0]).toBe(200_000);
    // With the 50 rows a second of ZoneInsights that is the bound of 200.
    expect(sum(rows.slice(1)) / 2_999).toBeLessThanOrEqual(150);
    expect(sum(rows.slice(1))).toBeGreaterThan(150 * 1_500);
    expect(Math.max(...rows.slice(1))).toBeLessThanOrEqual(150 + 20 * replicas);
  },
);

it('a fleet of 500 zones does not wait, and one of 501 waits for what it stores beyond 3,000 rows a second', () => {
  const of = (zones: number): InsightTurns =>
    new InsightTurns({ clock: new ManualClock(), fleetSize: () => zones, ownZones: () => zones });
  expect(of(FREE_ZONES).after(1_000_000)).toBe(0);
  expect(of(FREE_ZONES + 1).after(3_000)).toBeCloseTo(1_002, -1);
  expect(of(FREE_ZONES + 1).after(0)).toBe(0);
});

it('a fleet that becomes small does not wait for what was stored before', () => {
  let zones = 10_000;
  const turns = new InsightTurns({ clock: new ManualClock(), fleetSize: () => zones, ownZones: () => zones });
  expect(turns.after(15_000)).toBe(100_000);
  zones = 500;
  expect(turns.after(1)).toBe(0);
  zones = 10_000;
  expect(turns.after(15)).toBe(100);
});
