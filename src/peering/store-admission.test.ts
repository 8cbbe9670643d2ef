import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { createLogger } from '../base/log.ts';
import { acceptPeer, zoneStoreKey } from './peer-identity.ts';
import { ANSWER_MS, VERDICT_MS } from './live-streams.ts';
import { StoreAdmission } from './store-admission.ts';

const zone = { type: 'Zone', mesh: '', name: 'east' };
const insight = { type: 'ZoneInsight', mesh: '', name: 'east' };

const log = createLogger('silent');

let clock: ManualClock;
let store: TinyStore;
let stores: StoreAdmission;
let stop: AbortController;
let running: Promise<void>;
let accepted: string[];

beforeEach(async () => {
  clock = new ManualClock();
  store = new TinyStore();
  await store.write({ op: 'create', key: zone, labels: {}, spec: {} });
  stores = new StoreAdmission({ store, instanceId: 'global-1', log, clock });
  accepted = [];
  stores.onAccepted((name, storeId) => accepted.push(`${name} ${storeId}`));
  stop = new AbortController();
  running = stores.run(stop.signal);
});

afterEach(async () => {
  stop.abort();
  await running;
});

describe('the store of a zone', () => {
  it('is the first one that connects, also of many at the same time', async () => {
    const ids = Array.from({ length: 8 }, (_, index) => `store-${String(index)}`);
    const answers = await Promise.all(ids.map((id) => stores.admit('east', id)));
    expect(answers.filter((answer) => answer === null)).toHaveLength(1);
    const first = ids[answers.indexOf(null)] ?? '';
    expect(await stores.admit('east', first)).toBeNull();
  });

  it('is owned by its Zone, and is removed with the Zone', async () => {
    await stores.admit('east', 'a');
    expect((await store.get(zoneStoreKey('east')))?.owner).toEqual(zone);
  });

  it.each([['b'], [null]])('excludes another one (%j) with a remedy, and only the refusal is written', async (other) => {
    await stores.admit('east', 'a');
    const before = store.rows.size;
    expect(await stores.admit('east', other)).toMatch(/zone "east" belongs to store a.*meridian zone adopt east/);
    expect(store.rows.size).toBe(before);
    await vi.waitFor(() => expect(stores.conflicts()).toEqual(['east']));
    expect(await stores.admit('east', 'a')).toBeNull();
  });

  it('may be any store for a zone that sends no store id', async () => {
    expect(await stores.admit('east', null)).toBeNull();
    expect(store.rows.size).toBe(1);
  });

  it('cannot replace a connected zone without a store id, and can after that zone has disconnected', async () => {
    const live = { id: 's', globalInstanceId: 'global-1', connectTime: '2026-01-01T00:00:00Z' };
    await store.write({ op: 'create', key: insight, labels: {}, spec: { subscriptions: [live] } });
    expect(await stores.admit('east', 'a')).toMatch(/is served by a connected control plane without a store id/);
    expect(await stores.admit('east', null)).toBeNull();
    await vi.waitFor(() => expect(stores.conflicts()).toEqual(['east']));
    const gone = { ...live, disconnectTime: '2026-01-01T00:01:00Z' };
    await store.write({ op: 'put', key: insight, labels: {}, spec: { subscriptions: [gone] } });
    expect(await stores.admit('east', 'a')).toBeNull();
    expect(await stores.admit('east', null)).not.toBeNull();
  });

  it('is not refused because of an open subscription of a killed instance', async () => {
    await leaveOpen('s');
    expect(await stores.admit('east', 'a')).toMatch(/was asked whether it still is.*within 10 s/);
    expect(stores.conflicts()).toEqual([]);
    await clock.advance(ANSWER_MS - 1);
    expect(await stores.admit('east', 'a')).not.toBeNull();
    await clock.advance(1);
    expect(await stores.admit('east', 'a')).toBeNull();
    expect(await stores.admit('east', 'a')).toBeNull();
    expect(await stores.admit('east', 'b')).toMatch(/belongs to store a/);
  });

  it('is refused while another store has a stream on another instance, which confirms it at every question', async () => {
    await leaveOpen('s');
    const stopOther = runOther('global-0');
    for (let round = 0; round < 3; round += 1) {
      await stores.admit('east', 'a');
      await vi.waitFor(async () => expect(await stores.admit('east', 'a')).toMatch(/is served by a connected control plane/));
      await clock.advance(VERDICT_MS);
    }
    await stopOther();
  });

  it('is refused when another instance opened a stream after the question', async () => {
    await leaveOpen('s');
    await stores.admit('east', 'a');
    await clock.advance(ANSWER_MS);
    await leaveOpen('later');
    expect(await stores.admit('east', 'a')).toMatch(/was asked/);
    const stopOther = runOther('global-0');
    await vi.waitFor(async () => expect(await stores.admit('east', 'a')).toMatch(/is served by a connected control plane/));
    await stopOther();
  });

  it('changes when another store is accepted, and listeners are notified', async () => {
    await stores.admit('east', 'a');
    await stores.admit('east', 'b');
    await acceptPeer(store, zoneStoreKey('east'), undefined, zone);
    await vi.waitFor(() => expect(accepted.at(-1)).toBe('east b'));
    expect(await stores.admit('east', 'b')).toBeNull();
    expect(await stores.admit('east', 'a')).toMatch(/belongs to store b/);
  });

  it('is removed on request, and then the next store that connects is the first', async () => {
    await stores.admit('east', 'a');
    await acceptPeer(store, zoneStoreKey('east'), '', zone);
    expect(await stores.admit('east', 'c')).toBeNull();
    expect(await stores.admit('east', 'a')).not.toBeNull();
  });

  it('is not stored for a Zone that was deleted meanwhile', async () => {
    store.beforeWrite = (write) => (write.op === 'create' ? { result: 'rejected', message: 'no owner' } : undefined);
    await expect(stores.admit('east', 'a')).rejects.toThrow(/was removed; connect again/);
  });
});

/** A subscription to the instance `global-0`, open in the row. */
async function leaveOpen(id: string): Promise<void> {
  const subscriptions = [{ id, globalInstanceId: 'global-0', connectTime: '2026-01-01T00:00:00Z' }];
  await store.write({ op: 'put', key: insight, labels: {}, spec: { subscriptions } });
}

/** Another replica on the same store. Returns a function that ends it. */
function runOther(instanceId: string): () => Promise<void> {
  const end = new AbortController();
  const other = new StoreAdmission({ store, instanceId, log, clock }).run(end.signal);
  return async () => {
    end.abort();
    await other;
  };
}
