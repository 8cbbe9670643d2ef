// The ZoneInsight of a zone whose streams move between two replicas of global. Both write the row.
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { ManualClock } from '../../test/support/manual-clock.ts';
import type { SyncEvent } from '../kds/protocol/sync-events.ts';
import { isOnline, subscriptionsOf } from '../resource/online-status.ts';
import { closed, opened, setUp } from './zone-insight-writer.fixture.ts';
import { ZoneInsightWriter } from './zone-insight-writer.ts';

const DAY = 86_400_000;
const withheld: SyncEvent = {
  ...{ kind: 'withheld', peer: 'east', streamId: 's1', type: 'MeshTimeout', all: null, count: 1 },
  resources: new Map([['slow', 'bad']]),
};
const turnedAway = (reason: string): SyncEvent => ({ kind: 'turnedAway', peer: 'east', reason });
const after = (clock: ManualClock, ms: number): Date => new Date(clock.now().getTime() + ms);

/** Two replicas. East is connected to the first, with a token that ends soon and with a problem; the second gets it later. */
async function twoReplicas() {
  const { store, clock, writer: old, row } = setUp();
  const keeper = { mode: 'global', instanceId: 'g2', version: '2.14.0' } as const;
  const lag = { since: after(clock, 30_000), types: ['Mesh'] };
  const next = new ZoneInsightWriter({ store, clock, keeper, log: pino({ level: 'silent' }), lagOf: () => lag });
  old.observe({ ...opened, tokenExpiresAt: after(clock, DAY) });
  old.observe(withheld);
  await old.flush();
  await clock.advance(60_000);
  const status = async () => (await row())?.status ?? {};
  const move = async () => {
    const tokenExpiresAt = after(clock, 365 * DAY);
    next.observe({ ...opened, streamId: 's2', tokenExpiresAt });
    await next.flush();
    return { tokenExpiresAt: tokenExpiresAt.toISOString(), lag: { since: lag.since.toISOString(), types: ['Mesh'] } };
  };
  return { clock, old, next, row, status, move };
}

describe('a replica of global that a zone has left', () => {
  it('keeps the status of the next replica when it ends its own stream after the handover', async () => {
    const { old, status, move } = await twoReplicas();
    const ofNext = await move();
    old.observe(closed);
    await old.flush();
    expect(await status()).toEqual(ofNext);
  });

  it('keeps the status of the next replica while its own stream is still open', async () => {
    const { old, row, status, move } = await twoReplicas();
    const ofNext = await move();
    old.observe({ kind: 'healthCheck', peer: 'east' });
    await old.flush();
    expect(await status()).toEqual(ofNext);
    expect(isOnline((await row())?.spec ?? {})).toBe(true);
  });

  it('adds the calls that it refuses later, and keeps newer ones of the other replica', async () => {
    const { clock, old, next, status, move } = await twoReplicas();
    old.observe(closed);
    await old.flush();
    const ofNext = await move();
    const expectCalls = async (reason: string): Promise<void> => {
      const { refusedStreams, ...others } = await status();
      expect(refusedStreams).toMatchObject({ reason });
      expect(others).toEqual(ofNext);
    };
    old.observe(turnedAway('a wrong token'));
    await old.flush();
    await expectCalls('a wrong token');
    await clock.advance(1_000);
    next.observe(turnedAway('a newer refusal'));
    await next.flush();
    old.observe({ kind: 'healthCheck', peer: 'east' });
    await old.flush();
    await expectCalls('a newer refusal');
  });

  it('stores the calls that it refuses after the date was set back', async () => {
    const { clock, old, status } = await twoReplicas();
    old.observe(turnedAway('a wrong token'));
    await old.flush();
    clock.moveDate(-DAY);
    old.observe(turnedAway('another store'));
    await old.flush();
    expect((await status())['refusedStreams']).toMatchObject({ last: clock.now().toISOString(), reason: 'another store' });
  });

  it('stores the last status of a zone that went to no other replica', async () => {
    const { clock, old, row, status } = await twoReplicas();
    old.observe({ ...withheld, resources: new Map([['slow', 'worse']]) });
    old.observe(closed);
    await old.flush();
    expect(subscriptionsOf((await row())?.spec ?? {})).toMatchObject([{ disconnectTime: clock.now().toISOString() }]);
    expect((await status())['syncProblems']).toMatchObject([{ message: 'worse' }]);
  });

  it('stores the last status also where the clock of the replica before was ahead', async () => {
    const { store, clock, writer, row } = setUp();
    const at = (ms: number): string => after(clock, ms).toISOString();
    const before = { id: 's0', globalInstanceId: 'g2', connectTime: at(240_000), disconnectTime: at(299_000), generation: 1 };
    const key = { type: 'ZoneInsight', mesh: '', name: 'east' };
    await store.write({ op: 'create', key, labels: {}, spec: { subscriptions: [before] } });
    writer.observe(opened);
    writer.observe(withheld);
    await writer.flush();
    expect((await row())?.status).not.toEqual({});
    await clock.advance(60_000);
    writer.observe({ ...withheld, resources: new Map(), count: 0 });
    writer.observe(closed);
    await writer.flush();
    expect((await row())?.status).toEqual({});
  });

  it('replaces the status of the other replica when the zone returns', async () => {
    const { clock, old, next, status, move } = await twoReplicas();
    await move();
    old.observe(closed);
    next.observe({ ...closed, streamId: 's2' });
    await next.flush();
    await clock.advance(1_000);
    old.observe({ ...opened, streamId: 's3' });
    await old.flush();
    expect(await status()).toEqual({});
  });
});
