import { beforeEach, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { AnswerWatch, type Unanswered } from './answer-watch.ts';

const MINUTE = 60_000;

let clock: ManualClock;
let waiting: Unanswered | null;
let failures: string[];
let watch: AnswerWatch;

beforeEach(() => {
  clock = new ManualClock();
  [waiting, failures] = [null, []];
  const fail = (error: Error): void => void failures.push(error.message);
  watch = new AnswerWatch({ clock, oldest: () => waiting, fail });
});

function send(type: string): void {
  waiting = { type, since: clock.elapsed() };
  watch.sent();
}

it('a response without an answer ends the stream after five minutes', async () => {
  send('Mesh');
  await clock.advance(5 * MINUTE - 1);
  expect(failures).toEqual([]);
  await clock.advance(1);
  expect(failures).toEqual(['no answer to the Mesh of this stream for 5 minutes; connect again']);
});

it('a response after an answered one has its own five minutes', async () => {
  send('Mesh');
  await clock.advance(4 * MINUTE);
  send('Secret');
  await clock.advance(5 * MINUTE - 1);
  expect(failures).toEqual([]);
  await clock.advance(1);
  expect(failures).toHaveLength(1);
});

it('a stream without a waiting response has no timer after five minutes, and again one with the next response', async () => {
  send('Mesh');
  expect(clock.sleepers).toBe(1);
  waiting = null;
  await clock.advance(5 * MINUTE);
  expect([clock.sleepers, failures]).toEqual([0, []]);
  send('Mesh');
  await clock.advance(5 * MINUTE);
  expect(failures).toHaveLength(1);
});

it('many responses have one timer, and a closed stream none', () => {
  for (const type of ['Mesh', 'Secret', 'Mesh']) send(type);
  expect(clock.sleepers).toBe(1);
  watch.close();
  expect(clock.sleepers).toBe(0);
});
