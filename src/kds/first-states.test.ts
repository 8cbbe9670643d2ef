// The queue in front of first states: eight at once, in the order of arrival, and nobody keeps a place for ever.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FirstStates } from './first-states.ts';

const AT_ONCE = 8;
const LONGEST_MS = 10_000;

type Peer = { readonly name: number; leave: () => void };

describe('first states', () => {
  let states: FirstStates;
  let admitted: number[];

  beforeEach(() => {
    vi.useFakeTimers();
    states = new FirstStates();
    admitted = [];
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  function enter(count: number, from = 0): Peer[] {
    return Array.from({ length: count }, (_, index) => {
      const name = from + index;
      return { name, leave: states.enter(String(name), () => void admitted.push(name)) };
    });
  }

  it('go to eight peers at once', () => {
    enter(20);
    expect(admitted).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it('go to those who wait in the order in which they came', () => {
    const peers = enter(12);
    peers[5]?.leave();
    expect(admitted.slice(AT_ONCE)).toEqual([8]);
    peers[0]?.leave();
    peers[8]?.leave();
    expect(admitted.slice(AT_ONCE)).toEqual([8, 9, 10]);
  });

  it('give a peer one place at a time', () => {
    const seen: string[] = [];
    const leave = Array.from({ length: 3 }, (_, index) =>
      states.enter('greedy', () => void seen.push(`greedy ${String(index)}`)),
    );
    const others = Array.from({ length: AT_ONCE }, (_, index) =>
      states.enter(`other ${String(index)}`, () => void seen.push(`other ${String(index)}`)),
    );
    expect(seen).toEqual(['greedy 0', ...Array.from({ length: AT_ONCE - 1 }, (_, index) => `other ${String(index)}`)]);
    leave[0]?.();
    expect(seen.slice(AT_ONCE)).toEqual(['greedy 1']);
    others[0]?.();
    leave[1]?.();
    expect(seen.slice(AT_ONCE)).toEqual(['greedy 1', 'other 7', 'greedy 2']);
  });

  it('pass over a peer that left while it waited, and give no place away for it', () => {
    const peers = enter(11);
    peers[8]?.leave();
    expect(admitted).toHaveLength(AT_ONCE);
    peers[0]?.leave();
    expect(admitted.slice(AT_ONCE)).toEqual([9]);
    enter(1, 11);
    expect(admitted.slice(AT_ONCE)).toEqual([9]);
  });

  it('free one place only, however often a peer leaves', () => {
    const peers = enter(12);
    for (let i = 0; i < 5; i += 1) peers[0]?.leave();
    expect(admitted).toHaveLength(AT_ONCE + 1);
    for (let i = 0; i < 5; i += 1) peers[11]?.leave();
    peers[1]?.leave();
    peers[2]?.leave();
    peers[3]?.leave();
    expect(admitted.slice(AT_ONCE)).toEqual([8, 9, 10]);
  });

  it('are open again when all have left', () => {
    for (const { leave } of enter(30)) leave();
    const before = admitted.length;
    enter(AT_ONCE + 1, 100);
    expect(admitted.slice(before)).toEqual([100, 101, 102, 103, 104, 105, 106, 107]);
  });

  it('take the place of a peer that never settles after the limit, and not before', () => {
    enter(10);
    vi.advanceTimersByTime(LONGEST_MS - 1);
    expect(admitted).toHaveLength(AT_ONCE);
    vi.advanceTimersByTime(1);
    expect(admitted).toHaveLength(10);
  });

  it('count the limit from when the place was taken, not from when the peer came', () => {
    const peers = enter(17);
    vi.advanceTimersByTime(LONGEST_MS - 1);
    peers[0]?.leave();
    expect(admitted).toHaveLength(AT_ONCE + 1);
    vi.advanceTimersByTime(1);
    // The seven others of the first eight had their time; peer 8 has only begun.
    expect(admitted).toHaveLength(16);
    vi.advanceTimersByTime(LONGEST_MS - 2);
    expect(admitted).toHaveLength(16);
    vi.advanceTimersByTime(1);
    expect(admitted).toHaveLength(17);
  });

  it('do not free the place of a peer twice when it leaves after the limit', () => {
    const peers = enter(AT_ONCE);
    vi.advanceTimersByTime(LONGEST_MS);
    for (const { leave } of peers) leave();
    enter(20, 100);
    expect(admitted.filter((name) => name >= 100)).toHaveLength(AT_ONCE);
  });

  it('leave no timer behind', () => {
    for (const { leave } of enter(20)) leave();
    expect(vi.getTimerCount()).toBe(0);
  });
});
