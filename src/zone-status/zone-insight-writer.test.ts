import { namedResources } from '../kds/protocol/refusal-report.ts';
import type { SyncEvent } from '../kds/protocol/sync-events.ts';
import type { JsonObject } from '../resource/types.ts';
import { describe, expect, it, vi } from 'vitest';
import { opened, sent, setUp } from './zone-insight-writer.fixture.ts';
import { isOnline, subscriptionsOf } from '../resource/online-status.ts';

describe('ZoneInsightWriter', () => {
  it('stores an opened stream at once, owned by the Zone', async () => {
    const { writer, row } = setUp();
    writer.observe(opened);
    await vi.waitFor(async () => expect(isOnline((await row())?.spec ?? {})).toBe(true));
    expect((await row())?.owner).toEqual({ type: 'Zone', mesh: '', name: 'east' });
  });

  it('stores counts once an interval in one write, and writes nothing without an event', async () => {
    const { writer, clock, row, spec } = setUp();
    const stop = new AbortController();
    const running = writer.run(stop.signal);
    writer.observe(opened);
    await writer.flush();
    for (let index = 0; index < 100; index += 1) writer.observe(sent);
    await clock.advance(9_000);
    expect((await row())?.version).toBe(0);
    await clock.advance(2_000);
    expect(subscriptionsOf(await spec())).toMatchObject([{ status: { total: { responsesSent: '100' } } }]);
    await clock.advance(100_000);
    expect((await row())?.version).toBe(1);
    stop.abort();
    await running;
  });

  it('stores counts of proxies with the next interval, and at once when they replace rows', async () => {
    const { writer, clock, row } = setUp();
    const stop = new AbortController();
    const running = writer.run(stop.signal);
    const counted = (epoch: number, replacesRows: boolean): SyncEvent => {
      return { kind: 'counted', peer: 'east', streamId: 's1', epoch, groups: [], replacesRows };
    };
    writer.observe(opened);
    await writer.flush();
    writer.observe(counted(1, false));
    await clock.advance(9_000);
    expect((await row())?.status).toEqual({});
    await clock.advance(1_000);
    expect((await row())?.status).toEqual({ proxies: { epoch: 1, groups: [] } });
    writer.observe(counted(2, true));
    await vi.waitFor(async () => expect((await row())?.status).toEqual({ proxies: { epoch: 2, groups: [] } }));
    stop.abort();
    await running;
  });

  it('stores that a zone leaves changes unconfirmed, which no event says, and that it has confirmed them', async () => {
    let lag: { since: Date; types: string[] } | null = null;
    const { writer, clock, row } = setUp({ lagOf: () => lag });
    const stop = new AbortController();
    const running = writer.run(stop.signal);
    writer.observe(opened);
    await writer.flush();
    lag = { since: clock.now(), types: ['Mesh'] };
    await clock.advance(10_000);
    expect((await row())?.status).toEqual({ lag: { since: lag.since.toISOString(), types: ['Mesh'] } });
    lag = null;
    await clock.advance(10_000);
    expect((await row())?.status).toEqual({});
    stop.abort();
    await running;
  });

  it('stores the first problems after 20 ms, and all others of the next second together', async () => {
    const { writer, clock, row } = setUp();
    writer.observe(opened);
    await writer.flush();
    const refuses = (...names: string[]): void => {
      const changed = new Map(names.map((name) => [name, 'bad']));
      const none = namedResources(new Map());
      const report = { refused: namedResources(changed), suspects: none, changed, solved: [] };
      writer.observe({ kind: 'refused', peer: 'east', streamId: 's1', type: 'Mesh', ...report });
    };
    const stored = async (): Promise<unknown> =>
      ((await row())?.status?.['syncProblems'] as JsonObject[] | undefined)?.[0]?.['resources'];
    const version = async (): Promise<number> => (await row())?.version ?? 0;
    const before = await version();
    refuses('a');
    await clock.advance(20);
    await vi.waitFor(async () => expect(await stored()).toEqual(['a']));
    for (const names of [['b'], ['b', 'c'], ['c']]) refuses(...names);
    await clock.advance(999);
    expect(await stored()).toEqual(['a']);
    await clock.advance(1);
    await vi.waitFor(async () => expect(await stored()).toEqual(['c']));
    expect((await version()) - before).toBe(2);
  });

  it('stores that a zone is turned away, also before it has a stream to this process', async () => {
    const { writer, row } = setUp();
    writer.observe({ kind: 'turnedAway', peer: 'east', reason: 'the token has expired' });
    await writer.flush();
    expect((await row())?.status).toMatchObject({ refusedStreams: { count: 1, reason: 'the token has expired' } });
  });

  it('raises the generation while connected', async () => {
    const { writer, clock, spec } = setUp();
    const stop = new AbortController();
    const running = writer.run(stop.signal);
    writer.observe(opened);
    await clock.advance(320_000);
    expect(subscriptionsOf(await spec())).toMatchObject([{ generation: 2 }]);
    stop.abort();
    await running;
  });

  it('closes and stores open subscriptions when it stops', async () => {
    const { writer, spec } = setUp();
    const stop = new AbortController();
    const running = writer.run(stop.signal);
    writer.observe(opened);
    writer.observe(sent);
    stop.abort();
    await running;
    expect(isOnline(await spec())).toBe(false);
    expect(subscriptionsOf(await spec())).toMatchObject([{ status: { total: { responsesSent: '1' } } }]);
    writer.observe({ ...opened, streamId: 's2' });
    await writer.flush();
    expect(subscriptionsOf(await spec())).toHaveLength(1);
  });

  it('merges with a row that another process wrote between its read and its write', async () => {
    const { writer, store, spec } = setUp();
    const key = { type: 'ZoneInsight', mesh: '', name: 'east' };
    store.beforeWrite = (write) => {
      if (write.op !== 'create') return undefined;
      store.beforeWrite = () => undefined;
      return store
        .write({ op: 'put', key, labels: {}, spec: { healthCheck: { time: '2026-01-01T00:00:00Z' } } })
        .then(() => ({ result: 'exists' }));
    };
    writer.observe(opened);
    await writer.flush();
    expect(isOnline(await spec())).toBe(true);
    expect((await spec())['healthCheck']).toEqual({ time: '2026-01-01T00:00:00Z' });
  });

  it('forgets a zone without a Zone row when its last stream ends', async () => {
    const { writer, store, clock, spec } = setUp();
    await store.write({ op: 'delete', key: { type: 'Zone', mesh: '', name: 'east' } });
    let attempts = 0;
    store.beforeWrite = () => {
      attempts += 1;
      return { result: 'rejected', message: 'its owner Zone "east" does not exist' };
    };
    writer.observe(opened);
    await clock.advance(10_000);
    expect(attempts).toBeGreaterThan(1);
    writer.observe({ kind: 'closed', peer: 'east', streamId: 's1', stream: 'globalToZone', error: null });
    await clock.advance(10_000);
    expect(writer.size).toBe(0);
    const before = attempts;
    await writer.flush();
    expect(attempts).toBe(before);
    // A new row starts from the beginning.
    store.beforeWrite = () => undefined;
    store.withZones('east');
    writer.observe({ ...opened, streamId: 's2' });
    await writer.flush();
    expect(subscriptionsOf(await spec())).toMatchObject([{ id: 's2' }]);
  });

  it('retries a refused write only after a new event', async () => {
    const { writer, store, clock, spec } = setUp();
    let attempts = 0;
    store.beforeWrite = () => {
      attempts += 1;
      return { result: 'rejected', message: 'no room' };
    };
    writer.observe(opened);
    await clock.advance(10_000);
    const before = attempts;
    await writer.flush();
    expect(attempts).toBe(before);
    store.beforeWrite = () => undefined;
    writer.observe(sent);
    await writer.flush();
    expect(isOnline(await spec())).toBe(true);
  });

  it('tries a write again after 0, 50, 250, 1000 and 2000 ms, then with the next flush', async () => {
    const { writer, store, clock } = setUp();
    const begin = clock.elapsed();
    const attempts: number[] = [];
    store.beforeWrite = () => {
      attempts.push(clock.elapsed() - begin);
      return { result: 'conflict' };
    };
    writer.observe(opened);
    await clock.advance(20_000);
    expect(attempts).toEqual([0, 0, 50, 300, 1_300, 3_300]);
  });

  it('forgets a zone on request, but keeps a zone with an open stream', async () => {
    const { writer } = setUp();
    writer.observe({ kind: 'healthCheck', peer: 'east' });
    writer.observe({ ...opened, peer: 'west' });
    for (const zone of ['east', 'west', 'unknown']) writer.forget(zone);
    expect(writer.size).toBe(1);
    await writer.flush();
  });

  it('waits for a missing Zone row, and survives a failing store', async () => {
    const { writer, store, clock, spec } = setUp();
    let attempts = 0;
    store.beforeWrite = () => {
      attempts += 1;
      if (attempts === 1) throw new Error('connection lost');
      return attempts < 4 ? { result: 'rejected', message: 'owner is gone' } : undefined;
    };
    writer.observe(opened);
    await vi.waitFor(() => expect(attempts).toBe(1));
    const flushed = writer.flush().then(() => writer.flush());
    await clock.advance(10_000);
    await flushed;
    expect(isOnline(await spec())).toBe(true);
  });
});
