import { expect, it } from 'vitest';
import { DebouncedValue, MAX_MS, QUIET_MS } from './debounced-value.ts';

it('takes the first change at once, and the next ones when the source was still for a second', () => {
  const value = new DebouncedValue({ n: 0 });
  const offer = (n: number, now: number): [boolean, number, number | null] => [
    value.offer({ n }, now),
    value.value.n,
    value.wakeAt,
  ];
  expect(offer(0, 0)).toEqual([false, 0, null]);
  expect(offer(1, 10)).toEqual([true, 1, null]);
  expect(offer(2, 20)).toEqual([false, 1, 20 + QUIET_MS]);
  expect(offer(2, 20 + QUIET_MS - 1)).toEqual([false, 1, 20 + QUIET_MS]);
  expect(offer(2, 20 + QUIET_MS)).toEqual([true, 2, null]);
  expect(offer(3, 20 + 2 * QUIET_MS)).toEqual([true, 3, null]);
});

it('forgets a change that is taken back', () => {
  const value = new DebouncedValue(0);
  value.offer(1, 0);
  value.offer(2, 10);
  expect([value.offer(1, 20), value.value, value.wakeAt]).toEqual([false, 1, null]);
  expect([value.offer(2, 30), value.wakeAt]).toEqual([false, 30 + QUIET_MS]);
});

it('follows a source that is never still every five seconds', () => {
  const value = new DebouncedValue(0);
  const taken: number[] = [];
  for (let now = 0; now <= 3 * MAX_MS; now += 100) if (value.offer(now + 1, now)) taken.push(now);
  expect(taken).toEqual([0, 100 + MAX_MS, 200 + 2 * MAX_MS]);
  expect(value.wakeAt).toBe(Math.min(3 * MAX_MS + QUIET_MS, 300 + 3 * MAX_MS));
});
