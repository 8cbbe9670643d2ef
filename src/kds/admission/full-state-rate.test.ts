// How often a peer gets its full state.
import { beforeEach, expect, it } from 'vitest';
import { FullStateRate, waitsForFullState } from './full-state-rate.ts';

let now: number;
let rate: FullStateRate;
beforeEach(() => {
  now = 0;
  rate = new FullStateRate({ atOnce: 3, intervalMs: 10_000 }, () => now);
});

/** The waits of full states that are taken as soon as they may be. */
function take(count: number): number[] {
  return Array.from({ length: count }, () => {
    const wait = rate.waitOf('east');
    now += wait;
    rate.take('east');
    return wait;
  });
}

it('the first full states of a peer do not wait, each later one waits for the interval', () => {
  expect(take(5)).toEqual([0, 0, 0, 10_000, 10_000]);
});

it('a look at the wait takes nothing, and the wait ends with time', () => {
  take(3);
  now += 4_000;
  expect([rate.waitOf('east'), rate.waitOf('east')]).toEqual([6_000, 6_000]);
  now += 6_000;
  expect(rate.waitOf('east')).toBe(0);
});

it('a peer that was quiet for long gets no more than the first ones at once', () => {
  take(3);
  now += 3_600_000;
  expect(take(4)).toEqual([0, 0, 0, 10_000]);
});

it('a peer does not wait for another', () => {
  take(4);
  expect(rate.waitOf('west')).toBe(0);
});

it('the reason for a wait names the seconds and the settings', () => {
  expect(waitsForFullState(6_001)).toMatch(/in 7 s.*quotas\.fullStates and fullStateInterval/);
});
