import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { TinyStore } from '../../../test/support/tiny-store.ts';
import { createLogger } from '../../base/log.ts';
import { bundleId } from '../../identity/authority-id.ts';
import { certificatesIn, trustBundles } from '../../identity/trust-bundles.ts';
import { readRotation, rotationKey, rotationSpec, type Rotation } from '../../resource/identity-rotation.ts';
import { label } from '../../resource/labels.ts';
import type { JsonObject, Labels, Resource } from '../../resource/types.ts';
import { secretText } from '../../resource/secret-data.ts';
import { reconcileIdentities, runIdentities } from './run-identities.ts';

const HOUR_MS = 3_600_000;
const OTHER_AUTHORITY = readFileSync(join(import.meta.dirname, '../../../test/xds/authority.pem'), 'utf8');
/** The end of the authority that is made at the start, and of one that is made within the same millisecond. */
const AUTHORITY_ENDS = Date.parse('2035-12-30T00:00:00Z');
const KRI = 'kri_mid_shop_east__identity_';
const at = (type: string, name: string) => ({ type, mesh: 'shop', name });
const ROTATION = rotationKey('shop', 'identity');
let clock: ManualClock;
let store: TinyStore;
let otherZonesMs: number;

beforeEach(async () => {
  clock = new ManualClock();
  store = new TinyStore(() => clock.now());
  otherZonesMs = 0;
  await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: 'shop' }, labels: {}, spec: {} });
  const spec = {
    selector: { dataplane: { matchLabels: { app: 'cart' } } },
    provider: {
      type: 'Bundled',
      bundled: { autogenerate: { enabled: true }, certificateParameters: { expiry: '1h' } },
    },
  };
  await store.write({ op: 'put', key: at('MeshIdentity', 'identity'), labels: { 'kuma.io/zone': 'east' }, spec });
  await reconcile();
  for (const name of ['cart-2', 'cart-1']) {
    const labels = { app: 'cart', 'kuma.io/workload': 'cart' };
    await store.write({ op: 'put', key: at('Dataplane', name), labels, spec: {} });
    await accept(name);
  }
  await store.write({ op: 'put', key: at('Dataplane', 'plain'), labels: { app: 'other' }, spec: {} });
  await insight('plain', {}, {});
});

const options = () => ({ store, zone: 'east', otherZonesMs, clock, log: createLogger('silent') });
const reconcile = async () => reconcileIdentities(options());
const row = async (type: string, name: string): Promise<Resource> => {
  const found = await store.get(at(type, name));
  if (found === undefined) throw new Error(`no ${type} ${name}`);
  return found;
};
async function insight(name: string, mTLS: JsonObject, tls: JsonObject, isOnline = true): Promise<void> {
  const end = isOnline ? {} : { disconnectTime: clock.now().toISOString() };
  const spec = { subscriptions: [{ id: '1', connectTime: clock.now().toISOString(), ...end }], mTLS };
  await store.write({ op: 'put', key: at('DataplaneInsight', name), labels: {}, spec, status: { tls } });
}
/** The proxy accepts the trust bundle as it is now, and has a certificate of now. */
async function accept(name: string, isOnline = true): Promise<void> {
  const bundle = bundleId(trustBundles(await store.list({ type: 'MeshTrust', mesh: 'shop' })));
  const now = clock.now();
  const mTLS = {
    certificateExpirationTime: new Date(now.getTime() + HOUR_MS).toISOString(),
    lastCertificateRegeneration: now.toISOString(),
    issuedBackend: KRI,
  };
  await insight(name, mTLS, { isReady: true, bundle, plaintextTo: [] }, isOnline);
}
const ask = async (): Promise<void> =>
  void (await store.write({ op: 'create', key: ROTATION, labels: {}, spec: rotationSpec({ step: 'requested' }) }));
const rotation = async (): Promise<Rotation | null> => {
  const found = await store.get(ROTATION);
  return found === undefined ? null : readRotation(found);
};
const signing = async (): Promise<string> => secretText(await row('Secret', 'identity-root-ca'));
const trusted = async (): Promise<string[]> => certificatesIn((await row('MeshTrust', 'identity')).spec['caBundles']);

