// Tasks with a duration that the test sets, and the turns of the event loop in which they run.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { TimeSlices } from './time-slices.ts';

const TASK_MS = 4;

/** Runs tasks of 4 ms. `start` gives them to the turns. @returns the number of tasks in each turn of the event loop that had some */
async function tasksOfTurns(tasks: number, start: (task: () => void) => Promise<unknown>): Promise<number[]> {
  const counts = [0];
  // Tasks of a turn begin after the look at that turn.
  const done = Promise.resolve().then(() =>
    start(() => {
      elapsed += TASK_MS;
      counts[counts.length - 1] = (counts.at(-1) ?? 0) + 1;
    }),
  );
  while (counts.reduce((sum, count) => sum + count, 0) < tasks) {
    await nextTurn();
    counts.push(0);
  }
  await done;
  return counts.filter((count) => count > 0);
}

let elapsed = 0;
const clock = { elapsed: () => elapsed };

it('tasks that come together run in slices of 10 ms, with a turn of the event loop after each', async () => {
  const slices = new TimeSlices(clock);
  const counts = await tasksOfTurns(10, (task) => Promise.all(Array.from({ length: 10 }, async () => await slices.run(task))));
  expect(Math.max(...counts)).toBe(3);
});

it('consecutive tasks share a slice', async () => {
  const slices = new TimeSlices(clock);
  const counts = await tasksOfTurns(10, async (task) => {
    for (let index = 0; index < 10; index += 1) await slices.run(task);
  });
  expect(Math.max(...counts)).toBe(3);
});

it('tasks run in their order, and an error is the error of its caller alone', async () => {
  const slices = new TimeSlices(clock);
  const seen: string[] = [];
  const task = (name: string) => (): string => {
    elapsed += TASK_MS;
    seen.push(name);
    if (name === 'd') throw new Error('d fails');
    return name;
  };
  const names = ['a', 'b', 'c', 'd', 'e'];
  const outcomes = await Promise.allSettled(names.map(async (name) => await slices.run(task(name))));
  const values = outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : (outcome.reason as Error).message));
  expect(values).toEqual(['a', 'b', 'c', 'd fails', 'e']);
  expect(seen).toEqual(names);
});

it('a task that can begin at once has its result at once', () => {
  expect(new TimeSlices(clock).run(() => 'done')).toBe('done');
});

it('a task that another task starts begins when that one has ended', async () => {
  const slices = new TimeSlices(clock);
  const seen: string[] = [];
  let inner: unknown;
  await slices.run(() => {
    inner = slices.run(() => seen.push('inner'));
    seen.push('outer');
  });
  await inner;
  expect(seen).toEqual(['outer', 'inner']);
});
