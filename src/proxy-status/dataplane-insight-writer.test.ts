import { pino } from 'pino';
import { describe, expect, it, vi } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import type { ProxyConnectionFacts } from '../ads/proxy-events.ts';
import { isOnline, subscriptionsOf } from '../resource/online-status.ts';
import type { JsonObject } from '../resource/types.ts';
import { DataplaneInsightWriter } from './dataplane-insight-writer.ts';

const at = { mesh: 'shop', name: 'cart-1' };
const key = { type: 'DataplaneInsight', ...at };
const version = { kumaDp: { version: '3.0.0', unheard: 1 }, envoy: { version: '1.40.0', build: 'a/1.40.0' }, more: {} };
const facts = (streamId: string, name = 'cart-1', run = ''): ProxyConnectionFacts => ({
  ...{ streamId, mesh: 'shop', name, run, isZoneProxy: false, namespace: '', version },
  metadata: { features: ['feature-reuse-port'] },
});
const brings = (streamId: string, name = 'cart-1'): ProxyConnectionFacts => facts(streamId, name, 'run');
const type = 'Listener';

function setUp(store = new TinyStore(), instanceId = 'one') {
  const clock = new ManualClock();
  const log = pino({ level: 'silent' });
  const times = { flushIntervalMs: 10_000, generationIntervalMs: 150_000 };
  const writer = new DataplaneInsightWriter({ store, clock, log, instanceId, subscriptionLimit: 2, ...times });
  const stop = new AbortController();
  const running = writer.run(stop.signal);
  const end = (): Promise<void> => (stop.abort(), running);
  const row = () => store.get(key);
  const spec = async (): Promise<JsonObject> => (await row())?.spec ?? {};
  return { store, clock, writer, row, spec, end };
}

async function withDataplanes(store: TinyStore, ...names: string[]): Promise<void> {
  for (const name of names)
    await store.write({ op: 'put', key: { type: 'Dataplane', mesh: 'shop', name }, labels: {}, spec: {} });
}

