import { beforeEach, describe, expect, it, vi } from 'vitest';
import {
  CountingStore,
  followedSecrets,
  pairOf,
  partOf,
  putKey,
  putSecret,
  revoke,
  timesAt,
} from '../../test/token/signing-secrets.ts';
import { signJwt } from './jwt.ts';
import { TokenIssuer } from './token-issuer.ts';
import { dataplaneRealm, federatedZoneRealm, userRealm, zoneRealm } from './token-realm.ts';
import { TokenSecrets } from './token-secrets.ts';
import { TokenVerifier } from './token-verifier.ts';

let now: Date;
let store: CountingStore;
let issuer: TokenIssuer;
let verifier: TokenVerifier;

beforeEach(async () => {
  now = new Date('2026-01-01T00:00:00Z');
  store = new CountingStore();
  for (const realm of [userRealm, zoneRealm, dataplaneRealm('shop')]) await putKey(store, realm, '1');
  const secrets = new TokenSecrets({ store, federated: false });
  issuer = new TokenIssuer(secrets, () => now);
  verifier = new TokenVerifier(secrets, () => now);
});

describe('TokenVerifier', () => {
  it('reads an issued token', async () => {
    const user = await issuer.user({ name: 'ann', groups: ['dev'] }, 60_000);
    expect(await verifier.user(user)).toMatchObject({ ok: true, claims: { name: 'ann', groups: ['dev'] } });
    const zone = await issuer.zone({ zone: 'east', scope: null }, 60_000);
    const expiresAt = new Date('2026-01-01T00:01:00Z');
    expect(await verifier.zone(zone)).toMatchObject({ ok: true, claims: { zone: 'east', scope: [] }, expiresAt });
    const claims = { name: 'web', mesh: 'shop', tags: { a: ['b'] }, type: '', workload: '' };
    expect(await verifier.dataplane(await issuer.dataplane(claims, 60_000), 'shop')).toMatchObject({ ok: true, claims });
  });

  it('reports that a token has expired, after a short leeway', async () => {
    const token = await issuer.user({ name: 'ann', groups: [] }, 60_000);
    now = new Date('2026-01-01T00:01:04Z');
    expect(await verifier.user(token)).toMatchObject({ ok: true });
    now = new Date('2026-01-01T00:01:05Z');
    expect(await verifier.user(token)).toEqual({ ok: false, reason: 'expired on 2026-01-01T00:01:00.000Z' });
  });

  it('accepts a token from a machine with a clock ten seconds ahead', async () => {
    const token = await issuer.user({ name: 'ann', groups: [] }, 60_000);
    now = new Date('2025-12-31T23:59:50Z');
    expect(await verifier.user(token)).toMatchObject({ ok: true });
    now = new Date('2025-12-31T23:59:49Z');
    expect(await verifier.user(token)).toMatchObject({
      ok: false,
      reason: expect.stringContaining('is not valid before') as unknown,
    });
  });

  it('checks the signature of a forged token once, until the keys change', async () => {
    const token = await issuer.user({ name: 'ann', groups: [] }, 60_000);
    const [head = '', claims = ''] = token.split('.');
    const forged = `${head}.${claims}.${Buffer.alloc(256).toString('base64url')}`;
    const check = vi.spyOn(crypto.subtle, 'verify');
    const stop = new AbortController();
    const secrets = await followedSecrets(store, stop.signal);
    verifier = new TokenVerifier(secrets, () => now);
    try {
      const refusal = { ok: false, reason: 'does not have the signature of key 1' };
      for (let n = 0; n < 5; n += 1) expect(await verifier.user(forged)).toEqual(refusal);
      expect(check).toHaveBeenCalledTimes(1);
      expect(await verifier.user(token)).toMatchObject({ ok: true });
      await putKey(store, userRealm, '2');
      await vi.waitFor(async () => expect((await secrets.of(userRealm)).keys.find('2')).toBeDefined());
      expect(await verifier.user(forged)).toEqual(refusal);
      expect(check).toHaveBeenCalledTimes(3);
    } finally {
      check.mockRestore();
      stop.abort();
    }
  });

  it('reports that a token was revoked', async () => {
    const token = await issuer.zone({ zone: 'east', scope: null }, 60_000);
    await revoke(store, zoneRealm, 'other', String(partOf(token, 1)['jti']));
    expect(await verifier.zone(token)).toEqual({ ok: false, reason: 'was revoked' });
  });

  it('reads the revocation list of its realm only', async () => {
    const token = await issuer.zone({ zone: 'east', scope: null }, 60_000);
    await revoke(store, userRealm, String(partOf(token, 1)['jti']));
    expect(await verifier.zone(token)).toMatchObject({ ok: true });
  });

  it('reports that a key is unknown or unreadable', async () => {
    const sign = (kid: string) => signJwt({ ...timesAt(now), Name: 'ann' }, kid, pairOf('user1').privateKey);
    expect(await verifier.user(await sign('3'))).toEqual({ ok: false, reason: 'is signed by key 3, which is not known here' });
    await putSecret(store, userRealm, 'user-token-signing-key-3', 'nonsense');
    expect(await verifier.user(await sign('3'))).toMatchObject({
      reason: expect.stringMatching(/^cannot be checked: GlobalSecret user-token-signing-key-3 holds no PEM/) as unknown,
    });
  });

  it('accepts a dataplane token in its mesh only, even when two meshes share a key', async () => {
    await putKey(store, dataplaneRealm('bank'), '1', pairOf('dataplane1'));
    const token = await issuer.dataplane({ name: '', mesh: 'shop', tags: {}, type: '', workload: '' }, 60_000);
    expect(await verifier.dataplane(token, 'bank')).toEqual({ ok: false, reason: 'is for mesh "shop", not for "bank"' });
  });

  it('accepts a token as its kind only, even when two kinds share a key', async () => {
    for (const realm of [userRealm, zoneRealm, dataplaneRealm('shop')]) await putKey(store, realm, '1', pairOf('shared'));
    const user = await issuer.user({ name: 'mesh-system:admin', groups: [] }, 60_000);
    const zone = await issuer.zone({ zone: 'east', scope: null }, 60_000);
    const proxy = await issuer.dataplane({ name: 'mesh-system:admin', mesh: 'shop', tags: {}, type: '', workload: '' }, 60_000);
    for (const token of [zone, proxy]) expect(await verifier.user(token)).toMatchObject({ ok: false });
    for (const token of [user, proxy]) expect(await verifier.zone(token)).toMatchObject({ ok: false });
    for (const token of [user, zone]) expect(await verifier.dataplane(token, 'shop')).toMatchObject({ ok: false });
  });

  it('checks zone tokens in a federated zone with the public key', async () => {
    const token = await issuer.zone({ zone: 'east', scope: null }, 60_000);
    const zoneStore = new CountingStore();
    await putKey(zoneStore, federatedZoneRealm, '1');
    const secrets = new TokenSecrets({ store: zoneStore, federated: true });
    expect(await new TokenVerifier(secrets, () => now).zone(token)).toMatchObject({ ok: true, claims: { zone: 'east' } });
  });

  it('rejects when the store is unavailable', async () => {
    const token = await issuer.user({ name: 'ann', groups: [] }, 60_000);
    store.list = () => Promise.reject(new Error('away'));
    await expect(verifier.user(token)).rejects.toThrow('away');
  });
});
