// Work of several peers on one thread.
import { setImmediate } from 'node:timers/promises';
import { fc } from '../../../test/support/property.ts';
import { describe, expect, it } from 'vitest';
import type { Steps } from '../../base/steps.ts';
import { FairScheduler, longestRestMs } from './fair-scheduler.ts';
import { atOnce, batchesOf } from '../protocol/pace.ts';

/** Steps that each keep the thread for a moment. */
function* busy(name: string, steps: number, done: string[]): Steps<string> {
  for (let step = 0; step < steps; step += 1) {
    const until = performance.now() + 1;
    while (performance.now() < until);
    yield;
  }
  done.push(name);
  return name;
}

describe('fair work', () => {
  it('runs a short task of one peer between the long tasks of another, and other work between the slices', async () => {
    const work = new FairScheduler();
    const done: string[] = [];
    const long = Array.from({ length: 40 }, (_, n) => work.of('bad').run(busy(`long ${String(n)}`, 20, done)));
    const short = work.of('good').run(busy('short', 1, done));
    let turns = 0;
    const counting = (async () => {
      while (done.length < 40) {
        turns += 1;
        await setImmediate();
      }
    })();
    expect(await short).toBe('short');
    expect(done.indexOf('short')).toBeLessThan(2);
    await Promise.all([...long, counting]);
    // 800 ms of work in slices of 2 ms.
    expect(turns).toBeGreaterThan(100);
  });

  /** The number of tasks that work in each turn of the event loop, when `count` tasks of as many peers come together. */
  async function tasksOfTurns(count: number, taskMs: number): Promise<number[]> {
    const work = new FairScheduler();
    const counts = [0];
    function* task(): Steps<null> {
      const until = performance.now() + taskMs;
      while (performance.now() < until);
      counts[counts.length - 1] = (counts.at(-1) ?? 0) + 1;
      yield;
      return null;
    }
    const all = Array.from({ length: count }, async (_, n) => await work.of(`zone ${String(n)}`).run(task()));
    for (let left = count; left > 0; left = count - counts.reduce((sum, one) => sum + one, 0)) {
      await setImmediate();
      counts.push(0);
    }
    await Promise.all(all);
    return counts;
  }

  it('runs no more than a slice of a burst of short tasks in one turn of the event loop', async () => {
    expect(Math.max(...(await tasksOfTurns(40, 1)))).toBeLessThan(5);
  });

  it('runs the short tasks of many peers in one slice', async () => {
    const [, ...later] = await tasksOfTurns(400, 0.05);
    expect(Math.max(...later)).toBeGreaterThan(5);
  });

  it('runs the tasks of one peer in order, and rejects with the error of a step', async () => {
    const work = new FairScheduler();
    const done: string[] = [];
    const failing = function* (): Steps<string> {
      yield;
      throw new Error('bad bytes');
    };
    const first = work.of('east').run(busy('first', 5, done));
    const second = work.of('east').run(failing());
    const third = work.of('east').run(busy('third', 1, done));
    await expect(second).rejects.toThrow('bad bytes');
    expect(await Promise.all([first, third])).toEqual(['first', 'third']);
    expect(done).toEqual(['first', 'third']);
  });
});

describe('batches', () => {
  it('hold all items in order within both limits, except for a single item over the limit', () => {
    const items = fc.array(fc.nat(100), { maxLength: 60, size: 'max' });
    fc.assert(
      fc.property(items, fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 200 }), (sizes, batchRows, batchBytes) => {
        const batches = batchesOf(sizes, { batchRows, batchBytes }, (size) => size);
        expect(batches.flat()).toEqual(sizes);
        for (const batch of batches) {
          expect(batch.length).toBeGreaterThan(0);
          expect(batch.length).toBeLessThanOrEqual(batchRows);
          if (batch.length > 1) expect(batch.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(batchBytes);
        }
        // Each batch is as full as it may be: the next item had no room in it.
        for (const [index, next] of batches.slice(1).entries()) {
          const batch = [...(batches[index] ?? []), next[0] ?? 0];
          expect(batch.length > batchRows || batch.reduce((sum, size) => sum + size, 0) > batchBytes).toBe(true);
        }
      }),
    );
  });

  it('are one batch without a pace', () => {
    expect(batchesOf([1, 2, 3], atOnce, (size) => size)).toEqual([[1, 2, 3]]);
  });
});

describe('the pace of a stream', () => {
  /** Keeps the thread for a moment. */
  function work(): void {
    const until = performance.now() + 20;
    while (performance.now() < until);
  }

  /** Whether a batch or a message may begin at once. */
  async function isAtOnce(begin: Promise<void>): Promise<boolean> {
    let isDone = false;
    const done = begin.then(() => (isDone = true));
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
    const wasDone = isDone;
    await done;
    return wasDone;
  }

  it('rests after 250 rows in which it kept the thread, however many batches they are', async () => {
    const { beforeBatch } = new FairScheduler().of('east');
    const rested: boolean[] = [];
    for (const rows of [100, 150, 1, 249, 250, 1]) {
      rested.push(!(await isAtOnce(beforeBatch(rows))));
      work();
    }
    expect(rested).toEqual([false, false, true, false, true, true]);
  });

  it('counts a message of a mebibyte as 250 rows', async () => {
    const pace = new FairScheduler().of('east');
    const rested: boolean[] = [];
    for (const begin of [
      () => pace.beforeMessage(1024 * 1024 - 1),
      () => pace.beforeBatch(1),
      () => pace.beforeMessage(1024 * 1024),
      () => pace.beforeBatch(1),
    ]) {
      rested.push(!(await isAtOnce(begin())));
      work();
    }
    expect(rested).toEqual([false, false, true, true]);
  });

  it('rests at most 50 ms after a batch, and longer after a message of many batches', () => {
    expect([1, 250, 500, 2_500].map(longestRestMs)).toEqual([50, 50, 100, 500]);
  });

  it('gives each stream its own count', async () => {
    const fair = new FairScheduler();
    await fair.of('east').beforeBatch(250);
    work();
    expect(await isAtOnce(fair.of('east').beforeBatch(1))).toBe(true);
  });

  it('divides work into batches of 250 rows and a mebibyte', () => {
    expect(new FairScheduler().of('east')).toMatchObject({ batchRows: 250, batchBytes: 1024 * 1024 });
  });
});
