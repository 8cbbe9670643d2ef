import { beforeEach, describe, expect, it, vi } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { TinyStore } from '../../../test/support/tiny-store.ts';
import { createLogger } from '../../base/log.ts';
import {
  inForceKey,
  progressOf,
  readInForce,
  withdrawalId,
  type IdentityInForce,
  type WithdrawalProgress,
} from '../../resource/identity-in-force.ts';
import { readRotation, rotationKey, rotationSpec } from '../../resource/identity-rotation.ts';
import { label } from '../../resource/labels.ts';
import { objectsOf } from '../../resource/read-json.ts';
import type { JsonObject, Labels, ResourceKey } from '../../resource/types.ts';
import { STEP_LIMIT_MS } from './plan-withdrawal.ts';
import { reconcileIdentities, runIdentities } from './run-identities.ts';
import { withdrawIdentities } from './withdraw-identity.ts';

/** The end of the authority that is made at the start. */
const AUTHORITY_ENDS = Date.parse('2035-12-30T00:00:00Z');
const HOUR_MS = 3_600_000;
const SERVICE = 'kri_msvc_shop_east__cart_';
const at = (type: string, name: string): ResourceKey => ({ type, mesh: 'shop', name });
const IN_FORCE = inForceKey('shop', 'identity');
const ROTATION = rotationKey('shop', 'identity');
let clock: ManualClock;
let store: TinyStore;
let otherZonesMs: number;

const options = () => ({ store, zone: 'east', otherZonesMs, clock, log: createLogger('silent') });
const reconcile = async () => reconcileIdentities(options());
const put = async (type: string, name: string, spec: JsonObject, labels: Labels = {}, status?: JsonObject): Promise<void> =>
  void (await store.write({ op: 'put', key: at(type, name), labels, spec, ...(status !== undefined && { status }) }));
const remove = async (key: ResourceKey): Promise<void> => void (await store.write({ op: 'delete', key }));
async function identify(
  matchLabels: Labels,
  name = 'identity',
  labels: Labels = { 'kuma.io/zone': 'east' },
  expiry = '1h',
): Promise<void> {
  const bundled = { autogenerate: { enabled: true }, certificateParameters: { expiry } };
  await put('MeshIdentity', name, { selector: { dataplane: { matchLabels } }, provider: { type: 'Bundled', bundled } }, labels);
  await reconcile();
}
const inForce = async (name = 'identity'): Promise<(IdentityInForce & WithdrawalProgress) | null> => {
  const row = await store.get(inForceKey('shop', name));
  const read = row === undefined ? null : readInForce(row);
  return row === undefined || read === null ? null : { ...read, ...progressOf(row) };
};
/** Puts the insight of a proxy. */
async function insight(name: string, tls: JsonObject, isOnline = true, hold = ''): Promise<void> {
  const end = isOnline ? {} : { disconnectTime: clock.now().toISOString() };
  const spec = { subscriptions: [{ id: '1', connectTime: clock.now().toISOString(), ...end }] };
  await put('DataplaneInsight', name, spec, {}, { tls, ...(hold !== '' && { hold }) });
}
/** Lets a proxy do all that it is asked. */
async function accept(name: string): Promise<void> {
  const all = new Map<string, IdentityInForce>();
  for (const of of ['identity', 'other']) {
    const one = await inForce(of);
    if (one !== null) all.set(of, one);
  }
  await insight(name, { withdrawal: withdrawalId(all) });
  await reconcile();
}
/** Begins a rotation. After that step no proxy is left that it waits for. */
async function rotateTo(step: 'distribute' | 'renew'): Promise<void> {
  await store.write({ op: 'create', key: ROTATION, labels: {}, spec: rotationSpec({ step: 'requested' }) });
  if (step === 'renew') for (const name of ['cart', 'web']) await remove(at('DataplaneInsight', name));
  await reconcile();
  const row = await store.get(ROTATION);
  expect(row && readRotation(row)).toMatchObject({ step });
  for (const name of ['cart', 'web']) await remove(at('DataplaneInsight', name));
}
const hasTrust = async (): Promise<boolean> => (await store.get(at('MeshTrust', 'identity'))) !== undefined;

beforeEach(async () => {
  clock = new ManualClock();
  store = new TinyStore(() => clock.now());
  otherZonesMs = 0;
  await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: 'shop' }, labels: {}, spec: {} });
  await identify({});
  const proxy = { networking: { inbound: [{ port: 80 }] } };
  for (const app of ['cart', 'web']) {
    await put('Dataplane', app, proxy, { app, 'kuma.io/workload': app });
    await insight(app, {});
    const selector = { dataplaneLabels: { matchLabels: { app } } };
    await put('MeshService', app, { selector, ports: [] }, { 'kuma.io/display-name': app, 'kuma.io/zone': 'east' });
  }
});

