import type { SyncEvent } from '../kds/sync-events.ts';
import { pino } from 'pino';
import { describe, expect, it, vi } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import type { JsonObject } from '../resource/types.ts';
import { ZoneInsightWriter, type ZoneInsightWriterOptions } from './zone-insight-writer.ts';
import { isOnline, subscriptionsOf } from '../resource/online-status.ts';

const opened: SyncEvent = { kind: 'opened', peer: 'east', streamId: 's1', stream: 'globalToZone', authorized: false };
const closed: SyncEvent = { kind: 'closed', peer: 'east', streamId: 's1', stream: 'globalToZone', error: null };
const sent: SyncEvent = {
  ...{ kind: 'sent', position: 1, peer: 'east', streamId: 's1', type: 'Mesh' },
  ...{ resources: 1, removed: 0, bytes: 100 },
};

function setUp(options: Partial<ZoneInsightWriterOptions> = {}) {
  const store = new TinyStore().withZones('east', 'west');
  const clock = new ManualClock();
  const keeper = { mode: 'global', instanceId: 'g', version: '2.14.0' } as const;
  const writer = new ZoneInsightWriter({ store, clock, keeper, log: pino({ level: 'silent' }), ...options });
  const row = () => store.get({ type: 'ZoneInsight', mesh: '', name: 'east' });
  const spec = async (): Promise<JsonObject> => (await row())?.spec ?? {};
  return { store, clock, writer, row, spec };
}

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

