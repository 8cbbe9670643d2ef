// The barrier with a feed that the test moves by hand.
import { setImmediate } from 'node:timers/promises';
import { beforeEach, expect, it, vi } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { FeedBarrier } from './feed-barrier.ts';
import { createLogger } from '../base/log.ts';

const LIMIT_MS = 1_000;

let clock: ManualClock;
let sent: string[];
let barrier: FeedBarrier;
beforeEach(() => {
  clock = new ManualClock();
  sent = [];
  const mark = (id: string): Promise<void> => Promise.resolve(void sent.push(id));
  barrier = new FeedBarrier({ mark, clock, log: createLogger('silent'), limitMs: LIMIT_MS });
});

/** Whether a promise has settled after all that is due has run. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  promise.then(
    () => (settled = true),
    () => (settled = true),
  );
  await setImmediate();
  return settled;
}

it('the barrier opens only for callers that asked before their mark was sent', async () => {
  const first = [barrier.wait(), barrier.wait()];
  await setImmediate();
  const second = barrier.wait();
  await setImmediate();
  expect(sent).toHaveLength(2);
  barrier.pass(sent[0] ?? '');
  await Promise.all(first);
  expect(await isSettled(second)).toBe(false);
  barrier.pass(sent[1] ?? '');
  await second;
});

it('the barrier sends one mark at a time: callers that ask meanwhile share the next', async () => {
  const statements: PromiseWithResolvers<void>[] = [];
  const mark = (id: string): Promise<void> => {
    sent.push(id);
    const statement = Promise.withResolvers<void>();
    statements.push(statement);
    return statement.promise;
  };
  barrier = new FeedBarrier({ mark, clock, log: createLogger('silent'), limitMs: LIMIT_MS });
  const waits = [barrier.wait()];
  await setImmediate();
  for (let caller = 0; caller < 3; caller += 1) {
    waits.push(barrier.wait());
    await setImmediate();
  }
  expect(sent).toHaveLength(1);
  // The mark may arrive before its statement ends.
  barrier.pass(sent[0] ?? '');
  statements[0]?.resolve();
  await setImmediate();
  expect(sent).toHaveLength(2);
  barrier.pass(sent[1] ?? '');
  statements[1]?.resolve();
  await Promise.all(waits);
});

it('the barrier sends the next mark when the statement of the last one is late', async () => {
  const mark = (id: string): Promise<void> => (sent.push(id) === 1 ? new Promise(() => undefined) : Promise.resolve());
  barrier = new FeedBarrier({ mark, clock, log: createLogger('silent'), limitMs: LIMIT_MS });
  const first = barrier.wait();
  await setImmediate();
  const second = barrier.wait();
  await Promise.all([expect(first).rejects.toMatchObject({ code: 'unavailable' }), clock.advance(LIMIT_MS)]);
  await setImmediate();
  barrier.pass(sent[1] ?? '');
  await second;
});

it('the barrier opens after a lost feed only for callers that waited before the full read', async () => {
  const before = barrier.wait();
  await setImmediate();
  const release = barrier.lost();
  const during = barrier.wait();
  await setImmediate();
  expect(await isSettled(before)).toBe(false);
  release();
  await before;
  expect(await isSettled(during)).toBe(false);
});

it('the barrier rejects when the mark cannot be sent, and sends a new mark for the next caller', async () => {
  let isDown = true;
  const mark = (id: string): Promise<void> => (isDown ? Promise.reject(new Error('gone')) : Promise.resolve(void sent.push(id)));
  barrier = new FeedBarrier({ mark, clock, log: createLogger('silent'), limitMs: LIMIT_MS });
  await expect(barrier.wait()).rejects.toThrow('gone');
  isDown = false;
  const next = barrier.wait();
  await setImmediate();
  barrier.pass(sent[0] ?? '');
  await next;
});

it('the barrier rejects at its limit when the store does not answer', async () => {
  const mark = (): Promise<void> => new Promise(() => undefined);
  barrier = new FeedBarrier({ mark, clock, log: createLogger('silent'), limitMs: LIMIT_MS });
  const refused = expect(barrier.wait()).rejects.toMatchObject({ code: 'unavailable' });
  await setImmediate();
  await clock.advance(LIMIT_MS);
  await refused;
}, 5_000);

it('the barrier rejects at its limit when the mark does not arrive', async () => {
  const waiting = barrier.wait();
  const refused = expect(waiting).rejects.toMatchObject({ code: 'unavailable' });
  await setImmediate();
  await clock.advance(LIMIT_MS - 1);
  expect(await isSettled(waiting)).toBe(false);
  await clock.advance(1);
  await refused;
});

it('the barrier logs a mark that does not arrive in time, and none that arrives or whose follower has ended', async () => {
  const log = createLogger('silent');
  const warn = vi.spyOn(log, 'warn');
  const mark = (id: string): Promise<void> => Promise.resolve(void sent.push(id));
  barrier = new FeedBarrier({ mark, clock, log, limitMs: LIMIT_MS });
  const good = barrier.wait();
  await setImmediate();
  barrier.pass(sent[0] ?? '');
  await good;
  await clock.advance(LIMIT_MS);
  expect(warn).not.toHaveBeenCalled();
  const late = expect(barrier.wait()).rejects.toThrow('does not answer');
  await setImmediate();
  await clock.advance(LIMIT_MS);
  await late;
  expect(warn.mock.calls).toEqual([[{ limitMs: LIMIT_MS }, expect.any(String)]]);
  const ended = expect(barrier.wait()).rejects.toThrow('does not answer');
  await setImmediate();
  barrier.end();
  await ended;
  expect(warn).toHaveBeenCalledTimes(1);
});
