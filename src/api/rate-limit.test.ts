import { expect, it } from 'vitest';
import { RateLimiter } from './rate-limit.ts';

it('a bucket fills steadily, to its size and no further', () => {
  let now = 0;
  const limiter = new RateLimiter({ requestsPerSecond: 2, burst: 3 }, () => now);
  const take = (count: number): number[] => Array.from({ length: count }, () => limiter.take('a'));
  expect(take(5)).toEqual([0, 0, 0, 0.5, 0.5]);
  now = 500;
  expect(take(2)).toEqual([0, 0.5]);
  now = 60_000;
  expect(take(4)).toEqual([0, 0, 0, 0.5]);
  expect(limiter.take('b')).toBe(0);
});