/** The MeshTrust of another zone, as global sends it. */
async function putTrustOf(zone: string, labels: Labels): Promise<void> {
  const caBundles = [{ type: 'Pem', pem: { value: OTHER_AUTHORITY } }];
  const spec = { trustDomain: `shop.${zone}.mesh.local`, caBundles };
  const given = { [label.origin]: 'global', [label.zone]: zone, ...labels };
  await store.write({ op: 'put', key: at('MeshTrust', `of-${zone}`), labels: given, spec, syncVersion: '1' });
}

/** The label of a zone whose proxies have accepted the MeshTrusts as they are here. */
async function acceptedNow(): Promise<string> {
  const bundles = trustBundles(await store.list({ type: 'MeshTrust', mesh: 'shop' }));
  return Buffer.from(bundleId(bundles), 'base64url').toString('hex');
}

describe('a rotation of an authority', () => {
  it('distributes, signs when every connected proxy has accepted the bundle, and drops after the last certificate', async () => {
    const old = await signing();
    await ask();
    await reconcile();
    expect(await rotation()).toMatchObject({ step: 'distribute', waiting: 2, waitsFor: ['cart-1', 'cart-2'] });
    const both = await trusted();
    expect([both.length, both.includes(old), await signing()]).toEqual([2, true, old]);
    await accept('cart-1');
    await reconcile();
    expect(await rotation()).toMatchObject({ step: 'distribute', waiting: 1, waitsFor: ['cart-2'] });
    expect(await signing()).toBe(old);
    const before = (await row('MeshIdentity', 'identity')).status['authority'];
    await accept('cart-2');
    await clock.advance(1_000);
    await reconcile();
    expect(await rotation()).toMatchObject({ step: 'renew', waiting: 2, previousPem: old });
    expect(await signing()).toBe(both.find((pem) => pem !== old));
    expect((await row('MeshIdentity', 'identity')).status['authority']).not.toBe(before);
    await accept('cart-1');
    await accept('cart-2');
    expect(await reconcile()).toMatchObject({ count: 1 });
    expect(await rotation()).toMatchObject({ step: 'renew', waiting: 0 });
    await clock.advance(HOUR_MS - 1);
    await reconcile();
    expect(await trusted()).toHaveLength(2);
    await clock.advance(HOUR_MS / 10);
    expect(await reconcile()).toEqual({ count: 0, wakeAt: AUTHORITY_ENDS });
    expect([await trusted(), await rotation()]).toEqual([[await signing()], null]);
  });

  it('waits for the certificate of a proxy that is away, and not for its acceptance', async () => {
    await clock.advance(HOUR_MS / 2);
    await accept('cart-2', false);
    await clock.advance(60_000);
    await store.write({
      op: 'put',
      key: at('MeshIdentity', 'identity'),
      labels: { 'kuma.io/zone': 'east' },
      spec: {
        selector: { dataplane: { matchLabels: { app: 'cart' } } },
        provider: { type: 'Bundled', bundled: { autogenerate: { enabled: true }, certificateParameters: { expiry: '1s' } } },
      },
    });
    await ask();
    await reconcile();
    await accept('cart-1');
    await reconcile();
    const state = await rotation();
    expect(state?.step).toBe('renew');
    const until = state?.step === 'renew' ? Date.parse(state.until) : 0;
    expect(until).toBeGreaterThan(clock.now().getTime() + HOUR_MS);
  });

  it('gives a proxy whose stream has ended a minute to come back, and none to one that leaves', async () => {
    await accept('cart-2', false);
    await ask();
    await reconcile();
    await accept('cart-1');
    expect(await reconcile()).toEqual({ count: 1, wakeAt: clock.now().getTime() + 60_000 });
    await clock.advance(60_000 - 1);
    await reconcile();
    expect(await rotation()).toMatchObject({ step: 'distribute', waiting: 0 });
    const { labels, spec, status } = await row('DataplaneInsight', 'cart-2');
    await store.write({ op: 'put', key: at('DataplaneInsight', 'cart-2'), labels, spec, status: { ...status, isLeaving: true } });
    await reconcile();
    expect(await rotation()).toMatchObject({ step: 'renew' });
  });

  it('ends the wait for a proxy that does not come back', async () => {
    await accept('cart-2', false);
    await ask();
    await reconcile();
    await accept('cart-1');
    await clock.advance(60_000);
    await reconcile();
    expect(await rotation()).toMatchObject({ step: 'renew' });
  });

  it('signs when the MeshTrusts of all other zones say that the proxies there have accepted it', async () => {
    otherZonesMs = 600_000;
    for (const zone of ['west', 'north']) await putTrustOf(zone, {});
    for (const name of ['cart-1', 'cart-2']) await accept(name);
    await ask();
    await reconcile();
    expect((await row('MeshTrust', 'identity')).labels[label.authorityChanges]).toBe('true');
    for (const name of ['cart-1', 'cart-2']) await accept(name);
    await putTrustOf('west', { [label.acceptedTrust]: await acceptedNow() });
    await putTrustOf('north', { [label.acceptedTrust]: 'before' });
    await reconcile();
    expect(await rotation()).toMatchObject({ step: 'distribute', waiting: 0 });
    await putTrustOf('north', { [label.acceptedTrust]: await acceptedNow() });
    await reconcile();
    expect(await rotation()).toMatchObject({ step: 'renew' });
    expect((await row('MeshTrust', 'identity')).labels).not.toHaveProperty(label.authorityChanges);
  });

  it.each<[string, Labels]>([
    ['that says nothing', { [label.zone]: 'west' }],
    ['that was copied by hand', {}],
  ])('gives the proxies of a zone with a MeshTrust %s time', async (_, labels) => {
    otherZonesMs = 600_000;
    await store.write({ op: 'put', key: at('MeshTrust', 'other'), labels, spec: { trustDomain: 'other', caBundles: [] } });
    await ask();
    await reconcile();
    for (const name of ['cart-1', 'cart-2']) await accept(name);
    await reconcile();
    expect(await rotation()).toMatchObject({ step: 'distribute', waiting: 0 });
    await clock.advance(otherZonesMs);
    await reconcile();
    expect(await rotation()).toMatchObject({ step: 'renew' });
  });

  it('goes on by itself, also after another leader began it', async () => {
    await ask();
    await reconcile();
    const stop = new AbortController();
    const running = runIdentities(options(), stop.signal);
    for (const name of ['cart-1', 'cart-2']) await accept(name);
    await expect.poll(rotation).toMatchObject({ step: 'renew' });
    await expect.poll(() => clock.sleepers).toBeGreaterThan(0);
    await clock.advance(HOUR_MS * 1.2);
    await expect.poll(rotation).toBeNull();
    expect(await trusted()).toHaveLength(1);
    stop.abort();
    await running;
    expect(clock.sleepers).toBe(0);
  });
});

