import { expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { RateLimiter } from './rate-limit.ts';

it('a bucket refills at the configured rate, up to the burst', async () => {
  const clock = new ManualClock();
  const limiter = new RateLimiter({ requestsPerSecond: 2, burst: 3 }, clock);
  const take = (count: number): number[] => Array.from({ length: count }, () => limiter.take('a'));
  expect(take(5)).toEqual([0, 0, 0, 0.5, 0.5]);
  await clock.advance(500);
  expect(take(2)).toEqual([0, 0.5]);
  await clock.advance(59_500);
  expect(take(4)).toEqual([0, 0, 0, 0.5]);
  expect(limiter.take('b')).toBe(0);
});
