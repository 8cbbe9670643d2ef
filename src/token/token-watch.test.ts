import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TokenWatch } from './token-watch.ts';
import { earliestEnds, tokenRefusal, type ZoneToken } from './zone-authenticator.ts';

const DAY_MS = 24 * 3_600_000;

let clock: ManualClock;
let watch: TokenWatch<ZoneToken>;
let stop: AbortController;
let running: Promise<void>;
let changed: () => void;
let checks: number;
let refusals: Map<string, string>;
let away: boolean;
let ended: string[];
let followers: number;

beforeEach(() => {
  clock = new ManualClock();
  stop = new AbortController();
  checks = 0;
  refusals = new Map();
  away = false;
  ended = [];
  followers = 0;
  watch = new TokenWatch({
    kind: 'zone',
    clock,
    explain: ({ zone }, reason) => tokenRefusal(zone, reason),
    secrets: {
      follow: (_kind, listener) => {
        changed = listener;
        followers += 1;
        return () => {
          followers -= 1;
          changed = () => undefined;
        };
      },
    },
    check: async ({ text, expiresAt }) => {
      checks++;
      if (away) throw new Error('away');
      const isOver = clock.now().getTime() >= expiresAt.getTime() + 5_000;
      const reason = refusals.get(text) ?? (isOver ? 'expired on some day' : null);
      return reason === null ? { ok: true } : { ok: false, reason };
    },
  });
  running = watch.run(stop.signal);
});

afterEach(async () => {
  stop.abort();
  await running;
});

/** The token of a zone: `east/40` is of zone east, for 40 days. */
function tokenOf(text: string): ZoneToken {
  const [zone = '', days = '0'] = text.split('/');
  return { zone, text, expiresAt: new Date(Date.parse('2026-01-01T00:00:00Z') + Number(days) * DAY_MS) };
}

function open(text: string): () => void {
  return watch.watch(tokenOf(text), (reason) => ended.push(`${text}: ${reason.split('.')[0] ?? ''}`));
}

describe('TokenWatch', () => {
  it('notifies every stream of a revoked token once, and no other', async () => {
    for (const text of ['east/40', 'east/40', 'west/40']) open(text);
    await clock.advance(0);
    refusals.set('east/40', 'was revoked');
    changed();
    await clock.advance(0);
    changed();
    await clock.advance(0);
    const reason = 'east/40: the token of zone "east" was revoked';
    expect(ended).toEqual([reason, reason]);
  });

  it('notices a revocation between the check and the watch', async () => {
    await clock.advance(0);
    refusals.set('east/40', 'was revoked');
    changed();
    await clock.advance(0);
    open('east/40');
    await clock.advance(0);
    expect(ended).toHaveLength(1);
  });

  it('notices a revocation during the check', async () => {
    open('east/40');
    changed();
    refusals.set('east/40', 'was revoked');
    changed();
    await clock.advance(0);
    expect(ended).toHaveLength(1);
  });

  it('ends a stream when its token expires, also later than the longest timer', async () => {
    open('east/40');
    await clock.advance(40 * DAY_MS + 4_999);
    expect(ended).toEqual([]);
    await clock.advance(1);
    expect(ended).toEqual(['east/40: the token of zone "east" expired on some day']);
    const before = checks;
    await clock.advance(DAY_MS);
    expect(checks).toBe(before);
  });

  it('does not check again without a change', async () => {
    open('east/40');
    await clock.advance(0);
    open('east/40');
    await clock.advance(10 * DAY_MS);
    expect(checks).toBe(1);
  });

  it('ends no stream while the store is unavailable, and retries', async () => {
    open('east/40');
    await clock.advance(0);
    away = true;
    refusals.set('east/40', 'was revoked');
    changed();
    await clock.advance(60_000);
    expect(ended).toEqual([]);
    away = false;
    await clock.advance(2_000);
    expect(ended).toHaveLength(1);
  });

  it('forgets streams that closed', async () => {
    const close = open('east/40');
    open('west/20');
    open('west/10');
    expect(earliestEnds(watch.tokens())).toEqual(
      new Map([
        ['east', tokenOf('east/40').expiresAt],
        ['west', tokenOf('west/10').expiresAt],
      ]),
    );
    close();
    close();
    expect([...earliestEnds(watch.tokens()).keys()]).toEqual(['west']);
    refusals.set('east/40', 'was revoked');
    changed();
    await clock.advance(0);
    expect(ended).toEqual([]);
  });

  it('watches a token until the last of its streams has closed', async () => {
    const close = open('east/40');
    open('east/40');
    await clock.advance(0);
    close();
    expect([...earliestEnds(watch.tokens()).keys()]).toEqual(['east']);
    refusals.set('east/40', 'was revoked');
    changed();
    await clock.advance(0);
    expect(ended).toHaveLength(1);
  });

  it('watches a token again after its refusal, also when a stream from before closes', async () => {
    const close = open('east/40');
    refusals.set('east/40', 'was revoked');
    await clock.advance(0);
    expect(ended).toHaveLength(1);
    refusals.clear();
    open('east/40');
    await clock.advance(0);
    close();
    refusals.set('east/40', 'was revoked');
    changed();
    await clock.advance(0);
    expect(ended).toHaveLength(2);
  });

  it('follows the secrets until its signal aborts', async () => {
    expect(followers).toBe(1);
    stop.abort();
    await running;
    expect(followers).toBe(0);
  });
});

it('a stream that came while its token was checked is ended too, though the last one closed meanwhile', async () => {
  const answers: (() => void)[] = [];
  let isRevoked = false;
  const own = new TokenWatch<ZoneToken>({
    ...{ kind: 'zone', clock, explain: (_, reason) => reason },
    secrets: { follow: (_, listener) => ((changed = listener), () => undefined) },
    check: async () => {
      const outcome = isRevoked ? ({ ok: false, reason: 'was revoked' } as const) : ({ ok: true } as const);
      await new Promise<void>((resolve) => answers.push(resolve));
      return outcome;
    },
  });
  const over = new AbortController();
  const ending = own.run(over.signal);
  const close = own.watch(tokenOf('east/40'), () => undefined);
  const next = async (): Promise<void> => {
    await expect.poll(() => answers.length).toBe(1);
    answers.shift()?.();
  };
  await next();
  isRevoked = true;
  changed();
  await expect.poll(() => answers.length).toBe(1);
  close();
  const reasons: string[] = [];
  own.watch(tokenOf('east/40'), (reason) => void reasons.push(reason));
  await next();
  await next();
  await expect.poll(() => reasons).toEqual(['was revoked']);
  over.abort();
  await ending;
});

it('the reason for each stream names its own peer where several share a token', async () => {
  const reasons: string[] = [];
  for (const zone of ['east', 'west']) watch.watch({ ...tokenOf('shared/40'), zone }, (reason) => void reasons.push(reason));
  refusals.set('shared/40', 'was revoked');
  changed();
  await expect.poll(() => reasons).toEqual([expect.stringContaining('"east"'), expect.stringContaining('"west"')]);
});
