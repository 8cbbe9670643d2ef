// Registrations that come together are stored together, and one that fails fails alone.
import { describe, expect, it } from 'vitest';
import { HoldQueue } from './hold-queue.ts';

type Item = { readonly id: string; readonly isBad?: boolean };

/** A queue of a store that takes no bad item, and the items that it was asked to store. */
function setUp() {
  const calls: (readonly string[])[] = [];
  const queue = new HoldQueue<Item>(
    async (items) => {
      calls.push(items.map(({ id }) => id));
      await Promise.resolve();
      return items.every(({ isBad }) => isBad !== true);
    },
    async ({ id, isBad }) => {
      calls.push([id]);
      await Promise.resolve();
      if (isBad === true) throw new Error(`${id} is bad`);
    },
  );
  return { calls, queue };
}

describe('a queue of registrations', () => {
  it('stores simultaneous items together, a bounded number at a time', async () => {
    const { calls, queue } = setUp();
    await Promise.all(Array.from({ length: 250 }, (_, at) => queue.add({ id: String(at) })));
    expect(calls.map(({ length }) => length)).toEqual([100, 100, 50]);
    await queue.add({ id: 'late' });
    expect(calls.at(-1)).toEqual(['late']);
  });

  it('stores each alone when they cannot be stored together, and fails for the bad one alone', async () => {
    const { calls, queue } = setUp();
    const outcomes = await Promise.allSettled(
      [{ id: 'a' }, { id: 'b', isBad: true }, { id: 'c' }].map((item) => queue.add(item)),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(calls).toEqual([['a', 'b', 'c'], ['a'], ['b'], ['c']]);
  });

  it('never stores two of one id together', async () => {
    const { calls, queue } = setUp();
    await Promise.all(['a', 'b', 'a'].map((id) => queue.add({ id })));
    expect(calls).toEqual([['a', 'b'], ['a']]);
  });

  it('fails for all when the store does not answer', async () => {
    const queue = new HoldQueue<Item>(
      () => Promise.reject(new Error('unavailable')),
      () => Promise.resolve(),
    );
    const outcomes = await Promise.allSettled(['a', 'b'].map((id) => queue.add({ id })));
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });
});