describe('an identity in force', () => {
  it('is kept as the MeshIdentity is, and follows it while no proxy loses it', async () => {
    expect(await inForce()).toMatchObject({ step: 'held', services: [], waiting: 0 });
    await identify({ 'kuma.io/workload': 'cart' });
    expect((await inForce())?.step).toBe('open');
    await identify({});
    expect(await inForce()).toMatchObject({ step: 'held', services: [] });
    expect(await reconcile()).toEqual({ count: 0, wakeAt: AUTHORITY_ENDS });
  });

  it('is not kept of a MeshIdentity of another zone, or of one that is not ready', async () => {
    await identify({}, 'far', { 'kuma.io/zone': 'west' });
    await put('MeshIdentity', 'spire', { selector: { dataplane: { matchLabels: {} } }, provider: { type: 'Spire' } });
    await reconcile();
    expect([await inForce('far'), await inForce('spire')]).toEqual([null, null]);
  });
});

describe('a withdrawal', () => {
  it('names the proxies that it waits for in the order of their display names', async () => {
    const shown = { 'kuma.io/workload': 'cart', 'kuma.io/display-name': 'dolly' };
    await put('Dataplane', 'a-hash', { networking: { inbound: [{ port: 80 }] } }, shown);
    await insight('a-hash', {});
    await remove(at('MeshIdentity', 'identity'));
    await reconcile();
    expect(await inForce()).toMatchObject({ step: 'open', waiting: 3, waitsFor: ['cart', 'dolly', 'web'] });
  });

  it('of a deleted MeshIdentity goes from servers to clients, and the trust goes after the last certificate', async () => {
    await remove(at('MeshIdentity', 'identity'));
    await store.write({ op: 'create', key: ROTATION, labels: {}, spec: rotationSpec({ step: 'requested' }) });
    await reconcile();
    const services = [SERVICE, 'kri_msvc_shop_east__web_'];
    expect(await inForce()).toMatchObject({ step: 'open', services, waiting: 2, waitsFor: ['cart', 'web'] });
    await accept('cart');
    expect(await inForce()).toMatchObject({ step: 'open', waiting: 1, waitsFor: ['web'] });
    await accept('web');
    expect(await inForce()).toMatchObject({ step: 'clients', services, waiting: 2 });
    await accept('cart');
    expect(await inForce()).toMatchObject({ step: 'clients', waiting: 1 });
    await accept('web');
    expect(await inForce()).toMatchObject({ step: 'trust', services: [], waiting: 0 });
    await clock.advance(HOUR_MS);
    await reconcile();
    expect([await hasTrust(), (await inForce())?.step]).toEqual([true, 'trust']);
    await clock.advance(HOUR_MS / 10);
    expect(await reconcile()).toEqual({ count: 0, wakeAt: null });
    expect([await hasTrust(), await store.get(IN_FORCE), await store.get(ROTATION)]).toEqual([...[false, undefined, undefined]]);
    expect(await store.get(at('Secret', 'identity-root-ca'))).toBeDefined();
  });

  it('of a narrowed MeshIdentity is about the services of the proxies that lose it, and keeps the trust', async () => {
    await identify({ app: 'web' });
    expect(await inForce()).toMatchObject({ step: 'open', services: [SERVICE], waiting: 2 });
    for (let step = 1; step <= 2; step += 1) for (const name of ['cart', 'web']) await accept(name);
    expect(await inForce()).toMatchObject({
      step: 'held',
      services: [],
      identity: { spec: { selector: { dataplane: { matchLabels: { app: 'web' } } } } },
    });
    expect(await hasTrust()).toBe(true);
  });

  it('is not about the services of other zones', async () => {
    const selector = { dataplaneLabels: { matchLabels: { app: 'cart' } } };
    const labels = { 'kuma.io/display-name': 'far', 'kuma.io/zone': 'west', 'kuma.io/origin': 'global' };
    await put('MeshService', 'far', { selector }, labels);
    await identify({ app: 'web' });
    expect(await inForce()).toMatchObject({ step: 'open', services: [SERVICE] });
  });

  it('is not about services of other namespaces', async () => {
    const selector = { dataplaneLabels: { matchLabels: { app: 'cart' } } };
    const labels = { 'kuma.io/display-name': 'near', 'kuma.io/zone': 'east', 'k8s.kuma.io/namespace': 'other' };
    await put('MeshService', 'near.other', { selector }, labels);
    await identify({ app: 'web' });
    expect(await inForce()).toMatchObject({ step: 'open', services: [SERVICE] });
  });

  it('names the first five of the proxies that it waits for', async () => {
    const more = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const name of more) {
      await put('Dataplane', name, { networking: { inbound: [{ port: 80 }] } }, { app: name, 'kuma.io/workload': name });
      await insight(name, {});
    }
    await remove(at('MeshIdentity', 'identity'));
    await reconcile();
    expect(await inForce()).toMatchObject({ step: 'open', waiting: 8, waitsFor: more.slice(0, 3).concat('cart', 'd') });
  });

  it('does not wait for proxies that never had an identity', async () => {
    await put('Dataplane', 'plain', { networking: { inbound: [{ port: 80 }] } }, { app: 'plain' });
    await insight('plain', {});
    await remove(at('MeshIdentity', 'identity'));
    await reconcile();
    expect(await inForce()).toMatchObject({ step: 'open', waiting: 2, waitsFor: ['cart', 'web'] });
  });

  it('keeps what others have put into the MeshTrust', async () => {
    const trust = await store.get(at('MeshTrust', 'identity'));
    const foreign = { type: 'Pem', pem: { value: 'another' } };
    const { spec = {}, status = {}, labels = {} } = trust ?? {};
    const bundles = Array.isArray(spec['caBundles']) ? spec['caBundles'] : [];
    // A text that is no certificate was not made here.
    await put('MeshTrust', 'identity', { ...spec, caBundles: [...bundles, foreign] }, labels, status);
    for (const name of ['cart', 'web']) await remove(at('DataplaneInsight', name));
    await remove(at('MeshIdentity', 'identity'));
    await reconcile();
    await clock.advance(HOUR_MS * 1.1);
    await reconcile();
    expect((await store.get(at('MeshTrust', 'identity')))?.spec['caBundles']).toEqual([foreign]);
  });

  it.each(['distribute', 'renew'] as const)(
    'during step %s of a rotation takes both authorities from the MeshTrust',
    async (step) => {
      await rotateTo(step);
      await remove(at('MeshIdentity', 'identity'));
      await reconcile();
      expect(await inForce()).toMatchObject({ step: 'trust' });
      await clock.advance(HOUR_MS * 1.1);
      await reconcile();
      expect([await store.get(IN_FORCE), await store.get(ROTATION), await hasTrust()]).toEqual([undefined, undefined, false]);
    },
  );

  it('during a rotation keeps what others have put into the MeshTrust, and asks no other zone any more', async () => {
    await rotateTo('distribute');
    const { spec = {}, status, labels = {} } = (await store.get(at('MeshTrust', 'identity'))) ?? {};
    expect(labels).toMatchObject({ [label.authorityChanges]: 'true' });
    const foreign = { type: 'Pem', pem: { value: 'another' } };
    await put('MeshTrust', 'identity', { ...spec, caBundles: [...objectsOf(spec['caBundles']), foreign] }, labels, status);
    await remove(at('MeshIdentity', 'identity'));
    await reconcile();
    await clock.advance(HOUR_MS * 1.1);
    await reconcile();
    const trust = await store.get(at('MeshTrust', 'identity'));
    expect(trust?.spec['caBundles']).toEqual([foreign]);
    expect(trust?.labels).not.toHaveProperty([label.authorityChanges]);
  });

  it('trusts the previous authority of a rotation until its last certificate has ended', async () => {
    await identify({}, 'identity', { 'kuma.io/zone': 'east' }, '50h');
    await rotateTo('renew');
    await identify({});
    await remove(at('MeshIdentity', 'identity'));
    await reconcile();
    await clock.advance(HOUR_MS * 49);
    await reconcile();
    expect(await inForce()).toMatchObject({ step: 'trust' });
    expect((await store.get(at('MeshTrust', 'identity')))?.spec['caBundles']).toHaveLength(2);
    await clock.advance(HOUR_MS * 2);
    await reconcile();
    expect(await hasTrust()).toBe(false);
  });

  it('keeps its record until the MeshTrust is written', async () => {
    for (const name of ['cart', 'web']) await remove(at('DataplaneInsight', name));
    await remove(at('MeshIdentity', 'identity'));
    await reconcile();
    await clock.advance(HOUR_MS * 1.1);
    store.beforeWrite = ({ key }) => (key.type === 'MeshTrust' ? { result: 'conflict' } : undefined);
    await reconcile();
    expect([await hasTrust(), (await inForce())?.step]).toEqual([true, 'trust']);
    store.beforeWrite = () => undefined;
    await reconcile();
    expect([await hasTrust(), await inForce()]).toEqual([false, null]);
  });

  it('is no withdrawal of services for proxies with another identity, and waits until they have it', async () => {
    await identify({ app: 'cart' }, 'other');
    await remove(at('MeshIdentity', 'identity'));
    await remove(at('Dataplane', 'web'));
    await reconcile();
    expect(await inForce()).toMatchObject({ step: 'open', services: [], waiting: 1 });
    await accept('cart');
    await accept('cart');
    expect(await inForce()).toMatchObject({ step: 'trust' });
    expect(await inForce('other')).toMatchObject({ step: 'held' });
  });

  it('ends when the MeshIdentity is back', async () => {
    await remove(at('MeshIdentity', 'identity'));
    await reconcile();
    for (let step = 1; step <= 2; step += 1) for (const name of ['cart', 'web']) await accept(name);
    expect(await inForce()).toMatchObject({ step: 'trust' });
    await identify({});
    expect(await inForce()).toMatchObject({ step: 'held' });
    await clock.advance(HOUR_MS * 2);
    await reconcile();
    expect(await hasTrust()).toBe(true);
  });

  it('begins again with a service that comes meanwhile', async () => {
    await identify({ app: 'web' });
    for (const name of ['cart', 'web']) await accept(name);
    expect(await inForce()).toMatchObject({ step: 'clients' });
    const selector = { dataplaneLabels: { matchLabels: { app: 'cart' } } };
    await put('MeshService', 'cart-2', { selector }, { 'kuma.io/display-name': 'cart-2', 'kuma.io/zone': 'east' });
    await reconcile();
    expect(await inForce()).toMatchObject({ step: 'open', services: ['kri_msvc_shop_east__cart-2_', SERVICE] });
  });

  it('does not wait for ever for a proxy that refuses, nor for one that is away, but for one whose control plane has ended', async () => {
    await insight('cart', {}, false, 'released');
    await insight('web', {}, false, 'held');
    await remove(at('MeshIdentity', 'identity'));
    expect(await reconcile()).toEqual({ count: 1, wakeAt: clock.now().getTime() + STEP_LIMIT_MS });
    expect(await inForce()).toMatchObject({ step: 'open', waiting: 1, waitsFor: ['web'] });
    await clock.advance(STEP_LIMIT_MS);
    await reconcile();
    expect(await inForce()).toMatchObject({ step: 'clients', waiting: 1 });
    await clock.advance(STEP_LIMIT_MS);
    await reconcile();
    expect(await inForce()).toMatchObject({ step: 'trust' });
  });

  it('gives the clients of other zones time', async () => {
    otherZonesMs = 600_000;
    await remove(at('MeshIdentity', 'identity'));
    await reconcile();
    for (let step = 1; step <= 2; step += 1) for (const name of ['cart', 'web']) await accept(name);
    expect(await inForce()).toMatchObject({ step: 'clients', waiting: 0 });
    await clock.advance(otherZonesMs);
    await reconcile();
    expect(await inForce()).toMatchObject({ step: 'trust' });
  });

  it('is tried twelve times against another writer, and goes on with the next change', async () => {
    await remove(at('MeshIdentity', 'identity'));
    let attempts = 0;
    store.beforeWrite = () => {
      attempts += 1;
      return { result: 'conflict' };
    };
    const log = createLogger('silent');
    const warn = vi.spyOn(log, 'warn');
    expect(await withdrawIdentities({ ...options(), log })).toEqual({ count: 1, wakeAts: [] });
    expect(attempts).toBe(12);
    expect(warn).toHaveBeenCalledExactlyOnceWith({ mesh: 'shop', passes: 12 }, expect.stringContaining('changes too often'));
  });

  it('goes on by itself, also after another leader began it', async () => {
    await remove(at('MeshIdentity', 'identity'));
    await reconcile();
    const stop = new AbortController();
    const running = runIdentities(options(), stop.signal);
    const acceptAll = async (): Promise<void> => {
      const one = await inForce();
      const withdrawal = one === null ? '' : withdrawalId(new Map([['identity', one]]));
      for (const name of ['cart', 'web']) await insight(name, { withdrawal });
    };
    await acceptAll();
    await expect.poll(() => inForce()).toMatchObject({ step: 'clients' });
    await acceptAll();
    await expect.poll(() => inForce()).toMatchObject({ step: 'trust' });
    await expect.poll(() => clock.sleepers).toBeGreaterThan(0);
    await clock.advance(HOUR_MS * 1.2);
    await expect.poll(hasTrust).toBe(false);
    stop.abort();
    await running;
    expect(clock.sleepers).toBe(0);
  });
});

it('the proxies of a mesh are read while an identity changes for them, and not otherwise', async () => {
  await identify({ app: 'web' }, 'other');
  const listed = vi.spyOn(store, 'list');
  const readsProxies = async (): Promise<boolean> => {
    listed.mockClear();
    await withdrawIdentities(options());
    return listed.mock.calls.some(([{ type }]) => type === 'Dataplane');
  };
  expect(await readsProxies()).toBe(false);
  await remove(at('MeshIdentity', 'other'));
  expect(await readsProxies()).toBe(true);
});
