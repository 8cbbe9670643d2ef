// The rows that say where Envoys have opened the sections of their Dataplanes, and whether they demand TLS.
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import type { ProxyConnectionFacts } from '../ads/proxy-events.ts';
import { hasDemandedTls } from '../policy/demanded-tls.ts';
import { openedIn, sectionPlaces } from '../resource/section-places.ts';
import type { JsonObject } from '../resource/types.ts';
import { DataplaneStatusWriter } from './dataplane-status-writer.ts';

const key = { type: 'Dataplane', mesh: 'shop', name: 'cart-1' };
const facts: ProxyConnectionFacts = {
  ...{ streamId: 's', mesh: 'shop', name: 'cart-1', run: '', isZoneProxy: false, namespace: '', version: {}, metadata: {} },
};
const specAt = (port: number): JsonObject => ({ networking: { address: '10.0.0.1', inbound: [{ name: 'main', port }] } });
let store: TinyStore;
let clock: ManualClock;
let writer: DataplaneStatusWriter;
let stop: AbortController;
let running: Promise<void>;

beforeEach(async () => {
  store = new TinyStore();
  clock = new ManualClock();
  writer = new DataplaneStatusWriter({ store, clock, log: pino({ level: 'silent' }) });
  stop = new AbortController();
  running = writer.run(stop.signal);
  await put(1);
});
afterEach(async () => {
  stop.abort();
  await running;
});

async function put(port: number): Promise<void> {
  await store.write({ op: 'put', key, labels: {}, spec: specAt(port) });
}

/**
 * An Envoy has opened the port.
 * @param version the version of the row as its control plane knows it; by default one that the row does not have
 */
function open(port: number, name = 'cart-1', { isFirst = false, version = -1 } = {}): void {
  const places = sectionPlaces({ spec: specAt(port) });
  const row = { version, creationTime: new Date(0) };
  writer.observe({ ...facts, name, kind: 'moved', open: places, next: places, row, isFirst });
}
const ports = async (): Promise<unknown> => openedIn((await store.get(key))?.status ?? {})?.map(({ bound }) => bound.port);

it('a row says where its sections were open last, and a write of the Dataplane leaves it', async () => {
  open(1);
  await vi.waitFor(async () => expect(await ports()).toEqual([1]));
  await put(2);
  expect(await ports()).toEqual([1]);
  await clock.advance(1_000);
  open(2);
  await vi.waitFor(async () => expect(await ports()).toEqual([2, 1]));
});

it('a row says whether its Envoy demands TLS, beside its places, and a write of the Dataplane leaves it', async () => {
  const demand = (demandsTls: boolean): void => writer.observe({ ...facts, kind: 'demands TLS', demandsTls });
  const says = async (isDemanded: boolean): Promise<void> => {
    await vi.waitFor(async () => expect(hasDemandedTls({ status: (await store.get(key))?.status ?? {} })).toBe(isDemanded));
    expect(await ports()).toEqual([1]);
  };
  open(1, 'cart-1', { isFirst: true });
  demand(true);
  await says(true);
  await put(1);
  await says(true);
  await clock.advance(1_000);
  demand(false);
  await says(false);
});

it('a row of a known version is written without a read, and keeps its spec, its labels and the rest of its status', async () => {
  const others = { labels: { app: 'cart' }, spec: specAt(1), syncVersion: 'v1' };
  await store.write({ op: 'put', key, ...others, status: { brought: { roles: [] } } });
  const read = vi.spyOn(store, 'getMany');
  open(1, 'cart-1', { version: 1 });
  await vi.waitFor(async () => expect(await ports()).toEqual([1]));
  expect(await store.get(key)).toMatchObject({ ...others, status: { brought: { roles: [] } }, version: 2 });
  expect(read).not.toHaveBeenCalled();
});

it('a row that was made again gets the places of its own sections, though it has the version of the one before it', async () => {
  const old = { version: 0, creationTime: new Date(-1) };
  const places = sectionPlaces({ spec: { networking: { address: '10.0.0.1', inbound: [{ name: 'gone', port: 9 }] } } });
  writer.observe({ ...facts, kind: 'moved', open: places, next: places, row: old, isFirst: false });
  await vi.waitFor(async () => {
    await clock.advance(1_000);
    expect(await ports()).toEqual([]);
  });
});

it('a row that says it already is not written, nor one that is gone', async () => {
  open(1);
  await vi.waitFor(async () => expect(await ports()).toEqual([1]));
  const read = vi.spyOn(store, 'getMany');
  open(1);
  open(1, 'gone');
  await vi.waitFor(async () => {
    await clock.advance(1_000);
    expect(read).toHaveBeenCalled();
  });
  await clock.advance(1_000);
  expect((await store.get(key))?.version).toBe(1);
});

it('a row that others write meanwhile is read again, and an error of the store is tried again', async () => {
  vi.spyOn(store, 'getMany').mockRejectedValueOnce(new Error('away'));
  let isFirst = true;
  store.beforeWrite = (write) => {
    if (write.op === 'put' || !isFirst) return undefined;
    isFirst = false;
    return { result: 'conflict' };
  };
  open(1);
  await vi.waitFor(async () => {
    await clock.advance(1_000);
    expect(await ports()).toEqual([1]);
  });
  expect(isFirst).toBe(false);
});

it('of many proxies that join together, first places wait until no more come, and a move does not', async () => {
  const names: string[] = [];
  store.beforeWrite = ({ op, key: { name } }) => {
    if (op === 'status') names.push(name);
    return undefined;
  };
  for (let at = 1; at <= 20; at += 1) open(1, `new-${String(at)}`, { isFirst: true });
  open(1, 'cart-1', { version: 0 });
  await vi.waitFor(async () => expect(await ports()).toEqual([1]));
  open(1, 'new-21', { isFirst: true });
  expect(names).toEqual(['cart-1']);
  await vi.waitFor(async () => {
    await clock.advance(1_000);
    expect(names).toHaveLength(22);
  });
});
