// Tokens with a real database and its change feed: start, and a revocation that ends an open stream.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { following } from '../support/following.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createBaseDefaults } from '../../src/defaults/create-defaults.ts';
import type { ResourceStore } from '../../src/store/resource-store.ts';
import { adminTokenKey, createAdminToken } from '../../src/token/create-admin-token.ts';
import { TokenIssuer } from '../../src/token/token-issuer.ts';
import { zoneRealm } from '../../src/token/token-realm.ts';
import { TokenSecrets } from '../../src/token/token-secrets.ts';
import { TokenVerifier } from '../../src/token/token-verifier.ts';
import { watchZoneTokens, ZoneAuthenticator } from '../../src/token/zone-authenticator.ts';
import { base64, partOf } from './signing-secrets.ts';
import { openEmbeddedStore } from '../support/embedded-store.ts';

const stop = new AbortController();
let store: ResourceStore;

beforeAll(async () => {
  store = await openEmbeddedStore();
});

afterAll(async () => {
  stop.abort();
  await store.close();
});

it('a global admits the admin and a zone, and disconnects the zone when its token is revoked', async () => {
  const now = (): Date => new Date();
  const defaults = { skipMeshCreation: false, skipTenantResources: false, skipHostnameGenerators: true };
  await createBaseDefaults(store, { mode: 'global' }, defaults);
  await createAdminToken(store, { bootstrapAdminToken: true, now });

  const secrets = new TokenSecrets({ store, federated: false });
  const issuer = new TokenIssuer(secrets, now);
  const verifier = new TokenVerifier(secrets, now);
  const watch = watchZoneTokens({ secrets, verifier, clock: systemClock });
  const running = Promise.all([secrets.run(following, stop.signal), watch.run(stop.signal)]);

  const row = await store.get(adminTokenKey);
  const admin = await verifier.user(Buffer.from(String(row?.spec['data']), 'base64').toString('utf8'));
  expect(admin).toMatchObject({ ok: true, claims: { name: 'mesh-system:admin' } });
  const proxy = await issuer.dataplane({ name: 'web', mesh: 'default', tags: {}, type: '', workload: '' }, 60_000);
  expect(await verifier.dataplane(proxy, 'default')).toMatchObject({ ok: true });

  const token = await issuer.zone({ zone: 'east', scope: null }, 60_000);
  const zones = new ZoneAuthenticator(verifier, { type: 'zoneToken', allowWithoutToken: [] });
  const outcome = await zones.authenticate([`Bearer ${token}`], 'east');
  if (!outcome.ok || outcome.token === null) throw new Error('the zone was not let in');
  const { token: shown } = outcome;
  const ended = new Promise<string>((resolve) => watch.watch(shown, resolve));
  const key = { type: zoneRealm.secretType, mesh: '', name: zoneRealm.revocations };
  await store.write({ op: 'create', key, labels: {}, spec: { data: base64(String(partOf(token, 1)['jti'])) } });
  expect(await ended).toMatch(/^the token of zone "east" was revoked\./);

  stop.abort();
  await running;
});