describe('a zone whose peers change an authority', () => {
  const said = async (): Promise<string | undefined> => (await row('MeshTrust', 'identity')).labels[label.acceptedTrust];

  it('answers with the accepted bundle when all its proxies have accepted it, while it is asked', async () => {
    await putTrustOf('west', { [label.authorityChanges]: 'true' });
    expect(await reconcile()).toEqual({ count: 1, wakeAt: AUTHORITY_ENDS });
    expect(await said()).toBeUndefined();
    await accept('cart-1');
    expect(await reconcile()).toMatchObject({ count: 1 });
    expect(await said()).toBeUndefined();
    await accept('cart-2');
    expect(await reconcile()).toEqual({ count: 0, wakeAt: AUTHORITY_ENDS });
    const first = await said();
    expect(first).toBe(await acceptedNow());
    await putTrustOf('north', {});
    for (const name of ['cart-1', 'cart-2']) await accept(name);
    await reconcile();
    expect(await said()).toBe(await acceptedNow());
    await putTrustOf('west', {});
    await store.write({ op: 'delete', key: at('MeshTrust', 'of-north') });
    expect(await reconcile()).toEqual({ count: 0, wakeAt: AUTHORITY_ENDS });
    expect(await said()).not.toBe(await acceptedNow());
  });

  it('gives a proxy that is away a minute', async () => {
    await accept('cart-2', false);
    await putTrustOf('west', { [label.authorityChanges]: 'true' });
    await accept('cart-1');
    expect(await reconcile()).toEqual({ count: 1, wakeAt: clock.now().getTime() + 60_000 });
    await clock.advance(60_000);
    await reconcile();
    expect(await said()).toBe(await acceptedNow());
  });
});
