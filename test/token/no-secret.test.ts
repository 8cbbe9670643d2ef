// No refusal and no error contains a token, a part of a key or the content of a broken secret.
import { inspect } from 'node:util';
import { beforeEach, expect, it } from 'vitest';
import { MeridianError } from '../../src/base/errors.ts';
import { TokenIssuer } from '../../src/token/token-issuer.ts';
import { createAdminToken } from '../../src/token/create-admin-token.ts';
import { userRealm, zoneRealm } from '../../src/token/token-realm.ts';
import { TokenSecrets } from '../../src/token/token-secrets.ts';
import { TokenVerifier } from '../../src/token/token-verifier.ts';
import { ZoneAuthenticator } from '../../src/token/zone-authenticator.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { pairOf, partOf, putKey, putSecret, revoke } from './signing-secrets.ts';

let now: Date;
let store: TinyStore;
let issuer: TokenIssuer;
let zones: ZoneAuthenticator;
let token: string;

beforeEach(async () => {
  now = new Date('2026-01-01T00:00:00Z');
  store = new TinyStore();
  await putKey(store, zoneRealm, '1');
  const secrets = new TokenSecrets({ store, federated: false });
  issuer = new TokenIssuer(secrets, () => now);
  zones = new ZoneAuthenticator(new TokenVerifier(secrets, () => now), { type: 'zoneToken', allowWithoutToken: [] });
  token = await issuer.zone({ zone: 'east', scope: null }, 60_000);
});

function expectClean(shown: unknown): void {
  const text = inspect(shown, { depth: 10 });
  for (const secret of [...token.split('.'), ...pairOf('zone1').privatePem.split('\n').slice(1, -2)])
    expect(text).not.toContain(secret);
}

it('no refusal of a zone shows the token', async () => {
  const refusals: unknown[] = [];
  const refuse = async (values: readonly string[], zone = 'east'): Promise<void> => {
    const outcome = await zones.authenticate(values, zone);
    expect(outcome.ok).toBe(false);
    refusals.push(outcome);
  };
  const [head = '', body = '', signature = ''] = token.split('.');
  await refuse([`Bearer ${token}`], 'west');
  await refuse([token]);
  await refuse([`Bearer ${token}`, `Bearer ${token}`]);
  await refuse([`Bearer ${head}.${body}.${signature.slice(1)}`]);
  await refuse([`Bearer ${head.slice(1)}.${body}.${signature}`]);
  await refuse([`Bearer ${head}.${body.slice(1)}.${signature}`]);
  await revoke(store, zoneRealm, String(partOf(token, 1)['jti']));
  await refuse([`Bearer ${token}`]);
  now = new Date('2027-01-01T00:00:00Z');
  await refuse([`Bearer ${token}`]);
  await putSecret(store, zoneRealm, 'zone-token-signing-key-1', pairOf('zone1').privatePem.slice(0, -400));
  await refuse([`Bearer ${token}`]);
  expectClean(refusals);
});

it('no error of the issuer shows the key', async () => {
  const halfKey = pairOf('zone1').privatePem.slice(0, -400);
  await putSecret(store, zoneRealm, 'zone-token-signing-key-2', halfKey);
  await putSecret(store, userRealm, 'user-token-signing-key-1', halfKey);
  const failures = await Promise.allSettled([
    issuer.zone({ zone: 'east', scope: null }, 1),
    issuer.user({ name: 'ann', groups: [] }, 1),
    createAdminToken(store, { bootstrapAdminToken: true, now: () => now }),
  ]);
  for (const failure of failures) {
    expect(failure.status).toBe('rejected');
    if (failure.status === 'rejected') expect(failure.reason).toBeInstanceOf(MeridianError);
    expectClean(failure);
  }
});
