import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TokenGuard } from './token-guard.ts';

const DAY_MS = 24 * 3_600_000;

let clock: ManualClock;
let stop: AbortController;
let changed: () => void;
let isFollowing: boolean;
let refusal: string | null;
let away: boolean;
let checks: number;

beforeEach(() => {
  clock = new ManualClock();
  stop = new AbortController();
  isFollowing = false;
  refusal = null;
  away = false;
  checks = 0;
});

afterEach(() => stop.abort());

/** The guard of a token that ends `ms` from now. */
function guard(ms: number): TokenGuard {
  const token = { text: 'jo', expiresAt: new Date(clock.now().getTime() + ms) };
  const secrets = {
    follow: (_kind: unknown, listener: () => void): (() => void) => {
      isFollowing = true;
      changed = listener;
      return () => (isFollowing = false);
    },
  };
  const verifier = {
    user: async (): ReturnType<ConstructorParameters<typeof TokenGuard>[1]['verifier']['user']> => {
      checks += 1;
      if (away) throw new Error('away');
      const isOver = clock.now().getTime() >= token.expiresAt.getTime() + 5_000;
      const reason = refusal ?? (isOver ? 'expired on some day' : null);
      if (reason !== null) return { ok: false, reason };
      return { ok: true, claims: { name: 'jo', groups: [] }, id: 'jo', expiresAt: token.expiresAt };
    },
  };
  return new TokenGuard(token, { secrets, verifier, clock }, stop.signal);
}

describe('TokenGuard', () => {
  it('ends when its token expires, also later than the longest timer', async () => {
    const { ended } = guard(40 * DAY_MS);
    await clock.advance(40 * DAY_MS + 4_999);
    expect([ended.aborted, checks]).toEqual([false, 1]);
    await clock.advance(1);
    expect([ended.aborted, isFollowing]).toEqual([true, false]);
  });

  it('ends a stream when its token expires', async () => {
    const { ended } = guard(-4_500);
    await clock.advance(500);
    expect(ended.aborted).toBe(true);
  });

  it('gives the reason after a revocation, and not before', async () => {
    const one = guard(DAY_MS);
    expect(await one.refusal()).toBeNull();
    refusal = 'was revoked';
    changed();
    expect(await one.refusal()).toBe('was revoked');
    await clock.advance(0);
    expect(one.ended.aborted).toBe(true);
  });

  it('discards the answer of a check that began before the last change', async () => {
    const one = guard(DAY_MS);
    const answer = one.refusal();
    refusal = 'was revoked';
    changed();
    expect(await answer).toBe('was revoked');
  });

  it('gives no answer while the store is unavailable, and retries', async () => {
    const one = guard(DAY_MS);
    await clock.advance(0);
    away = true;
    refusal = 'was revoked';
    changed();
    let reason: string | null | undefined;
    void one.refusal().then((answer) => (reason = answer));
    await clock.advance(60_000);
    expect([reason, one.ended.aborted]).toEqual([undefined, false]);
    away = false;
    await clock.advance(2_000);
    expect([reason, one.ended.aborted]).toEqual(['was revoked', true]);
  });

  it('stops with its signal without ending the stream', async () => {
    const one = guard(DAY_MS);
    await clock.advance(0);
    stop.abort();
    await clock.advance(0);
    expect([one.ended.aborted, isFollowing, await one.refusal()]).toEqual([false, false, null]);
  });
});
