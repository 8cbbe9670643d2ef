// The work of several callers on one thread.
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { FairQueue, SLICE_MS } from './fair-queue.ts';
import type { Steps } from './steps.ts';

/** Steps without an end, which count themselves. */
function* endless(steps: { done: number }): Steps<never> {
  for (;;) {
    steps.done += 1;
    yield;
  }
}

function* short(): Steps<string> {
  yield;
  return 'short';
}

describe('fair turns', () => {
  it('run the work of one caller while that of another has no end', async () => {
    const queue = new FairQueue();
    const leave = new AbortController();
    const works = Array.from({ length: 12 }, () => queue.run('heavy', endless({ done: 0 }), leave.signal));
    expect(await queue.run('light', short())).toBe('short');
    leave.abort(new Error('left'));
    for (const work of works) await expect(work).rejects.toThrow('left');
  });

  it('run no step of work whose signal has aborted', async () => {
    const queue = new FairQueue();
    const leave = new AbortController();
    const steps = { done: 0 };
    const work = queue.run('heavy', endless(steps), leave.signal);
    await setImmediate();
    leave.abort(new Error('left'));
    const { done } = steps;
    await expect(work).rejects.toThrow('left');
    await expect(queue.run('heavy', endless(steps), leave.signal)).rejects.toThrow('left');
    expect(steps.done).toBe(done);
    expect(await queue.run('heavy', short())).toBe('short');
  });

  it.each([1, 3])('let other work have %d slices for each of theirs, while there is any', async (rest) => {
    let now = 0;
    const rests: number[] = [];
    const clock = { elapsed: () => now, sleep: async (ms: number) => void rests.push(ms) };
    const queue = new FairQueue({ rest, clock });
    const leave = new AbortController();
    let done = 0;
    const slices = function* (): Steps<never> {
      for (;;) {
        done += 1;
        now += SLICE_MS;
        yield;
      }
    };
    const work = queue.run('heavy', slices(), leave.signal);
    while (done < 10) await setImmediate();
    expect(rests).toEqual([]);
    while (rests.length === 0) {
      await setImmediate();
      now += 1;
    }
    expect(rests[0]).toBe(SLICE_MS * rest);
    leave.abort(new Error('left'));
    await expect(work).rejects.toThrow('left');
  });
});
