// Tasks with a duration that the test sets, and the turns of the event loop in which they run.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Turns } from './turns.ts';

const TASK_MS = 4;

/** Runs tasks of 4 ms. `start` gives them to the turns. @returns the number of tasks in each turn of the event loop that had some */
async function tasksOfTurns(tasks: number, start: (task: () => void) => Promise<unknown>): Promise<number[]> {
  const counts = [0];
  const done = start(() => {
    elapsed += TASK_MS;
    counts[counts.length - 1] = (counts.at(-1) ?? 0) + 1;
  });
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
  const turns = new Turns(clock);
  const counts = await tasksOfTurns(10, (task) => Promise.all(Array.from({ length: 10 }, () => turns.run(task))));
  expect(Math.max(...counts)).toBe(3);
});

it('tasks of which each comes after the last has ended share a slice', async () => {
  const turns = new Turns(clock);
  const counts = await tasksOfTurns(10, async (task) => {
    for (let index = 0; index < 10; index += 1) await turns.run(task);
  });
  expect(Math.max(...counts)).toBe(3);
});

it('tasks run in their order, one at a time, and an error rejects its caller alone', async () => {
  const turns = new Turns(clock);
  const seen: string[] = [];
  const task = (name: string) => async (): Promise<string> => {
    seen.push(`${name} begins`);
    await nextTurn();
    seen.push(`${name} ends`);
    if (name === 'b') throw new Error('b fails');
    return name;
  };
  const outcomes = await Promise.allSettled(['a', 'b', 'c'].map((name) => turns.run(task(name))));
  expect(outcomes).toMatchObject([{ value: 'a' }, { reason: { message: 'b fails' } }, { value: 'c' }]);
  expect(seen).toEqual(['a', 'b', 'c'].flatMap((name) => [`${name} begins`, `${name} ends`]));
});
