// The follower on a feed that loses hints, a store whose reads fail, and a clock that the test moves.
import { setImmediate } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { fc } from '../../test/support/property.ts';
import { createLogger } from '../base/log.ts';
import { aborted } from '../base/supervise.ts';
import { FeedFollower } from './follow-feed.ts';
import { FeedBench, FOLLOWED, followed, keyOf, stepArbitrary } from './follow-feed.fixture.ts';
import type { StoreChange } from './resource-store.ts';

it('a follower ends with the rows of the table, and opens a barrier after every earlier change, with any changes and failures', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(stepArbitrary, { maxLength: 40 }), async (steps) => {
      const bench = new FeedBench();
      bench.start();
      const states = [followed(bench.table)];
      const checks: Promise<void>[] = [];
      for (const [version, step] of steps.entries()) {
        if (step.kind === 'turn') {
          await setImmediate();
          if (bench.isLost) expect(bench.follower.isCurrent).toBe(false);
        } else if (step.kind === 'lose') bench.lose();
        else if (step.kind === 'reconnect') bench.reconnect();
        else if (step.kind === 'fail') bench.failures = Math.min(bench.failures + 1, 3);
        else if (step.kind === 'break') bench.break();
        else if (step.kind === 'wait') {
          const first = states.length - 1;
          const check = (): void => {
            for (const id of new Set([...bench.copy.keys(), ...states.slice(first).flatMap((state) => [...state.keys()])]))
              expect(states.slice(first).map((state) => state.get(id))).toContain(bench.copy.get(id));
          };
          checks.push(bench.follower.caughtUp().then(check));
        } else if (step.kind === 'change') {
          bench.change(step, version);
          states.push(followed(bench.table));
        }
      }
      bench.reconnect();
      await bench.settle(Promise.allSettled([...checks, bench.follower.caughtUp()]));
      await Promise.all(checks);
      expect(bench.copy).toEqual(followed(bench.table));
      await bench.end();
    }),
    { numRuns: 200 },
  );
});

it('a follower merges the hints that arrive while it is busy, and ignores other types', async () => {
  const bench = new FeedBench();
  bench.start();
  await bench.settle(bench.follower.caughtUp());
  const keys = [keyOf('Mesh', 'a'), keyOf('Mesh', 'b'), keyOf('Zone', 'a'), keyOf('Secret', 'a')];
  const { promise, resolve } = Promise.withResolvers<void>();
  bench.held = promise;
  bench.push({ kind: 'keys', keys: [keyOf('Mesh', 'first')] });
  await vi.waitFor(() => expect(bench.applied).toHaveLength(2));
  for (const key of [...keys, ...keys]) bench.push({ kind: 'keys', keys: [key] });
  bench.push({ kind: 'type', type: 'Zone' });
  bench.push({ kind: 'type', type: 'Secret' });
  await setImmediate();
  resolve();
  await bench.settle(bench.follower.caughtUp());
  expect(bench.applied).toEqual([
    { all: true, types: FOLLOWED, keys: [], marks: [] },
    { all: false, types: [], keys: [keyOf('Mesh', 'first')], marks: [] },
    { all: false, types: ['Zone'], keys: [keyOf('Mesh', 'a'), keyOf('Mesh', 'b')], marks: [] },
  ]);
  await bench.end();
});

it('a follower names the type in place of keys over its limit', async () => {
  const bench = new FeedBench();
  bench.start();
  await bench.settle(bench.follower.caughtUp());
  const keys = Array.from({ length: 10_000 }, (_, index) => keyOf('Mesh', String(index)));
  bench.push({ kind: 'keys', keys: [...keys, keyOf('Zone', 'a')] });
  await bench.settle(bench.follower.caughtUp());
  expect(bench.applied.at(-1)?.keys).toHaveLength(10_001);
  bench.push({ kind: 'keys', keys: [...keys, keyOf('Mesh', 'one more'), keyOf('Zone', 'a')] });
  await bench.settle(bench.follower.caughtUp());
  expect(bench.applied.at(-1)).toEqual({ all: false, types: ['Mesh'], keys: [keyOf('Zone', 'a')], marks: [] });
  await bench.end();
});

it('a follower names everything in place of marks over its limit', async () => {
  const { follower, stop } = new FeedBench();
  const mark = (count: number): void => {
    for (let n = 0; n < count; n += 1) follower.add({ kind: 'mark', id: `followed ${String(n)}` });
  };
  mark(1_000);
  expect(await follower.next(stop.signal)).toMatchObject({ all: false, marks: { length: 1_000 } });
  mark(1_001);
  expect(await follower.next(stop.signal)).toMatchObject({ all: true, marks: [] });
});

it('a follower ignores the marks of others, however many come', async () => {
  const { follower, clock, stop } = new FeedBench();
  for (let n = 0; n < 1_001; n += 1) follower.add({ kind: 'mark', id: `another ${String(n)}` });
  const next = follower.next(stop.signal, 100);
  await clock.advance(100);
  expect(await next).toBeNull();
});