describe('the insights of many zones', () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => `z${String(index)}`);

  function fleetOf(count: number, options: Partial<ZoneInsightWriterOptions> = {}) {
    const made = setUp(options);
    const { store, writer } = made;
    store.withZones(...many(count));
    const writeBatch = store.writeBatch.bind(store);
    const statements: number[] = [];
    store.writeBatch = async (writes, fence) => {
      statements.push(writes.length);
      return await writeBatch(writes, fence);
    };
    const tell = (event: SyncEvent): void => many(count).forEach((peer) => writer.observe({ ...event, peer }));
    const sentOf = async (zone: string): Promise<unknown> => {
      const row = await store.get({ type: 'ZoneInsight', mesh: '', name: zone });
      return (subscriptionsOf(row?.spec ?? {})[0] as { status?: { total?: { responsesSent?: string } } } | undefined)?.status
        ?.total?.responsesSent;
    };
    return { ...made, statements, tell, sentOf };
  }

  it('take 50 rows a second with ten thousand zones, in few statements, and each zone has its turn', async () => {
    const { writer, clock, store, statements, tell } = fleetOf(10_000);
    const stop = new AbortController();
    const running = writer.run(stop.signal);
    tell(opened);
    await writer.flush();
    statements.length = 0;
    const minutes = 10;
    const generations = new Map<string, Set<unknown>>();
    for (let second = 0; second < minutes * 60; second += 10) {
      tell(sent);
      await clock.advance(10_000);
      for (const { type, name, spec } of store.rows.values()) {
        if (type !== 'ZoneInsight') continue;
        const seen = generations.get(name) ?? new Set();
        generations.set(name, seen.add(subscriptionsOf(spec)[0]?.['generation']));
      }
    }
    const rows = statements.reduce((sum, count) => sum + count, 0);
    expect(rows / (minutes * 60)).toBeLessThanOrEqual(51);
    expect(statements.length).toBeLessThanOrEqual(minutes * 6 + 1);
    // A dead replica is known by a generation that does not change for five minutes.
    expect(Math.min(...[...generations.values()].map(({ size }) => size))).toBeGreaterThanOrEqual(3);
    stop.abort();
    await running;
  });

  it('are all stored in one interval by a fleet of 500', async () => {
    const { writer, clock, tell, sentOf, statements } = fleetOf(500);
    const stop = new AbortController();
    const running = writer.run(stop.signal);
    tell(opened);
    await writer.flush();
    statements.length = 0;
    tell(sent);
    await clock.advance(10_000);
    expect(await Promise.all(many(500).map(sentOf))).toEqual(many(500).map(() => '1'));
    expect(statements).toEqual([500]);
    stop.abort();
    await running;
  });

  it('are stored by each replica in the interval of the whole fleet', async () => {
    const { writer, clock, tell, statements } = fleetOf(100);
    writer.fleetSize = () => 1_000;
    const stop = new AbortController();
    const running = writer.run(stop.signal);
    tell(opened);
    await writer.flush();
    statements.length = 0;
    tell(sent);
    await clock.advance(10_000);
    expect(statements).toEqual([50]);
    await clock.advance(10_000);
    expect(statements).toEqual([50, 50]);
    stop.abort();
    await running;
  });

  it('that another writer changes meanwhile are merged, and the others need no second statement', async () => {
    const { writer, store, tell, sentOf, statements } = fleetOf(3);
    tell(opened);
    await writer.flush();
    statements.length = 0;
    store.beforeWrite = (write) => {
      if (write.key.name !== 'z1') return undefined;
      store.beforeWrite = () => undefined;
      return { result: 'conflict' };
    };
    tell(sent);
    await writer.flush();
    expect(await Promise.all(many(3).map(sentOf))).toEqual(['1', '1', '1']);
    expect(statements).toEqual([3]);
  });

  it('that could not be stored are stored with the next flush', async () => {
    const { writer, store, tell, sentOf } = fleetOf(3);
    tell(opened);
    await writer.flush();
    const writeBatch = store.writeBatch.bind(store);
    store.writeBatch = async () => await Promise.reject(new Error('no connection'));
    tell(sent);
    await writer.flush();
    expect(await Promise.all(many(3).map(sentOf))).toEqual([undefined, undefined, undefined]);
    store.writeBatch = writeBatch;
    await writer.flush();
    expect(await Promise.all(many(3).map(sentOf))).toEqual(['1', '1', '1']);
  });

  it('that end while they are stored are stored again at once', async () => {
    const { writer, store, tell } = fleetOf(3);
    tell(opened);
    await writer.flush();
    const writeBatch = store.writeBatch.bind(store);
    store.writeBatch = async (writes) => {
      writer.observe({ kind: 'closed', peer: 'z1', streamId: 's1', stream: 'globalToZone', error: null });
      return await writeBatch(writes);
    };
    tell(sent);
    await writer.flush();
    const row = await store.get({ type: 'ZoneInsight', mesh: '', name: 'z1' });
    expect(isOnline(row?.spec ?? {})).toBe(false);
  });

  it('that open at once share statements after the first, without a flush, and with a pause after each', async () => {
    const { clock, store, tell, statements } = fleetOf(1_200);
    tell(opened);
    await clock.advance(999);
    expect(statements).toEqual([500]);
    await clock.advance(1_001);
    expect(statements).toEqual([500, 500, 199]);
    const rows = [...store.rows.values()].filter(({ type }) => type === 'ZoneInsight');
    expect(rows.filter(({ spec }) => isOnline(spec))).toHaveLength(1_200);
  });

  it('are read once while their zones have streams, and again after the streams have ended', async () => {
    const { writer, store, tell, sentOf } = fleetOf(3);
    const getMany = store.getMany.bind(store);
    let reads = 0;
    store.getMany = async (keys) => {
      reads += 1;
      return await getMany(keys);
    };
    for (const [event, expected] of [
      [opened, 1],
      [sent, 1],
      [closed, 1],
      [opened, 2],
      [sent, 2],
    ] as const) {
      tell(event);
      await writer.flush();
      expect(reads).toBe(expected);
    }
    expect(await Promise.all(many(3).map(sentOf))).toEqual(['1', '1', '1']);
  });

  it('keep what another process wrote since this one did', async () => {
    const { writer, store, tell } = fleetOf(2);
    tell(opened);
    await writer.flush();
    const key = { type: 'ZoneInsight', mesh: '', name: 'z1' };
    const row = await store.get(key);
    const other = { id: 'other', globalInstanceId: 'g2', connectTime: '2020-01-01T00:00:00Z' };
    const spec = { ...row?.spec, subscriptions: [other, ...subscriptionsOf(row?.spec ?? {})] };
    await store.write({ op: 'update', key, labels: {}, spec });
    tell(sent);
    await writer.flush();
    const ids = subscriptionsOf((await store.get(key))?.spec ?? {}).map(({ id }) => id);
    expect(ids).toEqual(['other', 's1']);
  });

  it('do not wait for a zone whose write is retried', async () => {
    const { writer, clock, store } = fleetOf(3);
    const isOpen = async (zone: string): Promise<boolean> => {
      const row = await store.get({ type: 'ZoneInsight', mesh: '', name: zone });
      return isOnline(row?.spec ?? {});
    };
    store.beforeWrite = ({ key }) => (key.name === 'z0' ? { result: 'conflict' } : undefined);
    writer.observe({ ...opened, peer: 'z0' });
    writer.observe({ ...opened, peer: 'z1' });
    writer.observe({ ...opened, peer: 'z2' });
    await clock.advance(50);
    expect(await Promise.all(['z0', 'z1', 'z2'].map(isOpen))).toEqual([false, true, true]);
    store.beforeWrite = () => undefined;
    await clock.advance(3_300);
    expect(await isOpen('z0')).toBe(true);
  });
});
