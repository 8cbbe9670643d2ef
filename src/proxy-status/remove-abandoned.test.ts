import { pino } from 'pino';
import { describe, expect, it, vi } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import type { JsonObject } from '../resource/types.ts';
import { removalTime, removeAbandoned } from './remove-abandoned.ts';

const at = { mesh: 'shop', name: 'cart-1' };
const dataplane = { type: 'Dataplane', ...at };
const START = Date.parse('2026-01-01T00:00:00.000Z');
const closed = (ms: number): JsonObject => ({
  subscriptions: [{ id: 's1', connectTime: '2025-01-01T00:00:00Z', disconnectTime: new Date(START + ms).toISOString() }],
});
const subscription: JsonObject = { id: 's1', connectTime: '2026-01-01T00:00:00Z' };
const open: JsonObject = { subscriptions: [{ id: 's2', connectTime: '2025-01-01T00:00:00Z' }] };

async function setUp() {
  const store = new TinyStore();
  const clock = new ManualClock();
  const stop = new AbortController();
  await store.write({ op: 'put', key: dataplane, labels: {}, spec: {} });
  const insight = (spec: JsonObject, status: JsonObject) =>
    store.write({ op: 'put', key: { type: 'DataplaneInsight', ...at }, labels: {}, spec, status, owner: dataplane });
  const isThere = async (): Promise<boolean> => (await store.get(dataplane)) !== undefined;
  const run = (): void => {
    const running = removeAbandoned(
      { store, clock, log: pino({ level: 'silent' }), graceMs: 10_000, instanceId: 'one' },
      stop.signal,
    );
    end = () => (stop.abort(), running);
  };
  let end = (): Promise<void> => Promise.resolve();
  return { store, clock, insight, isThere, run, end: () => end() };
}

