// The objects of a list, and the turns of the event loop in which they work. The test sets how long one takes.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, expect, it } from 'vitest';
import { RunQueue, type Runnable } from './run-queue.ts';

const TURN_MS = 0.5;

let elapsed: number;
let queue: RunQueue;
/** The names of the objects that worked, by turn of the event loop. */
let had: string[][];

beforeEach(() => {
  elapsed = 0;
  queue = new RunQueue({ elapsed: () => elapsed });
  had = [];
});

function workerOf(name: string, then = (): void => undefined): Runnable {
  return {
    runOnce: () => {
      elapsed += TURN_MS;
      had.at(-1)?.push(name);
      then();
    },
  };
}

async function lookOn(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) {
    had.push([]);
    await nextTurn();
  }
}

it('all work in the order in which they came, a slice of 2 ms in each turn of the event loop', async () => {
  for (const name of 'abcdefghij') queue.add(workerOf(name));
  expect(had).toEqual([]);
  await lookOn(5);
  expect(had).toEqual([['a', 'b', 'c', 'd'], ['e', 'f', 'g', 'h'], ['i', 'j'], [], []]);
});

it('one whose turn is longer than a slice has it, and the next one comes in the next turn of the event loop', async () => {
  queue.add(workerOf('a', () => (elapsed += 10)));
  queue.add(workerOf('b'));
  await lookOn(3);
  expect(had).toEqual([['a'], ['b'], []]);
});

it('one that has more work comes after all others, in a later turn of the event loop', async () => {
  let left = 2;
  const more = workerOf('more', () => {
    if (left-- > 0) queue.add(more);
  });
  queue.add(more);
  for (const name of 'abcdef') queue.add(workerOf(name));
  await lookOn(5);
  expect(had).toEqual([['more', 'a', 'b', 'c'], ['d', 'e', 'f'], ['more'], ['more'], []]);
});

it('one that comes between two slices begins no second row of slices', async () => {
  for (const name of 'abcdef') queue.add(workerOf(name));
  await lookOn(1);
  queue.add(workerOf('later'));
  await lookOn(3);
  expect(had).toEqual([['a', 'b', 'c', 'd'], ['e', 'f'], ['later'], []]);
});

it('a turn that fails takes no turn from others', async () => {
  const failing: Runnable = {
    runOnce: () => {
      throw new Error('failed');
    },
  };
  const errors: unknown[] = [];
  process.once('uncaughtException', (error) => errors.push(error));
  queue.add(failing);
  queue.add(workerOf('a'));
  await lookOn(3);
  expect(had.flat()).toEqual(['a']);
  expect(errors).toEqual([new Error('failed')]);
});
