import { describe, expect, it } from 'vitest';
import { TinyStore } from '../../test/support/tiny-store.ts';
import {
  acceptedPeer,
  acceptPeer,
  currentRefusal,
  lastRefusal,
  ownStoreId,
  ownStoreKey,
  recordRefusal,
  zoneOfStoreKey,
  zoneStoreKey,
} from './peer-identity.ts';

const key = zoneStoreKey('east');
const owner = { type: 'Zone', mesh: '', name: 'east' };
const at = (seconds: number): Date => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds));

async function storeWith(id: string): Promise<TinyStore> {
  const store = new TinyStore();
  await store.write({ op: 'create', key, labels: {}, spec: { config: id }, syncVersion: 'v' });
  return store;
}

async function refuse(store: TinyStore, id: string, now: Date): Promise<void> {
  const row = await store.get(key);
  if (row !== undefined) await recordRefusal(store, row, id, now);
}

describe('the id of a store', () => {
  it('is created once, also when two processes create it at the same time', async () => {
    const store = new TinyStore();
    const [one, other] = await Promise.all([ownStoreId(store), ownStoreId(store)]);
    expect(one).toMatch(/^[0-9a-f-]{36}$/);
    expect(other).toBe(one);
    expect(await ownStoreId(store)).toBe(one);
  });

  it('is created again when its row is empty', async () => {
    const store = new TinyStore();
    await store.write({ op: 'create', key: ownStoreKey, labels: {}, spec: {} });
    expect(await ownStoreId(store)).toMatch(/^[0-9a-f-]{36}$/);
  });
});

it('has a row for each zone, whose name gives the zone', () => {
  expect(zoneOfStoreKey(zoneStoreKey('east'))).toBe('east');
  expect(zoneOfStoreKey({ type: 'Config', mesh: '', name: 'kuma-cluster-id' })).toBeNull();
  expect(zoneOfStoreKey({ type: 'Secret', mesh: '', name: 'zone-store.east' })).toBeNull();
});

describe('a refusal', () => {
  it('keeps the accepted id and the wire version of the row, and counts as a conflict for a minute', async () => {
    const store = await storeWith('ours');
    await refuse(store, 'theirs', at(0));
    const row = await store.get(key);
    expect(acceptedPeer(row)).toBe('ours');
    expect(row?.syncVersion).toBe('v');
    expect(currentRefusal(row, at(59))).toEqual({ id: 'theirs', time: at(0) });
    expect(currentRefusal(row, at(60))).toBeNull();
    // The clock of another replica may be a little ahead. One that is further ahead was set back.
    expect(currentRefusal(row, at(-59))).not.toBeNull();
    expect(currentRefusal(row, at(-60))).toBeNull();
    expect(lastRefusal(row)?.id).toBe('theirs');
  });

  it('is written at most once in 20 seconds for the same peer, and at once for another peer', async () => {
    const store = await storeWith('ours');
    for (let second = 0; second < 45; second += 3) await refuse(store, 'theirs', at(second));
    expect((await store.get(key))?.version).toBe(3);
    await refuse(store, 'others', at(45));
    expect(lastRefusal(await store.get(key))?.id).toBe('others');
  });

  it('is ignored when it is malformed', async () => {
    const store = await storeWith('ours');
    for (const refused of [{ id: 5, time: 'x' }, 'x', { id: 'a', time: 'never' }]) {
      await store.write({ op: 'put', key, labels: {}, spec: { config: 'ours' }, status: { refused } });
      expect(lastRefusal(await store.get(key))).toBeNull();
    }
  });
});

describe('acceptance', () => {
  it('replaces the known peer by the refused one, and ends the conflict', async () => {
    const store = await storeWith('ours');
    await refuse(store, 'theirs', at(0));
    expect(await acceptPeer(store, key, undefined)).toEqual({ id: 'theirs', before: 'ours' });
    const row = await store.get(key);
    expect(acceptedPeer(row)).toBe('theirs');
    expect(lastRefusal(row)).toBeNull();
    expect(row?.syncVersion).toBe('');
  });

  it('takes a given id, and removes the known id for a peer without an id', async () => {
    const store = await storeWith('ours');
    expect(await acceptPeer(store, key, 'named')).toEqual({ id: 'named', before: 'ours' });
    expect(await acceptPeer(store, key, '')).toEqual({ id: '', before: 'named' });
    expect(await store.get(key)).toBeUndefined();
  });

  it('fails with a reason when no peer was refused', async () => {
    const store = await storeWith('ours');
    await expect(acceptPeer(store, key, undefined)).rejects.toThrow(/no other one was refused/);
    await expect(acceptPeer(new TinyStore(), key, 'named')).rejects.toThrow(/none is known here yet/);
  });

  it('creates the row when the owner is known', async () => {
    const store = new TinyStore();
    await store.write({ op: 'create', key: owner, labels: {}, spec: {} });
    expect(await acceptPeer(store, key, 'named', owner)).toEqual({ id: 'named', before: null });
    expect((await store.get(key))?.owner).toEqual(owner);
  });

  it('is decided again when another writer changes the row at the same time', async () => {
    const store = await storeWith('ours');
    let raced = false;
    store.beforeWrite = (write) => {
      if (raced || write.op !== 'update') return undefined;
      raced = true;
      return { result: 'conflict' };
    };
    expect(await acceptPeer(store, key, 'named')).toEqual({ id: 'named', before: 'ours' });
  });
});
