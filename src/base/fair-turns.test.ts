// The work of several callers on one thread.
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { FairTurns } from './fair-turns.ts';
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
    const turns = new FairTurns();
    const leave = new AbortController();
    const works = Array.from({ length: 12 }, () => turns.run('heavy', endless({ done: 0 }), leave.signal));
    expect(await turns.run('light', short())).toBe('short');
    leave.abort(new Error('left'));
    for (const work of works) await expect(work).rejects.toThrow('left');
  });

  it('run no step of work whose signal has aborted', async () => {
    const turns = new FairTurns();
    const leave = new AbortController();
    const steps = { done: 0 };
    const work = turns.run('heavy', endless(steps), leave.signal);
    await setImmediate();
    leave.abort(new Error('left'));
    const { done } = steps;
    await expect(work).rejects.toThrow('left');
    await expect(turns.run('heavy', endless(steps), leave.signal)).rejects.toThrow('left');
    expect(steps.done).toBe(done);
    expect(await turns.run('heavy', short())).toBe('short');
  });
});
