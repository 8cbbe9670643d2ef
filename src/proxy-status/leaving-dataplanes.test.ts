import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import type { ProxyConnectionFacts } from '../ads/proxy-events.ts';
import { objectOf, objectsOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';
import { DataplaneInsightWriter } from './dataplane-insight-writer.ts';
import { leaveDataplane } from './leaving-dataplanes.ts';

const at = { mesh: 'shop', name: 'cart-1' };
const spec: JsonObject = {
  networking: { address: '127.0.0.1', inbound: [{ port: 80 }, { port: 81, state: 'Ignored' }, { port: 82, state: 'Ready' }] },
};
const facts = (streamId: string, run = ''): ProxyConnectionFacts => ({
  ...{ streamId, ...at, run, isZoneProxy: false, namespace: '', version: {}, metadata: {} },
});

async function setUp() {
  const store = new TinyStore();
  const clock = new ManualClock();
  const times = { flushIntervalMs: 10_000, generationIntervalMs: 150_000 };
  const log = pino({ level: 'silent' });
  const replica = (instanceId: string) =>
    new DataplaneInsightWriter({ store, clock, log, instanceId, subscriptionLimit: 2, ...times });
  const bring = async (writer: DataplaneInsightWriter, streamId: string, run: string): Promise<void> => {
    await clock.advance(1_000);
    await writer.hold(facts(streamId, run), (stored) => {
      const row = { key: { type: 'Dataplane', ...at }, labels: {}, spec };
      return stored === undefined ? { op: 'create', ...row } : { op: 'update', ...row, expectVersion: stored.version };
    });
  };
  const writer = replica('one');
  await bring(writer, 's1', 'first');
  const states = async (): Promise<unknown[] | null> => {
    const row = await store.get({ type: 'Dataplane', ...at });
    return row === undefined ? null : objectsOf(objectOf(row.spec['networking'])['inbound']).map(({ state }) => state ?? null);
  };
  const status = async (): Promise<JsonObject> => (await store.get({ type: 'DataplaneInsight', ...at }))?.status ?? {};
  const leave = (run: string, state: 'draining' | 'ended') => leaveDataplane(store, { ...at, run, state });
  return { store, writer, replica, bring, states, status, leave };
}

const READY = [null, 'Ignored', 'Ready'];
const LEAVING = ['NotReady', 'Ignored', 'NotReady'];

describe('a proxy that leaves', () => {
  it('has no ready inbounds during its drain, after any writes of its control plane, and is removed at its end', async () => {
    const { store, writer, states, status, leave } = await setUp();
    expect(await states()).toEqual(READY);
    await leave('first', 'draining');
    expect(await states()).toEqual(LEAVING);
    writer.observe({ ...facts('s1'), kind: 'sent', type: 'Cluster' });
    await writer.flush();
    writer.release(facts('s1'), 'released');
    await writer.flush();
    expect(await status()).toEqual({ hold: 'leaving', run: 'first' });
    await leave('first', 'ended');
    expect(store.rows.size).toBe(0);
  });

  it('stays one that leaves when it moves to another replica', async () => {
    const { replica, bring, states, status, leave } = await setUp();
    await leave('first', 'draining');
    await bring(replica('two'), 's2', 'first');
    expect(await states()).toEqual(LEAVING);
    expect(await status()).toEqual({ hold: 'leaving', run: 'first' });
  });

  it('gives its Dataplane to the proxy that comes after it', async () => {
    const { writer, replica, bring, states, status, leave } = await setUp();
    await leave('first', 'draining');
    await bring(replica('two'), 's2', 'second');
    writer.release(facts('s1'), 'released');
    await writer.flush();
    await leave('first', 'ended');
    expect(await states()).toEqual(READY);
    expect(await status()).toEqual({ hold: 'held', run: 'second' });
  });

  it.each(['', 'another'])('is not believed with the run %j', async (run) => {
    const { states, leave } = await setUp();
    await leave(run, 'draining');
    await leave(run, 'ended');
    expect(await states()).toEqual(READY);
  });

  describe('whose Dataplane stays', () => {
    async function connected() {
      const { store, writer, replica, status, leave } = await setUp();
      store.rows.clear();
      await store.write({ op: 'put', key: { type: 'Dataplane', ...at }, labels: {}, spec });
      const connect = async (to: DataplaneInsightWriter, streamId: string, run: string): Promise<void> => {
        to.observe({ ...facts(streamId, run), kind: 'opened' });
        await to.flush();
      };
      return { store, writer, replica, status, leave, connect };
    }

    it.each(['draining', 'ended'] as const)('leaves it as it is, and its insight says that it is %s', async (state) => {
      const { store, replica, status, leave, connect } = await connected();
      await leave('first', state);
      expect(await status()).toEqual({});
      await connect(replica('two'), 's2', 'first');
      await leave('another', state);
      expect(await status()).toEqual({ run: 'first' });
      await leave('first', state);
      await leave('first', state);
      expect(await status()).toEqual({ run: 'first', isLeaving: true });
      expect(await store.get({ type: 'Dataplane', ...at })).toMatchObject({ spec, version: 0 });
    });

    it('leaves until another run of it comes', async () => {
      const { replica, status, leave, connect } = await connected();
      const two = replica('two');
      await connect(two, 's2', 'first');
      await leave('first', 'draining');
      two.observe({ ...facts('s2', 'first'), kind: 'sent', type: 'Cluster' });
      two.observe({ ...facts('s2', 'first'), kind: 'closed' });
      await two.flush();
      expect(await status()).toEqual({ run: 'first', isLeaving: true });
      await two.hold(facts('s3', 'first'), () => null);
      expect(await status()).toEqual({ run: 'first', isLeaving: true });
      await two.hold(facts('s4', 'second'), () => null);
      expect(await status()).toEqual({ run: 'second' });
    });
  });
});
