import { expect, it, vi } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { every, rest, systemClock, within } from './clock.ts';

it('runs a task once at its time, and a cancelled task never', async () => {
  const clock = new ManualClock();
  const [task, cancelled] = [vi.fn(), vi.fn()];
  clock.after(100, task);
  clock.after(100, cancelled)();
  await clock.advance(99);
  expect(task).not.toHaveBeenCalled();
  await clock.advance(1_000);
  expect([task.mock.calls.length, cancelled.mock.calls.length]).toEqual([1, 0]);
  expect(clock.sleepers).toBe(0);
});

it('runs a periodic task until the signal aborts', async () => {
  const clock = new ManualClock();
  const stop = new AbortController();
  const task = vi.fn();
  const running = every(clock, 100, stop.signal, task);
  await clock.advance(250);
  stop.abort();
  await running;
  expect(task).toHaveBeenCalledTimes(2);
});

it('ends a sleep of the system clock when the signal aborts before or during the sleep', async () => {
  const stop = new AbortController();
  const sleeping = systemClock.sleep(1e9, stop.signal);
  stop.abort();
  await sleeping;
  await systemClock.sleep(1e9, stop.signal);
  expect(systemClock.elapsed()).toBeLessThanOrEqual(systemClock.elapsed());
});

it('waits longer than a timer of Node can', async () => {
  vi.useFakeTimers();
  const long = 2 ** 31 + 5;
  const task = vi.fn();
  systemClock.after(long, task);
  const cancelled = vi.fn();
  const cancel = systemClock.after(long, cancelled);
  vi.advanceTimersByTime(2 ** 31);
  cancel();
  expect(task).not.toHaveBeenCalled();
  vi.advanceTimersByTime(5);
  expect([task.mock.calls.length, cancelled.mock.calls.length]).toEqual([1, 0]);
  vi.useRealTimers();
  let hasSlept = false;
  const stop = new AbortController();
  const sleeping = systemClock.sleep(long, stop.signal).then(() => (hasSlept = true));
  await systemClock.sleep(20);
  expect(hasSlept).toBe(false);
  stop.abort();
  await sleeping;
});

it('runs a task of the system clock once, and a cancelled task never', async () => {
  const cancelled = vi.fn();
  systemClock.after(1, cancelled)();
  await new Promise<void>((resolve) => {
    systemClock.after(2, resolve);
    // The timer alone does not keep the process alive.
    const alive = setInterval(() => undefined, 1_000);
    systemClock.after(3, () => clearInterval(alive));
  });
  expect(cancelled).not.toHaveBeenCalled();
});

it('rejects a promise at its time limit, and leaves no timer', async () => {
  const clock = new ManualClock();
  const late = (): Error => new Error('late');
  expect(await within(clock, 100, Promise.resolve('in time'), late)).toBe('in time');
  expect(clock.sleepers).toBe(0);
  const answer = within(clock, 100, new Promise(() => undefined), late);
  answer.catch(() => undefined);
  await clock.advance(100);
  await expect(answer).rejects.toThrow('late');
});

it('rests in proportion to the work, at most 40 ms, and not at all after a trifle', async () => {
  const clock = new ManualClock();
  const restAfter = async (workMs: number): Promise<number> => {
    const began = clock.elapsed();
    await clock.advance(workMs);
    let isOver = false;
    const resting = rest(clock, began, 3).then(() => (isOver = true));
    let rested = 0;
    for (await clock.advance(0); !isOver; rested += 1) await clock.advance(1);
    await resting;
    return rested;
  };
  expect([await restAfter(0), await restAfter(5), await restAfter(100)]).toEqual([0, 15, 40]);
});
