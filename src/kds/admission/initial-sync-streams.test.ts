// The permits for initial syncs of a peer that has several streams: it reconnected, and an older one is probably dead.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../base/clock.ts';
import { InitialSyncLimiter } from './initial-sync-limiter.ts';

const MAX_PERMITS = 8;
const MIN_HELD_MS = 1_000;

describe('streams of one peer', () => {
  let states: InitialSyncLimiter;
  let seen: string[];

  beforeEach(() => {
    vi.useFakeTimers();
    states = new InitialSyncLimiter(systemClock);
    seen = [];
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  const open = (name: string): (() => void) =>
    states.enter(name.split(' ', 1)[0] ?? '', () => {
      seen.push(name);
    }).leave;

  it('take one permit, and the newest stream has it, because an older one is probably dead', () => {
    open('east 0');
    const others = Array.from({ length: MAX_PERMITS }, (_, index) => open(`other-${String(index)}`));
    expect(seen).toHaveLength(MAX_PERMITS);
    const leave = open('east 1');
    expect(seen.slice(MAX_PERMITS)).toEqual(['east 1']);
    leave();
    expect(seen.slice(MAX_PERMITS + 1)).toEqual(['other-7']);
    for (const one of others) one();
    expect(seen).toHaveLength(MAX_PERMITS + 2);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('keep their permit when the older stream ends', () => {
    const leaveOld = open('east 0');
    open('east 1');
    leaveOld();
    for (let index = 0; index < MAX_PERMITS; index += 1) open(`other-${String(index)}`);
    expect(seen).toHaveLength(MAX_PERMITS + 1);
  });

  it('pass the permit on at most once a second, to the newest stream first', () => {
    for (let index = 0; index < 2_000; index += 1) open(`east ${String(index)}`);
    expect(seen).toEqual(['east 0', 'east 1']);
    vi.advanceTimersByTime(MIN_HELD_MS);
    expect(seen.slice(2)).toEqual(['east 1999']);
    vi.advanceTimersByTime(MIN_HELD_MS);
    expect(seen.slice(3)).toEqual(['east 1998']);
  });

  it('wait behind other peers after the newest stream has had the permit', () => {
    const others = Array.from({ length: MAX_PERMITS }, (_, index) => open(`other-${String(index)}`));
    const [, leaveNewer] = [open('east 0'), open('east 1')];
    open('other-8');
    others[0]?.();
    expect(seen.slice(MAX_PERMITS)).toEqual(['east 1']);
    leaveNewer();
    expect(seen.slice(MAX_PERMITS + 1)).toEqual(['other-8']);
    others[1]?.();
    expect(seen.slice(MAX_PERMITS + 2)).toEqual(['east 0']);
  });

  it('wait behind other waiting peers', () => {
    const leave = open('east 0');
    const others = Array.from({ length: MAX_PERMITS }, (_, index) => open(`other-${String(index)}`));
    leave();
    open('east 1');
    expect(seen.slice(MAX_PERMITS)).toEqual(['other-7']);
    others[0]?.();
    expect(seen.slice(MAX_PERMITS + 1)).toEqual(['east 1']);
  });
});
