// The insights of many zones are read and stored in few statements.
import { describe, expect, it } from 'vitest';
import { isOnline, subscriptionsOf } from '../resource/online-status.ts';
import type { SyncEvent } from '../kds/protocol/sync-events.ts';
import { closed, opened, sent, setUp } from './zone-insight-writer.fixture.ts';
import type { ZoneInsightWriterOptions } from './zone-insight-writer.ts';

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

  /** Runs the writer, which has stored an open stream of each zone, during the work. */
  async function runWith({ writer, tell, statements }: ReturnType<typeof fleetOf>, work: () => Promise<void>): Promise<void> {
    const stop = new AbortController();
    const running = writer.run(stop.signal);
    tell(opened);
    await writer.flush();
    statements.length = 0;
    await work();
    stop.abort();
    await running;
  }

  it('take 50 rows a second with ten thousand zones, in few statements, and each zone has its turn', async () => {
    const fleet = fleetOf(10_000);
    const { clock, store, statements, tell } = fleet;
    await runWith(fleet, async () => {
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
    });
  });

  it('are all stored in one interval by a fleet of 500', async () => {
    const fleet = fleetOf(500);
    const { clock, tell, sentOf, statements } = fleet;
    await runWith(fleet, async () => {
      tell(sent);
      await clock.advance(10_000);
      expect(await Promise.all(many(500).map(sentOf))).toEqual(many(500).map(() => '1'));
      expect(statements).toEqual([500]);
    });
  });

  it('are stored by each replica in the interval of the whole fleet', async () => {
    const fleet = fleetOf(100);
    const { writer, clock, tell, statements } = fleet;
    writer.fleetSize = () => 1_000;
    await runWith(fleet, async () => {
      tell(sent);
      await clock.advance(10_000);
      expect(statements).toEqual([50]);
      await clock.advance(10_000);
      expect(statements).toEqual([50, 50]);
    });
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

  it.each([
    ['stored as closed', true],
    ['tried once more and left', false],
  ])('that are being stored at a stop are %s', async (_, isStoreUp) => {
    const { store, writer, tell } = fleetOf(4);
    const writeBatch = store.writeBatch.bind(store);
    const [began, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const tried: number[] = [];
    store.writeBatch = async (writes, fence) => {
      tried.push(writes.length);
      began.resolve();
      await gate.promise;
      if (!isStoreUp) throw new Error('away');
      return await writeBatch(writes, fence);
    };
    const stop = new AbortController();
    const running = writer.run(stop.signal);
    tell(opened);
    await began.promise;
    stop.abort();
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    gate.resolve();
    await running;
    // The first zone alone is stored by a statement of its own.
    expect(tried).toEqual([3, 4]);
    const rows = await store.getMany(many(4).map((name) => ({ type: 'ZoneInsight', mesh: '', name })));
    expect(rows.map(({ spec }) => isOnline(spec))).toEqual(isStoreUp ? [false, false, false, false] : [true]);
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

  it('are read again after the Zone was deleted, whose new row may have the same version', async () => {
    const { writer, store, tell } = fleetOf(1);
    tell(opened);
    await writer.flush();
    const key = { type: 'ZoneInsight', mesh: '', name: 'z0' };
    await store.write({ op: 'delete', key });
    writer.forget('z0');
    const other = { id: 'other', globalInstanceId: 'g2', connectTime: '2020-01-01T00:00:00Z' };
    await store.write({ op: 'create', key, labels: {}, spec: { subscriptions: [other] } });
    tell(sent);
    await writer.flush();
    expect(subscriptionsOf((await store.get(key))?.spec ?? {}).map(({ id }) => id)).toEqual(['other', 's1']);
  });
});
