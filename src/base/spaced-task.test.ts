import { beforeEach, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { SpacedTask } from './spaced-task.ts';

let clock: ManualClock;
let ranAt: number[];
let task: SpacedTask;

beforeEach(() => {
  clock = new ManualClock();
  ranAt = [];
  const began = clock.elapsed();
  task = new SpacedTask(clock, 1_000, () => void ranAt.push(clock.elapsed() - began));
});

it('runs at once, and again a pause later for all that asked meanwhile', async () => {
  for (let count = 0; count < 3; count += 1) task.ask();
  expect(ranAt).toEqual([0]);
  await clock.advance(400);
  task.ask();
  await clock.advance(599);
  expect(ranAt).toEqual([0]);
  await clock.advance(1);
  expect(ranAt).toEqual([0, 1_000]);
  await clock.advance(5_000);
  expect(ranAt).toEqual([0, 1_000]);
});

it('runs at once after a pause in which nobody asked', async () => {
  task.ask();
  await clock.advance(1_000);
  task.ask();
  expect(ranAt).toEqual([0, 1_000]);
});
