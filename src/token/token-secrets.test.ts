import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { following } from '../../test/support/following.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { CountingStore, followedSecrets, pairOf, putKey, revoke, settled } from '../../test/token/signing-secrets.ts';
import { dataplaneRealm, federatedZoneRealm, userRealm, zoneRealm } from './token-realm.ts';
import { TokenSecrets } from './token-secrets.ts';

let store: CountingStore;
let stop: AbortController;

beforeEach(() => {
  store = new CountingStore();
  stop = new AbortController();
});
afterEach(() => stop.abort());

describe('TokenSecrets', () => {
  it('reads a realm once while nothing changes', async () => {
    await putKey(store, userRealm, '1');
    const secrets = await followedSecrets(store, stop.signal);
    await Promise.all([secrets.of(userRealm), secrets.of(userRealm)]);
    const { reads } = store;
    for (let request = 0; request < 100; request++) await secrets.of(userRealm);
    expect(store.reads).toBe(reads);
  });

  it('caches nothing while it does not follow the feed', async () => {
    await putKey(store, userRealm, '1');
    const secrets = new TokenSecrets({ store, federated: false });
    await revoke(store, userRealm, 'a');
    expect([...(await secrets.of(userRealm)).revoked]).toEqual(['a']);
    await revoke(store, userRealm, 'b');
    expect([...(await secrets.of(userRealm)).revoked]).toEqual(['b']);
  });

  it('caches nothing after the feed has ended', async () => {
    await putKey(store, userRealm, '1');
    const secrets = await followedSecrets(store, stop.signal);
    await secrets.of(userRealm);
    stop.abort();
    await settled();
    await revoke(store, userRealm, 'late');
    expect([...(await secrets.of(userRealm)).revoked]).toEqual(['late']);
  });

  it('caches nothing while the feed has no connection, and caches again on the next connection', async () => {
    await putKey(store, userRealm, '1');
    const secrets = await followedSecrets(store, stop.signal);
    await secrets.of(userRealm);
    const reconnect = store.loseFeed();
    for (const id of ['a', 'b']) {
      await revoke(store, userRealm, id);
      await settled();
      expect([...(await secrets.of(userRealm)).revoked]).toEqual([id]);
    }
    reconnect();
    await settled();
    expect([...(await secrets.of(userRealm)).revoked]).toEqual(['b']);
    const { reads } = store;
    await secrets.of(userRealm);
    expect(store.reads).toBe(reads);
  });

  it('notifies its followers at intervals while the feed has no connection and the store answers', async () => {
    const clock = new ManualClock();
    const secrets = new TokenSecrets({ store, federated: false });
    void secrets.run({ ...following, clock }, stop.signal);
    await settled();
    let told = 0;
    for (const kind of ['zone', 'user'] as const) secrets.follow(kind, () => (told += 1));
    await clock.advance(60_000);
    expect(told).toBe(0);
    const reconnect = store.loseFeed();
    await clock.advance(10_000);
    expect(told).toBe(2);
    store.beforeRead = () => Promise.reject(new Error('away'));
    await clock.advance(60_000);
    expect(told).toBe(2);
    store.beforeRead = () => Promise.resolve();
    await clock.advance(10_000);
    expect(told).toBe(4);
    reconnect();
    await settled();
    expect(told).toBe(6);
    await clock.advance(60_000);
    expect(told).toBe(6);
  });

  it('reads changed keys and revocations again, and keeps other realms', async () => {
    const shop = dataplaneRealm('shop');
    for (const realm of [userRealm, zoneRealm, shop, dataplaneRealm('bank')]) await putKey(store, realm, '1', pairOf('any'));
    const secrets = await followedSecrets(store, stop.signal);
    const before = await secrets.of(shop);
    const others = [userRealm, zoneRealm, dataplaneRealm('bank')];
    const othersBefore = await Promise.all(others.map((realm) => secrets.of(realm)));
    await revoke(store, shop, 'x', ' y\n', '');
    await settled();
    expect(before.revoked.size).toBe(0);
    expect([...(await secrets.of(shop)).revoked]).toEqual(['x', 'y']);
    for (const [index, realm] of others.entries()) expect(await secrets.of(realm)).toBe(othersBefore[index]);
    await putKey(store, userRealm, '2', pairOf('any'));
    await settled();
    expect((await secrets.of(userRealm)).keys.signer().kid).toBe('2');
  });

  it('notifies followers only of their kind', async () => {
    const secrets = await followedSecrets(store, stop.signal);
    const notified: string[] = [];
    const unfollow = secrets.follow('zone', () => notified.push('zone'));
    secrets.follow('user', () => notified.push('user'));
    await putKey(store, zoneRealm, '1', pairOf('any'));
    await store.write({ op: 'put', key: { type: 'GlobalSecret', mesh: '', name: 'unrelated' }, labels: {}, spec: {} });
    await settled();
    expect(notified).toEqual(['zone']);
    unfollow();
    await revoke(store, zoneRealm, 'x');
    await settled();
    expect(notified).toEqual(['zone']);
  });

  it('follows the public keys in a federated zone', async () => {
    const secrets = await followedSecrets(store, stop.signal, true);
    expect(secrets.zoneRealm).toBe(federatedZoneRealm);
    expect((await secrets.of(secrets.zoneRealm)).keys.find('1')).toBeUndefined();
    await putKey(store, federatedZoneRealm, '1', pairOf('any'));
    await settled();
    expect((await secrets.of(secrets.zoneRealm)).keys.find('1')).toHaveProperty('publicKey');
  });

  it('does not cache a failed read', async () => {
    const secrets = await followedSecrets(store, stop.signal);
    store.beforeRead = () => Promise.reject(new Error('away'));
    await expect(secrets.of(userRealm)).rejects.toThrow('away');
    store.beforeRead = () => Promise.resolve();
    await expect(secrets.of(userRealm)).resolves.toBeDefined();
  });

  it('discards a read when a change arrives during it', async () => {
    const secrets = await followedSecrets(store, stop.signal);
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    store.beforeRead = () => held;
    const slow = secrets.of(userRealm);
    await settled();
    store.beforeRead = () => Promise.resolve();
    await revoke(store, userRealm, 'x');
    await settled();
    release();
    expect((await slow).revoked.size).toBe(0);
    expect([...(await secrets.of(userRealm)).revoked]).toEqual(['x']);
  });

  it('holds a bounded number of meshes', async () => {
    const secrets = await followedSecrets(store, stop.signal);
    for (let mesh = 0; mesh < 300; mesh++) await secrets.of(dataplaneRealm(`m${String(mesh)}`));
    const { reads } = store;
    await secrets.of(dataplaneRealm('m299'));
    expect(store.reads).toBe(reads);
    await secrets.of(dataplaneRealm('m0'));
    expect(store.reads).toBeGreaterThan(reads);
  });

  it('adds the public keys of the configuration', async () => {
    const publicKeys = { user: [{ kid: 'offline', key: pairOf('any').publicPem }] };
    const secrets = new TokenSecrets({ store, federated: false, publicKeys });
    expect((await secrets.of(userRealm)).keys.find('offline')).toHaveProperty('publicKey');
    expect((await secrets.of(zoneRealm)).keys.find('offline')).toBeUndefined();
  });
});
