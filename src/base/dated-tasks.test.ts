// Tasks at dates, while the date is set and the machine sleeps.
import { beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { DatedTasks } from './dated-tasks.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

let clock: ManualClock;
let tasks: DatedTasks;
/** Names of the tasks that ran, in their order. */
let ran: string[];

beforeEach(() => {
  clock = new ManualClock('2026-01-01T00:00:30.000Z');
  tasks = new DatedTasks(clock);
  ran = [];
});

/** Plans a task. @param wait milliseconds from now */
function plan(name: string, wait: number): () => void {
  return tasks.plan(clock.now().getTime() + wait, () => void ran.push(name));
}

describe('a task at a date', () => {
  it.each([0, 1, 59_999, 60_000, 60_001, 89_999, 90_000, 119_999, 120_001, HOUR_MS, 24 * HOUR_MS + 1])(
    'runs at this date, %d ms away, and once',
    async (wait) => {
      plan('one', wait);
      if (wait > 0) await clock.advance(wait - 1);
      expect(ran).toEqual([]);
      await clock.advance(1);
      expect(ran).toEqual(['one']);
      await clock.advance(HOUR_MS);
      expect([ran, clock.sleepers]).toEqual([['one'], 0]);
    },
  );

  it('runs soon where the date has passed', async () => {
    plan('one', -HOUR_MS);
    await clock.advance(0);
    expect(ran).toEqual(['one']);
  });

  it.each([10 * HOUR_MS, 100 * HOUR_MS])('runs within a minute after the date was set %d ms forward past it', async (moved) => {
    plan('one', 10 * HOUR_MS);
    await clock.advance(HOUR_MS);
    clock.moveDate(moved);
    await clock.advance(MINUTE_MS);
    expect(ran).toEqual(['one']);
  });

  it('runs at its date after the date was set back', async () => {
    plan('one', HOUR_MS);
    await clock.advance(MINUTE_MS);
    clock.moveDate(-HOUR_MS);
    await clock.advance(119 * MINUTE_MS - 1);
    expect(ran).toEqual([]);
    await clock.advance(1);
    expect(ran).toEqual(['one']);
  });

  it('notices within a minute that the date was set back, once', async () => {
    let isSetBack = 0;
    tasks = new DatedTasks(clock, () => void (isSetBack += 1));
    plan('one', 10 * HOUR_MS);
    for (const moved of [HOUR_MS, 0, -30_000]) {
      clock.moveDate(moved);
      await clock.advance(MINUTE_MS);
    }
    expect(isSetBack).toBe(0);
    clock.moveDate(-HOUR_MS);
    await clock.advance(5 * MINUTE_MS);
    expect(isSetBack).toBe(1);
  });

  it('does not run when it is cancelled, whether it is near or not', async () => {
    const cancel = [1_000, 90_000, HOUR_MS].map((wait) => plan('one', wait));
    plan('two', 90_000);
    for (const one of cancel) one();
    await clock.advance(2 * HOUR_MS);
    expect(ran).toEqual(['two']);
  });

  it('runs although another task of its minute is cancelled twice', async () => {
    const cancel = plan('one', HOUR_MS);
    cancel();
    plan('two', HOUR_MS);
    cancel();
    await clock.advance(2 * HOUR_MS);
    expect(ran).toEqual(['two']);
  });

  it('leaves no timer when it is cancelled', async () => {
    const cancel = [90_000, HOUR_MS, HOUR_MS].map((wait) => plan('one', wait));
    expect(clock.sleepers).toBe(1);
    await clock.advance(MINUTE_MS);
    for (const one of cancel) one();
    expect(clock.sleepers).toBe(0);
  });
});

it('thousands of tasks that are far away have one timer', async () => {
  for (let at = 0; at < 5_000; at += 1) plan(String(at), HOUR_MS + at * 1_000);
  await clock.advance(30 * MINUTE_MS);
  expect([clock.sleepers, ran.length]).toEqual([1, 0]);
  await clock.advance(2 * HOUR_MS);
  expect(ran).toEqual(Array.from({ length: 5_000 }, (_, at) => String(at)));
});
