// Changes while the control plane runs: revocations, new keys, deleted keys, zones with open streams.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TokenIssuer } from '../../src/token/token-issuer.ts';
import { dataplaneRealm, federatedZoneRealm, userRealm, zoneRealm } from '../../src/token/token-realm.ts';
import { TokenVerifier } from '../../src/token/token-verifier.ts';
import type { TokenWatch } from '../../src/token/token-watch.ts';
import { watchZoneTokens, ZoneAuthenticator, type ZoneToken } from '../../src/token/zone-authenticator.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { CountingStore, followedSecrets, pairOf, partOf, putKey, revoke, settled } from './signing-secrets.ts';

const HOUR_MS = 3_600_000;
let store: CountingStore;
let clock: ManualClock;
let stop: AbortController;
let issuer: TokenIssuer;
let verifier: TokenVerifier;
let watch: TokenWatch<ZoneToken>;
let zones: ZoneAuthenticator;

beforeEach(async () => {
  store = new CountingStore();
  clock = new ManualClock();
  stop = new AbortController();
  for (const realm of [userRealm, zoneRealm, dataplaneRealm('shop')]) await putKey(store, realm, '1');
  const secrets = await followedSecrets(store, stop.signal);
  issuer = new TokenIssuer(secrets, () => clock.now());
  verifier = new TokenVerifier(secrets, () => clock.now());
  watch = watchZoneTokens({ secrets, verifier, clock });
  zones = new ZoneAuthenticator(verifier, { type: 'zoneToken', allowWithoutToken: ['old-kuma'] });
  void watch.run(stop.signal);
});

afterEach(() => stop.abort());

const idOf = (token: string): string => String(partOf(token, 1)['jti']);
const zoneToken = (zone: string): Promise<string> => issuer.zone({ zone, scope: null }, 10 * HOUR_MS);

async function removeKey(kid: string): Promise<void> {
  const key = { type: 'GlobalSecret', mesh: '', name: `${zoneRealm.keyName}-${kid}` };
  await store.write({ op: 'delete', key });
}

/** Lets a zone in, and returns the reasons that end its stream. */
async function open(zone: string, token: string): Promise<string[]> {
  const outcome = await zones.authenticate([`Bearer ${token}`], zone);
  if (!outcome.ok || outcome.token === null) throw new Error('the zone was not let in');
  const ended: string[] = [];
  watch.watch(outcome.token, (reason) => ended.push(reason));
  await settled();
  return ended;
}

/** Time for real signature checks and the events after them. */
async function until(isTrue: () => boolean): Promise<void> {
  await expect.poll(isTrue).toBe(true);
}

describe('keys that rotate', () => {
  it('keep old tokens valid, and the newest key signs', async () => {
    const before = await zoneToken('east');
    await putKey(store, zoneRealm, '2');
    await settled();
    const after = await zoneToken('east');
    expect([before, after].map((token) => partOf(token, 0)['kid'])).toEqual(['1', '2']);
    for (const token of [before, after]) expect(await verifier.zone(token)).toMatchObject({ ok: true });
  });

  it('invalidate their tokens when they are removed', async () => {
    const before = await zoneToken('east');
    await putKey(store, zoneRealm, '2');
    await removeKey('1');
    await settled();
    expect(await verifier.zone(before)).toEqual({ ok: false, reason: 'is signed by key 1, which is not known here' });
    expect(await verifier.zone(await zoneToken('east'))).toMatchObject({ ok: true });
  });

  it('end the streams of tokens whose key was replaced under the same name', async () => {
    const ended = await open('east', await zoneToken('east'));
    await putKey(store, zoneRealm, '1', pairOf('another'));
    await until(() => ended.length > 0);
    expect(ended[0]).toContain('the token of zone "east" does not have the signature of key 1.');
  });
});

describe('a revocation', () => {
  it('applies to the next request', async () => {
    const token = await issuer.user({ name: 'ann', groups: [] }, HOUR_MS);
    expect(await verifier.user(token)).toMatchObject({ ok: true });
    await revoke(store, userRealm, 'x', idOf(token));
    await settled();
    expect(await verifier.user(token)).toEqual({ ok: false, reason: 'was revoked' });
    await revoke(store, userRealm, 'x');
    await settled();
    expect(await verifier.user(token)).toMatchObject({ ok: true });
  });

  it('ends the open streams of that token and of no other', async () => {
    const tokens = { east: await zoneToken('east'), west: await zoneToken('west') };
    const east = await open('east', tokens.east);
    const west = await open('west', tokens.west);
    await revoke(store, zoneRealm, idOf(tokens.east));
    await until(() => east.length > 0);
    expect(east[0]).toMatch(/^the token of zone "east" was revoked\. .*meridian generate zone-token --zone east/);
    expect(west).toEqual([]);
    const again = await zones.authenticate([`Bearer ${tokens.east}`], 'east');
    expect(again).toMatchObject({ ok: false, reason: east[0] });
    expect(await zones.authenticate([`Bearer ${await zoneToken('east')}`], 'east')).toMatchObject({ ok: true });
  });
});

describe('time', () => {
  it('ends a stream whose token expires while it is open', async () => {
    const ended = await open('east', await zoneToken('east'));
    await until(() => clock.sleepers > 0);
    await clock.advance(10 * HOUR_MS + 4_000);
    expect(ended).toEqual([]);
    await clock.advance(1_000);
    await until(() => ended.length > 0);
    expect(ended[0]).toContain('the token of zone "east" expired on 2026-01-01T10:00:00.000Z.');
  });
});

describe('zones', () => {
  const names = ['east', 'west', 'east-1', 'eas', 'old-kuma'];

  it('are refused with the token of another zone', async () => {
    for (const owner of names) {
      const token = await zoneToken(owner);
      for (const caller of names)
        expect(await zones.authenticate([`Bearer ${token}`], caller), `${caller} with the token of ${owner}`).toMatchObject({
          ok: caller === owner,
        });
    }
  });

  it('are refused with a token of another kind', async () => {
    const user = await issuer.user({ name: 'east', groups: [] }, HOUR_MS);
    const proxy = await issuer.dataplane({ name: 'east', mesh: 'shop', tags: {}, type: '', workload: '' }, HOUR_MS);
    for (const token of [user, proxy]) expect(await zones.authenticate([`Bearer ${token}`], 'east')).toMatchObject({ ok: false });
  });

  it('verify tokens of global with the synced public keys', async () => {
    const token = await zoneToken('east');
    const zoneStore = new CountingStore();
    await putKey(zoneStore, federatedZoneRealm, '1');
    const secrets = await followedSecrets(zoneStore, stop.signal, true);
    expect(await new TokenVerifier(secrets, () => clock.now()).zone(token)).toMatchObject({ ok: true });
    await expect(new TokenIssuer(secrets, () => clock.now()).zone({ zone: 'east', scope: null }, 1)).rejects.toThrow(
      'by the global',
    );
  });
});

it('a thousand requests cause no more reads of the store than one', async () => {
  const token = await issuer.user({ name: 'ann', groups: [] }, HOUR_MS);
  await verifier.user(token);
  const { reads } = store;
  for (let request = 0; request < 1_000; request++) await verifier.user(token);
  expect(store.reads).toBe(reads);
});