describe('the removal of Dataplanes that proxies brought', () => {
  it.each([
    ['is held by an open stream', open, { hold: 'released' }, null],
    ['was not brought', closed(0), {}, null],
    ['has an unknown value of hold', closed(0), { hold: 'x' }, null],
    ['is of a proxy whose stream ended', closed(5), { hold: 'released' }, 10_005],
    ['is of a proxy that said that it leaves', closed(5), { hold: 'leaving' }, 10_005],
    ['is of a proxy whose stream ended before this leader began', closed(-5), { hold: 'released' }, 60_000],
    ['is of a control plane that stopped', closed(5), { hold: 'held' }, 60_005],
    ['never had a stream', {}, { hold: 'held' }, 60_000],
  ])('knows when one goes that %s', (_, spec, status, expected) => {
    const time = removalTime({ spec, status }, START, 10_000);
    expect(time === null ? null : time - START).toBe(expected);
  });

  it('removes one after the grace, and not before', async () => {
    const { clock, insight, isThere, run, end, store } = await setUp();
    run();
    await insight(closed(0), { hold: 'released' });
    await clock.advance(9_900);
    expect(await isThere()).toBe(true);
    await clock.advance(200);
    await vi.waitFor(async () => expect(await isThere()).toBe(false));
    expect(store.rows.size).toBe(0);
    await end();
  });

  it('keeps one whose proxy came back in time', async () => {
    const { clock, insight, isThere, run, end } = await setUp();
    run();
    await insight(closed(0), { hold: 'released' });
    await clock.advance(9_000);
    await insight(open, { hold: 'held' });
    await clock.advance(100_000);
    expect(await isThere()).toBe(true);
    await end();
  });

  it('removes one whose replica was killed with the proxy, a minute after the replica is gone', async () => {
    const { clock, insight, isThere, run, end, store } = await setUp();
    const subscriptions = [{ ...subscription, controlPlaneInstanceId: 'two' }];
    const lost = Promise.withResolvers<void>();
    store.lead = async (name, task, signal) => {
      expect(name).toBe('meridian-replica/two');
      await lost.promise;
      await task(signal);
    };
    run();
    await insight({ subscriptions }, { hold: 'held' });
    await clock.advance(300_000);
    expect(await isThere()).toBe(true);
    lost.resolve();
    await vi.waitFor(async () => expect((await store.get({ type: 'DataplaneInsight', ...at }))?.version).toBe(1));
    await clock.advance(59_000);
    expect(await isThere()).toBe(true);
    await clock.advance(2_000);
    await vi.waitFor(async () => expect(await isThere()).toBe(false));
    await end();
  });

  it('says of a Dataplane that stays that its proxy has lost a replica that was killed', async () => {
    const { clock, insight, isThere, run, end, store } = await setUp();
    const subscriptions = [{ ...subscription, controlPlaneInstanceId: 'two' }];
    store.lead = (_, task, signal) => task(signal);
    run();
    await insight({ subscriptions }, { run: 'first' });
    const status = async (): Promise<JsonObject> => (await store.get({ type: 'DataplaneInsight', ...at }))?.status ?? {};
    await vi.waitFor(async () => expect(await status()).toEqual({ run: 'first', isLost: true }));
    await clock.advance(300_000);
    expect(await isThere()).toBe(true);
    await end();
  });

  it('does not watch its own replica', async () => {
    const { clock, insight, run, end, store } = await setUp();
    const lead = vi.spyOn(store, 'lead');
    run();
    await insight({ subscriptions: [{ ...subscription, controlPlaneInstanceId: 'one' }] }, { hold: 'held' });
    await clock.advance(1_000);
    expect(lead).not.toHaveBeenCalled();
    await end();
  });

  it('removes one although its Dataplane is written during the removal', async () => {
    const { clock, insight, isThere, run, end, store } = await setUp();
    run();
    await insight(closed(0), { hold: 'released' });
    const writeAll = store.writeAll.bind(store);
    const removal = vi.spyOn(store, 'writeAll').mockImplementationOnce(async (writes) => {
      await store.write({ op: 'put', key: dataplane, labels: { team: 'shop' }, spec: {} });
      return await writeAll(writes);
    });
    await clock.advance(10_500);
    await vi.waitFor(() => expect(removal).toHaveBeenCalledTimes(1));
    expect(await isThere()).toBe(true);
    await clock.advance(2_000);
    await vi.waitFor(async () => expect(await isThere()).toBe(false));
    expect(removal).toHaveBeenCalledTimes(2);
    await end();
  });

  it.each([
    ['back', -2 * 3_600_000],
    ['forward', 2 * 3_600_000],
  ])('removes one after the grace when the date was set %s before its stream ended', async (_, moved) => {
    const { clock, insight, isThere, run, end } = await setUp();
    run();
    await clock.advance(3_600_000);
    clock.moveDate(moved);
    await insight(closed(3_600_000 + moved), { hold: 'released' });
    await clock.advance(9_900);
    expect(await isThere()).toBe(true);
    await clock.advance(200);
    await vi.waitFor(async () => expect(await isThere()).toBe(false));
    await end();
  });

  it.each([
    ['back', -2 * 3_600_000],
    ['forward', 2 * 3_600_000],
  ])('removes one after the grace when the date is set %s meanwhile', async (_, moved) => {
    const { clock, insight, isThere, run, end } = await setUp();
    run();
    await insight(closed(0), { hold: 'released' });
    await clock.advance(1_000);
    clock.moveDate(moved);
    await clock.advance(8_900);
    expect(await isThere()).toBe(true);
    await clock.advance(200);
    await vi.waitFor(async () => expect(await isThere()).toBe(false));
    await end();
  });

  it('removes one within a minute whose stream ended in the future by the clock of its replica', async () => {
    const { clock, insight, isThere, run, end } = await setUp();
    run();
    await insight(closed(3_600_000), { hold: 'released' });
    await clock.advance(59_000);
    expect(await isThere()).toBe(true);
    await clock.advance(2_000);
    await vi.waitFor(async () => expect(await isThere()).toBe(false));
    await end();
  });

  it('keeps one whose proxy comes back while it is removed', async () => {
    const { clock, insight, isThere, run, end, store } = await setUp();
    run();
    await insight(closed(0), { hold: 'released' });
    const writeAll = store.writeAll.bind(store);
    const removal = vi.spyOn(store, 'writeAll').mockImplementationOnce(async (writes) => {
      await insight(open, { hold: 'held' });
      return await writeAll(writes);
    });
    await clock.advance(200_000);
    expect(removal).toHaveBeenCalled();
    expect(await isThere()).toBe(true);
    await end();
  });
});
