// Token buckets by key, with the limits of full states.
import { beforeEach, expect, it } from 'vitest';
import { TokenBuckets } from './token-buckets.ts';

let now: number;
let rate: TokenBuckets;
beforeEach(() => {
  now = 0;
  rate = new TokenBuckets({ burst: 3, msAToken: 10_000, most: 2 }, () => now);
});

/** The waits of full states that are taken as soon as they may be. */
function take(count: number): number[] {
  return Array.from({ length: count }, () => {
    const wait = rate.waitOf('east', 1);
    now += wait;
    rate.take('east', 1);
    return wait;
  });
}

it('the first tokens of a peer do not wait, each later one waits for the interval', () => {
  expect(take(5)).toEqual([0, 0, 0, 10_000, 10_000]);
});

it('a look at the wait takes nothing, and the wait ends with time', () => {
  take(3);
  now += 4_000;
  expect([rate.waitOf('east', 1), rate.waitOf('east', 1)]).toEqual([6_000, 6_000]);
  now += 6_000;
  expect(rate.waitOf('east', 1)).toBe(0);
});

it('a peer that was quiet for long gets no more than the first ones at once', () => {
  take(3);
  now += 3_600_000;
  expect(take(4)).toEqual([0, 0, 0, 10_000]);
});

it('a peer does not wait for another', () => {
  take(4);
  expect(rate.waitOf('west', 1)).toBe(0);
});

it('tokens that a peer took before it had them delay it, and a peer that is forgotten has all', () => {
  rate.take('east', 5);
  expect([rate.leftOf('east'), rate.waitOf('east', 0), rate.waitOf('east', 1)]).toEqual([-2, 20_000, 30_000]);
  for (const peer of ['west', 'north']) rate.take(peer, 1);
  expect(rate.leftOf('east')).toBe(3);
});
