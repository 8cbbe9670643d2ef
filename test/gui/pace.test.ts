// How often events may cause requests of a tab of the page.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

type Pace = typeof import('../../web/src/pace.ts');
let pace: Pace;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  vi.resetModules();
  pace = await import('../../web/src/pace.ts');
});

afterEach(() => {
  vi.useRealTimers();
});

const MOST_MS = 5_000;

it('lets single changes be asked for at once, and makes many wait', () => {
  pace.spend(10, MOST_MS);
  expect(pace.pauseMs()).toBe(0);
  pace.spend(60, MOST_MS);
  expect(pace.pauseMs()).toBeCloseTo(5_000);
  vi.advanceTimersByTime(5_000);
  expect(pace.pauseMs()).toBeCloseTo(0);
});

it('lets an answer that costs 4 ms be asked for every two seconds in the long run', () => {
  let asked = 0;
  for (let ms = 0; ms < 100_000; ms += 100) {
    if (pace.pauseMs() === 0) {
      pace.spend(4, MOST_MS);
      asked += 1;
    }
    vi.advanceTimersByTime(100);
  }
  // The reserve is fifteen of them.
  expect(asked).toBeGreaterThanOrEqual(60);
  expect(asked).toBeLessThanOrEqual(70);
});

it('never pauses for longer than the given time', () => {
  pace.spend(1_000_000, MOST_MS);
  expect(pace.pauseMs()).toBeLessThanOrEqual(MOST_MS);
});

it('counts what an answer takes beyond the fastest one, for its reader', () => {
  const reader = new AbortController().signal;
  pace.countAnswer(undefined, 50);
  pace.countAnswer(reader, 58);
  expect(pace.workOf(reader)).toBe(8);
  pace.countAnswer(reader, 50);
  expect(pace.workOf(reader)).toBe(9);
  expect(pace.workOf(new AbortController().signal)).toBe(0);
});