it('a follower reports after ten seconds that the feed does not answer', async () => {
  const clock = new ManualClock();
  const log = createLogger('silent');
  const store = { changes: async function* (): AsyncGenerator<StoreChange> {}, mark: () => Promise.resolve() };
  const follower = new FeedFollower({ store, types: FOLLOWED, clock, log });
  let end = '';
  const waiting = follower.caughtUp().catch((error: unknown) => (end = (error as Error).message));
  await clock.advance(9_999);
  expect(end).toBe('');
  await clock.advance(1);
  await waiting;
  expect(end).toBe('the change feed of the store does not answer; try again');
});

it.each([
  [0, 200],
  [0.5, 600],
])('a follower reads everything again after a partly random pause (%d)', async (random, ms) => {
  const bench = new FeedBench();
  vi.spyOn(Math, 'random').mockReturnValue(random);
  onTestFinished(() => void vi.restoreAllMocks());
  bench.failures = 1;
  bench.start();
  await vi.waitFor(() => expect(bench.clock.sleepers).toBe(1));
  await bench.clock.advance(ms - 1);
  expect(bench.applied).toHaveLength(1);
  await bench.clock.advance(1);
  await vi.waitFor(() => expect(bench.applied).toHaveLength(2));
  await bench.end();
});

it('a follower ends a wait for hints at its time limit', async () => {
  const { follower, clock, stop } = new FeedBench();
  const next = follower.next(stop.signal, 100);
  await clock.advance(100);
  expect(await next).toBeNull();
});

it('a follower yields the followed marks in order, and none from before a loss of the feed', async () => {
  const bench = new FeedBench();
  bench.start();
  await bench.settle(bench.follower.caughtUp());
  const { promise, resolve } = Promise.withResolvers<void>();
  bench.held = promise;
  bench.push({ kind: 'keys', keys: [keyOf('Mesh', 'first')] });
  await vi.waitFor(() => expect(bench.applied).toHaveLength(2));
  for (const id of ['followed 1', 'another']) bench.push({ kind: 'mark', id });
  bench.push({ kind: 'all' });
  for (const id of ['followed 2', 'another', 'followed 3']) bench.push({ kind: 'mark', id });
  await setImmediate();
  resolve();
  await bench.settle(bench.follower.caughtUp());
  expect(bench.applied.at(-1)).toEqual({ all: true, types: FOLLOWED, keys: [], marks: ['followed 2', 'followed 3'] });
  await bench.end();
});

it('a follower yields a mark, a key or a type that comes alone', async () => {
  const bench = new FeedBench();
  bench.start();
  await bench.settle(bench.follower.caughtUp());
  const nothing = { all: false, types: [], keys: [], marks: [] };
  for (const [change, hints] of [
    [{ kind: 'mark', id: 'followed 1' }, { marks: ['followed 1'] }],
    [{ kind: 'keys', keys: [keyOf('Mesh', 'one')] }, { keys: [keyOf('Mesh', 'one')] }],
    [{ kind: 'type', type: 'Mesh' }, { types: ['Mesh'] }],
  ] as const) {
    const before = bench.applied.length;
    bench.push(change);
    await vi.waitFor(() => expect(bench.applied.slice(before)).toEqual([{ ...nothing, ...hints }]));
  }
  await bench.end();
});

it('a follower is current after its first read, and after an error only when it has read everything again', async () => {
  const bench = new FeedBench();
  bench.start();
  expect(bench.follower.isCurrent).toBe(false);
  await bench.settle(bench.follower.caughtUp());
  expect(bench.follower.isCurrent).toBe(true);
  bench.break();
  await vi.waitFor(() => expect(bench.follower.isCurrent).toBe(false));
  await bench.settle(bench.follower.caughtUp());
  expect(bench.follower.isCurrent).toBe(true);
  await bench.end();
  expect(bench.follower.isCurrent).toBe(false);
});

it('a follower is not current after a loss of the feed until it has read everything again', async () => {
  const bench = new FeedBench();
  bench.start();
  await bench.settle(bench.follower.caughtUp());
  const { promise, resolve } = Promise.withResolvers<void>();
  bench.held = promise;
  bench.push({ kind: 'all' });
  await vi.waitFor(() => expect(bench.applied).toHaveLength(2));
  bench.push({ kind: 'all' });
  bench.lose();
  await setImmediate();
  expect(bench.follower.isCurrent).toBe(false);
  resolve();
  await vi.waitFor(() => expect(bench.applied).toHaveLength(3));
  await bench.clock.advance(60_000);
  expect(bench.follower.isCurrent).toBe(false);
  bench.reconnect();
  await bench.settle(bench.follower.caughtUp());
  expect(bench.follower.isCurrent).toBe(true);
  await bench.end();
});

