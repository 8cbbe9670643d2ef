// These tests show what a stop waits for. They move the clock.
import { expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { createLogger } from '../base/log.ts';
import { endTasks, OpenTasks } from './end-tasks.ts';

type Line = { readonly level: number; readonly waitingFor: string[]; readonly seconds: number };

const clock = new ManualClock();
let lines: Line[];
const logged = (): { clock: ManualClock; log: ReturnType<typeof createLogger> } => {
  lines = [];
  return { clock, log: createLogger('info', {}, { write: (text) => void lines.push(JSON.parse(text) as Line) }) };
};

it('a stop ends with its tasks, also failed ones and those that are added meanwhile', async () => {
  const tasks = new OpenTasks();
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  tasks.add('first', first.promise);
  const ended = endTasks(tasks, 15_000, logged());
  tasks.add('second', second.promise);
  first.reject(new Error('it failed'));
  await clock.advance(1_000);
  expect(tasks.names).toEqual(['second']);
  second.resolve();
  await expect(ended).resolves.toBe(true);
  expect([lines, clock.sleepers]).toEqual([[], 0]);
});

it('a stop names each 5 s the tasks that it waits for, and continues without them at its limit', async () => {
  const tasks = new OpenTasks();
  const slow = Promise.withResolvers<void>();
  tasks.add('slow', slow.promise);
  tasks.add('stuck', new Promise(() => undefined));
  const ended = endTasks(tasks, 12_000, logged());
  await clock.advance(5_000);
  slow.resolve();
  await clock.advance(7_000);
  await expect(ended).resolves.toBe(false);
  expect(lines).toMatchObject([
    { level: 40, waitingFor: ['slow', 'stuck'], seconds: 5 },
    { level: 40, waitingFor: ['stuck'], seconds: 10 },
    { level: 50, waitingFor: ['stuck'], seconds: 12 },
  ]);
});
