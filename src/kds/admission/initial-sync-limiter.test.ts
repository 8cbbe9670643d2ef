// The queue for initial syncs: eight at a time, in the order of arrival. No peer keeps a permit for ever, and a reconnected peer's dead
// stream loses it at once.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../base/clock.ts';
import { InitialSyncLimiter, type Permit } from './initial-sync-limiter.ts';

const MAX_PERMITS = 8;
const MAX_MS = 10_000;
const STALL_MS = 250;
const MAX_REVOKED = 64;

type Peer = Permit & { readonly name: number };

describe('the limiter of first states', () => {
  let states: InitialSyncLimiter;
  let admitted: number[];
  let began: number;

  beforeEach(() => {
    vi.useFakeTimers();
    states = new InitialSyncLimiter(systemClock);
    admitted = [];
    began = systemClock.elapsed();
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  function enter(count: number, from = 0): Peer[] {
    return Array.from({ length: count }, (_, index) => {
      const name = from + index;
      return { name, ...states.enter(String(name), () => void admitted.push(name)) };
    });
  }

  it('gives permits to eight peers at once', () => {
    enter(20);
    expect(admitted).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it('gives permits to waiting peers in the order of their arrival', () => {
    const peers = enter(12);
    peers[5]?.leave();
    expect(admitted.slice(MAX_PERMITS)).toEqual([8]);
    peers[0]?.leave();
    peers[8]?.leave();
    expect(admitted.slice(MAX_PERMITS)).toEqual([8, 9, 10]);
  });

  it('divides the limit of bytes in flight, so that fewer joining peers get larger messages', () => {
    const alone = states.messageBytes;
    const [first, second] = enter(2);
    expect(states.messageBytes).toBe(alone / 2);
    enter(20, 2);
    expect(states.messageBytes).toBe(alone / MAX_PERMITS);
    first?.leave();
    second?.leave();
    expect(states.messageBytes).toBe(alone / MAX_PERMITS);
  });

  describe('of peers that name their versions', () => {
    const ALL = 8 * MAX_PERMITS;

    function resume(count: number, versions: 'some' | 'unknown' = 'some'): Permit[] {
      return Array.from({ length: count }, (_, index) =>
        states.enter(`resuming-${String(index)}`, () => void admitted.push(index), { versions }),
      );
    }

    it.each(['some', 'unknown'] as const)('go to 64 at once with %s versions, and others wait for eight of them', (versions) => {
      const peers = resume(ALL + 1, versions);
      expect(admitted).toHaveLength(ALL);
      peers[0]?.leave();
      expect(admitted).toHaveLength(ALL + 1);
      enter(1, 100);
      for (const { leave } of peers.slice(1, 8)) leave();
      expect(admitted).not.toContain(100);
      peers[8]?.leave();
      expect(admitted).toContain(100);
    });

    it('leave room for messages of the same size as eight other peers', () => {
      const alone = states.messageBytes;
      resume(8);
      expect(states.messageBytes).toBe(alone);
      resume(ALL);
      expect(states.messageBytes).toBe(alone / MAX_PERMITS);
    });

    it('count as whole ones for those that are sent much, until these leave', () => {
      const peers = resume(ALL);
      for (const { sent } of peers.slice(0, 2)) sent(200_000);
      enter(1, 100);
      for (const { leave } of peers.slice(2, 16)) leave();
      enter(1, 101);
      expect(admitted).toHaveLength(ALL);
      peers[0]?.leave();
      expect(admitted.slice(ALL)).toEqual([100]);
      peers[1]?.leave();
      expect(admitted.slice(ALL)).toEqual([100, 101]);
      for (const { leave } of peers) leave();
      enter(20, 200);
      expect(admitted.filter((name) => name >= 200)).toHaveLength(MAX_PERMITS - 2);
    });

    it('count as whole ones above 128 KiB, and not before', () => {
      const peers = resume(ALL - 7);
      for (const { sent } of peers.slice(0, 2)) sent(100_000);
      for (const { sent } of peers.slice(0, 2)) sent(128 * 1024 - 100_000);
      enter(1, 100);
      expect(admitted).not.toContain(100);
      peers[9]?.leave();
      expect(admitted).toContain(100);
      peers[0]?.sent(1);
      peers[8]?.leave();
      enter(1, 101);
      for (const { leave } of peers.slice(1, 8)) leave();
      expect(admitted).not.toContain(101);
    });

    it('are taken from as many stalled ones as another peer needs', () => {
      resume(ALL);
      enter(2, 100);
      vi.advanceTimersByTime(STALL_MS);
      expect(admitted.slice(ALL)).toEqual([100, 101]);
    });
  });

  describe('of a peer that reconnects repeatedly', () => {
    const MB = 1024 * 1024;

    /** Enters, is sent this number of bytes, and leaves. @returns whether it was admitted at once */
    function join(peer: string, bytes: number): boolean {
      let isIn = false;
      const permit = states.enter(peer, () => (isIn = true));
      const wasIn = isIn;
      permit.sent(bytes);
      permit.leave();
      return wasIn;
    }

    it('wait in proportion to the bytes sent before, and other peers do not wait', () => {
      for (let n = 0; n < 7; n += 1) expect(join('east', 5 * MB)).toBe(true);
      expect(join('east', 5 * MB)).toBe(false);
      expect(join('west', 5 * MB)).toBe(true);
      let isIn = false;
      const permit = states.enter('east', () => (isIn = true));
      vi.advanceTimersByTime(2_900);
      expect(isIn).toBe(false);
      vi.advanceTimersByTime(200);
      expect(isIn).toBe(true);
      permit.leave();
    });

    it('do not wait when they are small', () => {
      for (let n = 0; n < 1_000; n += 1) expect(join('east', 1_000)).toBe(true);
    });

    it('wait for less than a millisecond where they are a few bytes over their budget', () => {
      expect(join('east', 32 * MB)).toBe(true);
      expect(join('east', 100)).toBe(true);
      let isIn = false;
      const permit = states.enter('east', () => (isIn = true));
      expect(isIn).toBe(false);
      vi.advanceTimersByTime(1);
      expect(isIn).toBe(true);
      permit.leave();
    });

    it('wait while the peer has a permit, too', () => {
      const first = states.enter('east', () => undefined);
      first.sent(40 * MB);
      let isIn = false;
      const second = states.enter('east', () => (isIn = true));
      vi.advanceTimersByTime(7_900);
      expect(isIn).toBe(false);
      vi.advanceTimersByTime(200);
      expect(isIn).toBe(true);
      first.leave();
      second.leave();
    });
  });

  it('sets one timer, for the time of the first budget, while peers wait', () => {
    for (const [peer, megabytes] of [
      ['east', 40],
      ['west', 36],
    ] as const) {
      const permit = states.enter(peer, () => undefined);
      permit.sent(megabytes * 1024 * 1024);
      permit.leave();
    }
    const waiting = ['east', 'west', 'north'].map((peer) => states.enter(peer, () => undefined));
    waiting[2]?.leave();
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersToNextTimer();
    expect(systemClock.elapsed()).toBeCloseTo(began + 4_000, -1);
    for (const { leave } of waiting) leave();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('sets no timer for a peer that waits for a permit and not for its budget', () => {
    const first = states.enter('east', () => undefined);
    first.sent(36 * 1024 * 1024);
    first.leave();
    const waiting = states.enter('east', () => undefined);
    const others = enter(MAX_PERMITS + 1);
    expect(admitted).toHaveLength(MAX_PERMITS);
    vi.advanceTimersToNextTimer();
    expect(systemClock.elapsed()).toBeCloseTo(began + STALL_MS, -1);
    for (const { leave } of [waiting, ...others]) leave();
  });

  it('skips a peer that left while it waited, and spends no permit on it', () => {
    const peers = enter(11);
    peers[8]?.leave();
    expect(admitted).toHaveLength(MAX_PERMITS);
    peers[0]?.leave();
    expect(admitted.slice(MAX_PERMITS)).toEqual([9]);
    enter(1, 11);
    expect(admitted.slice(MAX_PERMITS)).toEqual([9]);
  });

  it('frees one permit only, however often a peer leaves', () => {
    const peers = enter(12);
    for (let i = 0; i < 5; i += 1) peers[0]?.leave();
    expect(admitted).toHaveLength(MAX_PERMITS + 1);
    for (let i = 0; i < 5; i += 1) peers[11]?.leave();
    peers[1]?.leave();
    peers[2]?.leave();
    peers[3]?.leave();
    expect(admitted.slice(MAX_PERMITS)).toEqual([8, 9, 10]);
  });

  it('gives all permits again after all peers have left', () => {
    for (const { leave } of enter(30)) leave();
    const before = admitted.length;
    enter(MAX_PERMITS + 1, 100);
    expect(admitted.slice(before)).toEqual([100, 101, 102, 103, 104, 105, 106, 107]);
  });

  /** Time in which these peers answer now and then. */
  function pass(ms: number, answering: readonly Peer[]): void {
    for (let left = ms; left > 0; left -= STALL_MS - 1) {
      for (const { progress } of answering) progress();
      vi.advanceTimersByTime(Math.min(left, STALL_MS - 1));
    }
  }

  it('takes the permit of a peer that answers but never finishes at the time limit, not before', () => {
    const peers = enter(10);
    pass(MAX_MS - 1, peers);
    expect(admitted).toHaveLength(MAX_PERMITS);
    vi.advanceTimersByTime(1);
    expect(admitted).toHaveLength(10);
  });

  it('counts the time limit from the permit, not from the arrival of the peer', () => {
    const peers = enter(17);
    pass(MAX_MS - 1, peers);
    peers[0]?.leave();
    expect(admitted).toHaveLength(MAX_PERMITS + 1);
    pass(1, peers);
    // The seven others of the first eight had their time; peer 8 has only begun.
    expect(admitted).toHaveLength(16);
    pass(MAX_MS - 2, peers);
    expect(admitted).toHaveLength(16);
    pass(1, peers);
    expect(admitted).toHaveLength(17);
  });

  describe('of stalled peers', () => {
    it('delay the next stream only briefly, for any stalled peer', () => {
      enter(30);
      vi.advanceTimersByTime(STALL_MS - 1);
      expect(admitted).toHaveLength(MAX_PERMITS);
      vi.advanceTimersByTime(1);
      expect(admitted).toHaveLength(2 * MAX_PERMITS);
    });

    it('give their permits to later peers, and keep them while no peer waits', () => {
      enter(MAX_PERMITS);
      vi.advanceTimersByTime(2 * STALL_MS);
      const alone = states.messageBytes;
      enter(2, 100);
      expect(admitted.slice(MAX_PERMITS)).toEqual([100, 101]);
      expect(states.messageBytes).toBe(alone);
    });

    it('do not cost a peer its permit that answers', () => {
      const [first, ...others] = enter(MAX_PERMITS + 1);
      pass(2 * STALL_MS, others);
      expect(admitted.slice(MAX_PERMITS)).toEqual([MAX_PERMITS]);
      enter(1, 100);
      expect(admitted).toHaveLength(MAX_PERMITS + 1);
      first?.leave();
      expect(admitted).toHaveLength(MAX_PERMITS + 1);
      others[0]?.leave();
      expect(admitted.slice(MAX_PERMITS + 1)).toEqual([100]);
    });

    it('are at most 64 beside the eight permits, so that the bytes in flight are bounded', () => {
      enter(200);
      vi.advanceTimersByTime(MAX_MS - 1);
      expect(admitted).toHaveLength(MAX_PERMITS + MAX_REVOKED);
      vi.advanceTimersByTime(1);
      expect(admitted.length).toBeGreaterThan(MAX_PERMITS + MAX_REVOKED);
    });

    it('get a permit at once when they reconnect, beside the others', () => {
      const [first] = enter(MAX_PERMITS);
      vi.advanceTimersByTime(STALL_MS);
      enter(MAX_PERMITS + 1, 100);
      expect(admitted).toHaveLength(2 * MAX_PERMITS);
      const bytes = states.messageBytes;
      const back = states.enter('0', () => void admitted.push(-1));
      expect(admitted.slice(2 * MAX_PERMITS)).toEqual([-1]);
      expect(states.messageBytes).toBe(bytes);
      first?.leave();
      back.leave();
      expect(admitted).toHaveLength(2 * MAX_PERMITS + 1);
    });
  });

  it('do not free a permit twice when the peer leaves after the time limit', () => {
    const peers = enter(MAX_PERMITS);
    vi.advanceTimersByTime(MAX_MS);
    for (const { leave } of peers) leave();
    enter(20, 100);
    expect(admitted.filter((name) => name >= 100)).toHaveLength(MAX_PERMITS);
  });

  it('leave no timer behind', () => {
    for (const { leave } of enter(20)) leave();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('delays the full states of a peer over the rate, and says how long, but not those that resume or are of another peer', async () => {
    states = new InitialSyncLimiter(systemClock, { atOnce: 2, intervalMs: 5_000 });
    const full: string[] = [];
    const waits: number[] = [];
    const join = (peer: string): Permit =>
      states.enter(peer, () => void full.push(peer), { versions: 'none', onWait: (ms) => void waits.push(ms) });
    join('east').leave();
    join('east').leave();
    const third = join('east');
    states.enter('west', () => void full.push('west'), { versions: 'none' }).leave();
    expect([full, waits]).toEqual([['east', 'east', 'west'], [5_000]]);
    third.leave();
    await vi.advanceTimersByTimeAsync(2_000);
    states.enter('east', () => void full.push('east resumed'), { versions: 'some' }).leave();
    // The time that has passed counts for the next stream of the peer.
    join('east');
    await vi.advanceTimersByTimeAsync(2_999);
    expect([full.at(-1), waits]).toEqual(['east resumed', [5_000, 3_000]]);
    await vi.advanceTimersByTimeAsync(1);
    expect(full.slice(3)).toEqual(['east resumed', 'east']);
  });
});