describe('DataplaneInsightWriter', () => {
  it('stores an opened stream at once, owned by the Dataplane, with the versions that global can read', async () => {
    const { writer, store, row, end } = setUp();
    await withDataplanes(store, 'cart-1');
    writer.observe({ ...facts('s1'), kind: 'opened' });
    await vi.waitFor(async () => expect(await row()).toBeDefined());
    expect(await row()).toMatchObject({
      owner: { type: 'Dataplane', ...at },
      status: {},
      spec: {
        metadata: { features: ['feature-reuse-port'] },
        subscriptions: [
          {
            id: 's1',
            controlPlaneInstanceId: 'one',
            connectTime: '2026-01-01T00:00:00.000Z',
            status: { total: {}, cds: {}, eds: {}, lds: {}, rds: {} },
            version: { kumaDp: { version: '3.0.0' }, envoy: { version: '1.40.0', build: 'a/1.40.0' } },
          },
        ],
      },
    });
    expect(JSON.stringify(await row())).not.toContain('unheard');
    await end();
  });

  it('gives an insight the namespace of its Dataplane, also one that had none', async () => {
    const { writer, store, row, end } = setUp();
    await withDataplanes(store, 'cart-1');
    writer.observe({ ...facts('s1'), kind: 'opened' });
    await writer.flush();
    expect((await row())?.labels).toEqual({});
    writer.observe({ ...facts('s2'), namespace: 'ns', kind: 'opened' });
    await writer.flush();
    expect((await row())?.labels).toEqual({ 'k8s.kuma.io/namespace': 'ns', 'kuma.io/display-name': 'cart-1' });
    await end();
  });

  it('stores counts on the interval, those of many proxies in one batch, and nothing when nothing happened', async () => {
    const { writer, store, clock, spec, end } = setUp();
    const names = Array.from({ length: 40 }, (_, index) => `cart-${String(index)}`);
    await withDataplanes(store, ...names);
    const batch = vi.spyOn(store, 'writeBatch');
    for (const name of names) writer.observe({ ...facts(`s-${name}`, name), kind: 'opened' });
    await writer.flush();
    expect(batch).toHaveBeenCalledTimes(1);
    for (const name of names) {
      writer.observe({ ...facts(`s-${name}`, name), kind: 'sent', type });
      writer.observe({ ...facts(`s-${name}`, name), kind: 'accepted', type, standing: [] });
    }
    await clock.advance(9_000);
    expect(batch).toHaveBeenCalledTimes(1);
    await clock.advance(2_000);
    expect(batch).toHaveBeenCalledTimes(2);
    const counts = { responsesSent: '1', responsesAcknowledged: '1' };
    expect(subscriptionsOf(await spec())).toMatchObject([{ status: { total: counts, lds: counts } }]);
    await clock.advance(100_000);
    expect(batch).toHaveBeenCalledTimes(2);
    await end();
  });

  it('a counter counts what happens on its stream while it is open', async () => {
    const { writer, store, spec, end } = setUp();
    await withDataplanes(store, 'cart-1');
    const counter = writer.counter(facts('s1'));
    writer.observe({ ...facts('s1'), kind: 'opened' });
    counter.sent(type);
    counter.accepted(type);
    await writer.flush();
    counter.sent(type);
    await writer.flush();
    writer.observe({ ...facts('s1'), kind: 'closed' });
    await writer.flush();
    counter.sent(type);
    await writer.flush();
    const counts = { responsesSent: '2', responsesAcknowledged: '1' };
    expect(subscriptionsOf(await spec())).toMatchObject([{ status: { total: counts, lds: counts } }]);
    expect(writer.size).toBe(0);
    await end();
  });

  it('a counted acceptance ends what the proxy refused', async () => {
    const { writer, store, row, end } = setUp();
    await withDataplanes(store, 'cart-1');
    const counter = writer.counter(facts('s1'));
    writer.observe({ ...facts('s1'), kind: 'opened' });
    const refusals = [{ type, name: 'l', version: 'v', reason: 'no' }] as const;
    writer.observe({ ...facts('s1'), kind: 'refused', type, refusals, standing: refusals });
    counter.accepted(type);
    await writer.flush();
    expect((await row())?.status).toEqual({});
    await end();
  });

  it('keeps the newest subscriptions alone', async () => {
    const { writer, store, clock, spec, end } = setUp();
    await withDataplanes(store, 'cart-1');
    for (const id of ['s1', 's2', 's3']) {
      writer.observe({ ...facts(id), kind: 'opened' });
      await clock.advance(1);
      writer.observe({ ...facts(id), kind: 'closed' });
      await writer.flush();
    }
    expect(subscriptionsOf(await spec()).map(({ id }) => id)).toEqual(['s2', 's3']);
    expect(isOnline(await spec())).toBe(false);
    expect(writer.size).toBe(0);
    await end();
  });

  it('shows what a proxy refuses at once, and that it is over', async () => {
    const { writer, store, row, end } = setUp();
    await withDataplanes(store, 'cart-1');
    writer.observe({ ...facts('s1'), kind: 'opened' });
    const refusals = [{ type, name: 'self_inbound_dp_http', version: 'v', reason: 'Address already in use' }] as const;
    writer.observe({ ...facts('s1'), kind: 'refused', type, refusals, standing: refusals });
    await writer.flush();
    expect((await row())?.status).toEqual({
      proxyProblems: [
        {
          kind: 'refused',
          at: 'Listener self_inbound_dp_http',
          reason: 'Address already in use',
          policies: [],
          time: '2026-01-01T00:00:00.000Z',
        },
      ],
      proxyProblemCount: 1,
    });
    writer.observe({ ...facts('s1'), kind: 'accepted', type, standing: [] });
    await writer.flush();
    expect((await row())?.status).toEqual({});
    await end();
  });

  it.each([
    ['closed', {}],
    ['stopped', { isLost: true }],
  ])('does not show what a proxy refused when its stream is %s', async (how, status) => {
    const { writer, store, row, end } = setUp();
    await withDataplanes(store, 'cart-1');
    writer.observe({ ...facts('s1'), kind: 'opened' });
    const problems = [{ policy: null, field: 'networking.outbound[0]', reason: 'no such port' }];
    writer.observe({ ...facts('s1'), kind: 'problems', problems });
    await writer.flush();
    expect((await row())?.status).toMatchObject({ proxyProblemCount: 1 });
    if (how === 'closed') writer.observe({ ...facts('s1'), kind: 'closed' });
    await end();
    expect((await row())?.status).toEqual(status);
  });

  it('stores the Dataplanes of many proxies in one transaction, each with its insight', async () => {
    const { writer, store, end } = setUp();
    const all = vi.spyOn(store, 'writeAll');
    const names = Array.from({ length: 40 }, (_, index) => `cart-${String(index)}`);
    const bring = (name: string): Promise<void> =>
      writer.hold(brings(`s-${name}`, name), () => ({
        ...{ op: 'create', key: { type: 'Dataplane', mesh: 'shop', name }, labels: {}, spec: {} },
      }));
    await Promise.all(names.map(bring));
    expect(all).toHaveBeenCalledTimes(1);
    const rows = await store.list({ type: 'DataplaneInsight' });
    expect(rows.map(({ name, spec }) => [name, isOnline(spec)]).sort()).toEqual(names.map((name) => [name, true]).sort());
    await end();
  });

  it('stores a Dataplane with the stream that holds it, or neither', async () => {
    const { writer, store, row, spec, end } = setUp();
    const dataplane = { op: 'create', key: { type: 'Dataplane', ...at }, labels: {}, spec: { networking: {} } } as const;
    store.beforeWrite = (write) => (write.key.type === 'Dataplane' ? { result: 'rejected', message: 'no' } : undefined);
    await expect(writer.hold(brings('s1'), () => dataplane)).rejects.toMatchObject({ code: 'invalid' });
    expect(await row()).toBeUndefined();
    store.beforeWrite = () => undefined;
    await writer.hold(brings('s2'), (stored) => (stored === undefined ? dataplane : null));
    expect((await row())?.status).toEqual({ hold: 'held', run: 'run' });
    expect(isOnline(await spec())).toBe(true);
    writer.release(facts('s2'), 'released');
    await writer.flush();
    expect((await row())?.status).toEqual({ hold: 'released', run: 'run' });
    await end();
  });

  it('does not hold a Dataplane that was there before', async () => {
    const { writer, store, row, end } = setUp();
    await withDataplanes(store, 'cart-1');
    await writer.hold(brings('s1'), () => null);
    writer.release(facts('s1'), 'released');
    await writer.flush();
    expect((await row())?.status).toEqual({ run: 'run' });
    await end();
  });

  it('leaves a proxy that moved to another replica to that', async () => {
    const store = new TinyStore();
    const [one, two] = [setUp(store, 'one'), setUp(store, 'two')];
    const dataplane = { op: 'create', key: { type: 'Dataplane', ...at }, labels: {}, spec: {} } as const;
    await one.writer.hold(brings('s1'), () => dataplane);
    await two.clock.advance(1_000);
    await two.writer.hold(brings('s2'), () => null);
    one.writer.release(facts('s1'), 'released');
    await one.writer.flush();
    expect((await one.row())?.status).toEqual({ hold: 'held', run: 'run' });
    expect(subscriptionsOf(await one.spec()).map(({ id, disconnectTime }) => [id, disconnectTime === undefined])).toEqual([
      ['s1', false],
      ['s2', true],
    ]);
    await Promise.all([one.end(), two.end()]);
  });

  it('ends a stream whose proxy opened a newer one at another replica, and no other', async () => {
    const store = new TinyStore();
    await withDataplanes(store, 'cart-1', 'cart-2');
    const [one, two] = [setUp(store, 'one'), setUp(store, 'two')];
    const superseded: unknown[] = [];
    const stop = new AbortController();
    const following = Promise.all(
      [one, two].map(({ writer }) => writer.follow((of, streamId) => void superseded.push([of.name, streamId]), stop.signal)),
    );
    for (const name of ['cart-1', 'cart-2']) one.writer.observe({ ...facts(`one-${name}`, name), kind: 'opened' });
    await one.writer.flush();
    await two.clock.advance(1_000);
    two.writer.observe({ ...facts('two-cart-1'), kind: 'opened' });
    await two.writer.flush();
    await vi.waitFor(() => expect(superseded).toEqual([['cart-1', 'one-cart-1']]));
    one.writer.observe({ ...facts('one-cart-1'), kind: 'closed' });
    for (const { writer } of [one, two]) await writer.flush();
    const read = vi.spyOn(store, 'getMany');
    two.writer.observe({ ...facts('two-cart-1'), kind: 'sent', type });
    await two.writer.flush();
    // Rows that this process wrote are not read for that.
    expect(read).toHaveBeenCalledTimes(1);
    expect(superseded).toHaveLength(1);
    stop.abort();
    await Promise.all([following, one.end(), two.end()]);
  });

  it('opens a subscription again that another process closed while its stream lives', async () => {
    const { writer, store, row, spec, end } = setUp();
    await withDataplanes(store, 'cart-1');
    const stop = new AbortController();
    const following = writer.follow(() => undefined, stop.signal);
    writer.observe({ ...facts('s1'), kind: 'opened' });
    await vi.waitFor(async () => expect(isOnline(await spec())).toBe(true));
    const { labels = {}, version: expectVersion = 0 } = (await row()) ?? {};
    const closed = subscriptionsOf(await spec()).map((one) => ({ ...one, disconnectTime: '2026-01-01T00:00:01Z' }));
    await store.write({ op: 'update', key, labels, spec: { subscriptions: closed }, expectVersion });
    expect(isOnline(await spec())).toBe(false);
    await vi.waitFor(async () => expect(isOnline(await spec())).toBe(true));
    stop.abort();
    await Promise.all([following, end()]);
  });

  it('describes the open stream, and then its end, when the date was set back before it opened', async () => {
    const { writer, clock, row, end } = setUp();
    const dataplane = { op: 'create', key: { type: 'Dataplane', ...at }, labels: {}, spec: {} } as const;
    const first = { ...facts('s1', 'cart-1', 'run-1'), isZoneProxy: true };
    const second = { ...facts('s2', 'cart-1', 'run-2'), isZoneProxy: true };
    await writer.hold(first, () => dataplane);
    writer.observe({ ...first, kind: 'listens', places: ['10.0.0.1:10001'] });
    await clock.advance(60_000);
    writer.release(first, 'released');
    await writer.flush();
    clock.moveDate(-3_600_000);
    await writer.hold(second, () => null);
    writer.observe({ ...second, kind: 'listens', places: ['10.0.0.2:10001'] });
    const refusals = [{ type, name: 'l', version: 'v', reason: 'no' }] as const;
    writer.observe({ ...second, kind: 'refused', type, refusals, standing: refusals });
    await writer.flush();
    const status = { run: 'run-2', listens: ['10.0.0.2:10001'] };
    expect((await row())?.status).toMatchObject({ ...status, hold: 'held', proxyProblemCount: 1 });
    await clock.advance(1_000);
    writer.release(second, 'released');
    await writer.flush();
    expect((await row())?.status).toEqual({ ...status, hold: 'released' });
    await end();
  });

  it('holds the Dataplanes of proxies when the control plane stops', async () => {
    const { writer, row, end } = setUp();
    await writer.hold(brings('s1'), () => ({ op: 'create', key: { type: 'Dataplane', ...at }, labels: {}, spec: {} }));
    await end();
    writer.release(facts('s1'), 'released');
    expect(isOnline((await row())?.spec ?? {})).toBe(false);
    expect((await row())?.status).toEqual({ hold: 'held', run: 'run' });
  });

  it('says of a Dataplane that stays whether its stream ended with the control plane, until there is another', async () => {
    const store = new TinyStore();
    await withDataplanes(store, 'cart-1', 'cart-2');
    const [one, two] = [setUp(store, 'one'), setUp(store, 'two')];
    const status = async (name: string) => (await store.get({ ...key, name }))?.status;
    for (const name of ['cart-1', 'cart-2']) one.writer.observe({ ...facts(name, name), kind: 'opened' });
    await one.writer.flush();
    const ended = one.end();
    // The port ends the streams of a control plane that stops, before or after its insights are closed.
    one.writer.observe({ ...facts('cart-1'), streamId: 'cart-1', kind: 'closed' });
    await ended;
    expect([await status('cart-1'), await status('cart-2')]).toEqual([{ isLost: true }, { isLost: true }]);
    await two.clock.advance(1_000);
    two.writer.observe({ ...facts('s2'), kind: 'opened' });
    await two.writer.flush();
    expect(await status('cart-1')).toEqual({});
    two.writer.observe({ ...facts('s2'), kind: 'closed' });
    await two.writer.flush();
    expect([isOnline(await two.spec()), await status('cart-1')]).toEqual([false, {}]);
    await two.end();
  });

  it('leaves no stream open that came while the control plane stopped', async () => {
    const { writer, store, clock, row, end } = setUp();
    const dataplane = { op: 'create', key: { type: 'Dataplane', ...at }, labels: {}, spec: {} } as const;
    // The database rejects a row with a missing owner so.
    store.beforeWrite = ({ key: { type: written } }) =>
      written === 'Dataplane' || [...store.rows.values()].some(({ type: held }) => held === 'Dataplane')
        ? undefined
        : { result: 'rejected', message: 'no owner' };
    const { promise: isSlow, resolve: goOn } = Promise.withResolvers<undefined>();
    const writeAll = store.writeAll.bind(store);
    const writing = vi.spyOn(store, 'writeAll').mockImplementationOnce(async (writes) => {
      await isSlow;
      return await writeAll(writes);
    });
    const holding = writer.hold(brings('s1'), () => dataplane);
    await vi.waitFor(() => expect(writing).toHaveBeenCalledTimes(1));
    const ended = end();
    await clock.advance(1);
    goOn(undefined);
    await Promise.all([holding, ended]);
    await expect(writer.hold(brings('s2'), () => null)).rejects.toMatchObject({ code: 'unavailable' });
    expect(subscriptionsOf((await row())?.spec ?? {})).toMatchObject([
      { id: 's1', disconnectTime: expect.any(String) as string },
    ]);
    expect((await row())?.status).toEqual({ hold: 'held', run: 'run' });
  });

  it('retries writes that the store could not take', async () => {
    const { writer, store, clock, spec, end } = setUp();
    await withDataplanes(store, 'cart-1');
    const read = vi.spyOn(store, 'getMany').mockRejectedValueOnce(new Error('gone'));
    writer.observe({ ...facts('s1'), kind: 'opened' });
    await writer.flush();
    expect(isOnline(await spec())).toBe(false);
    await clock.advance(11_000);
    expect(read).toHaveBeenCalledTimes(2);
    expect(isOnline(await spec())).toBe(true);
    await end();
  });
});