it('a follower merges the hints of a burst', async () => {
  const { clock, stop, log } = { clock: new ManualClock(), stop: new AbortController(), log: createLogger('silent') };
  const changes = async function* (): AsyncGenerator<StoreChange> {
    for (const name of ['a', 'b']) {
      yield { kind: 'keys', keys: [keyOf('Mesh', name)] };
      await clock.sleep(3, stop.signal);
    }
  };
  const store = { changes, mark: () => Promise.resolve() };
  const follower = new FeedFollower({ store, types: FOLLOWED, clock, log, gatherMs: 5 });
  const following = follower.follow(stop.signal);
  const next = follower.next(stop.signal);
  await clock.advance(5);
  expect((await next)?.keys).toEqual([keyOf('Mesh', 'a'), keyOf('Mesh', 'b')]);
  stop.abort();
  await following;
});

it('a follower does not let a caller wait for the end of the gather time', async () => {
  const clock = new ManualClock();
  const stop = new AbortController();
  const marks: string[] = [];
  const store = {
    changes: async function* (): AsyncGenerator<StoreChange> {
      yield* [];
      await aborted(stop.signal);
    },
    mark: async (id: string) => void marks.push(id),
  };
  const follower = new FeedFollower({ store, types: FOLLOWED, clock, log: createLogger('silent'), gatherMs: 5 });
  for (const isGathering of [true, false]) {
    const next = follower.next(stop.signal);
    if (isGathering) follower.add({ kind: 'keys', keys: [keyOf('Mesh', 'a')] });
    await setImmediate();
    const caughtUp = follower.caughtUp();
    await vi.waitFor(() => expect(marks).toHaveLength(1));
    if (!isGathering) follower.add({ kind: 'keys', keys: [keyOf('Mesh', 'a')] });
    follower.add({ kind: 'mark', id: marks.pop() ?? '' });
    expect((await next)?.keys).toEqual([keyOf('Mesh', 'a')]);
    void follower.next(stop.signal);
    await caughtUp;
  }
  stop.abort();
});

it('a follower yields a hint at once without a gather time', async () => {
  const { follower, clock, stop } = new FeedBench();
  const next = follower.next(stop.signal);
  follower.add({ kind: 'type', type: 'Mesh' });
  expect(await next).toMatchObject({ types: ['Mesh'] });
  expect(clock.sleepers).toBe(0);
});

it('a follower lets callers wait after an error until everything has been read again', async () => {
  const bench = new FeedBench();
  bench.start();
  await bench.settle(bench.follower.caughtUp());
  const { promise, reject } = Promise.withResolvers<void>();
  bench.held = promise;
  bench.push({ kind: 'keys', keys: [keyOf('Mesh', 'a')] });
  let isCaughtUp = false;
  const caughtUp = bench.follower.caughtUp().then(() => (isCaughtUp = true));
  await vi.waitFor(() => expect(bench.applied).toHaveLength(2));
  await setImmediate();
  const again = Promise.withResolvers<void>();
  bench.held = again.promise;
  reject(new Error('the database does not answer'));
  await bench.clock.advance(5_000);
  expect(bench.applied.at(-1)).toMatchObject({ all: true });
  await setImmediate();
  expect([isCaughtUp, bench.follower.isCurrent]).toEqual([false, false]);
  again.resolve();
  await bench.settle(caughtUp);
  expect(bench.follower.isCurrent).toBe(true);
  await bench.end();
});

it('a follower logs why it reads everything again, and nothing when it is stopped', async () => {
  const log = createLogger('silent');
  const warn = vi.spyOn(log, 'warn');
  const clock = new ManualClock();
  const stop = new AbortController();
  const changes = async function* (signal: AbortSignal): AsyncGenerator<StoreChange> {
    yield { kind: 'all' };
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    if (stop.signal.aborted) throw new Error('the feed ended');
  };
  const follower = new FeedFollower({ store: { changes, mark: () => Promise.resolve() }, types: FOLLOWED, clock, log });
  let reads = 0;
  const apply = (): void => {
    reads += 1;
    if (reads === 1) throw new Error('the database does not answer');
  };
  const running = follower.run(apply, stop.signal);
  while (reads < 2) await clock.advance(1_000);
  expect(warn.mock.calls).toEqual([[{ err: 'the database does not answer' }, 'cannot read the store; trying again']]);
  stop.abort();
  await running;
  expect(warn).toHaveBeenCalledOnce();
});

it('ends a wait for the feed with the run, before its limit, and every later wait', async () => {
  const bench = new FeedBench();
  bench.start();
  await vi.waitFor(() => expect(bench.applied).toHaveLength(1));
  bench.lose();
  const waiting = expect(bench.follower.caughtUp()).rejects.toMatchObject({ code: 'unavailable' });
  await setImmediate();
  await bench.end();
  await waiting;
  await expect(bench.follower.caughtUp()).rejects.toMatchObject({ code: 'unavailable' });
  expect(bench.clock.sleepers).toBe(0);
});
