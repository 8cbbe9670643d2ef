import { X509Certificate } from 'node:crypto';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { TinyStore } from '../../../test/support/tiny-store.ts';
import { createLogger } from '../../base/log.ts';
import { createAuthority } from '../../identity/authority.ts';
import { inForceKey, readInForce } from '../../resource/identity-in-force.ts';
import { rotationKey, rotationSpec } from '../../resource/identity-rotation.ts';
import { isMeshIdentityReady } from '../../resource/mesh-identity.ts';
import { objectsOf } from '../../resource/read-json.ts';
import type { JsonObject, Labels, Resource } from '../../resource/types.ts';
import type { Write } from '../../store/resource-store.ts';
import { authorityRows } from './plan-identity.ts';
import { secretText } from '../../resource/secret-data.ts';
import { reconcileIdentities, runIdentities } from './run-identities.ts';

const BUNDLED = { type: 'Bundled', bundled: { autogenerate: { enabled: true } } };
const at = (type: string, name: string) => ({ type, mesh: 'shop', name });
let store: TinyStore;
let clock: ManualClock;
let writes: Write[];

beforeEach(async () => {
  clock = new ManualClock();
  store = new TinyStore(() => clock.now());
  writes = [];
  store.beforeWrite = (write) => void writes.push(write);
  await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: 'shop' }, labels: {}, spec: {} });
});

const reconcile = async (): Promise<void> => {
  writes = [];
  await reconcileIdentities({ store, zone: 'east', otherZonesMs: 0, clock, log: createLogger('silent') });
};
const put = async (spec: JsonObject, labels: Labels = {}): Promise<void> => {
  await store.write({ op: 'put', key: at('MeshIdentity', 'identity'), labels, spec });
};
const row = async (type: string, name: string): Promise<Resource> => {
  const found = await store.get(at(type, name));
  if (found === undefined) throw new Error(`no ${type} ${name}`);
  return found;
};
const reasons = async (): Promise<unknown[]> =>
  objectsOf((await row('MeshIdentity', 'identity')).status['conditions']).map(({ type, status, reason }) => [
    type,
    status,
    reason,
  ]);

describe('a MeshIdentity', () => {
  it('gets an authority, a MeshTrust of it, its conditions, and is in force', async () => {
    await put({ provider: BUNDLED });
    await reconcile();
    expect(writes.map(({ key: { name } }) => name)).toEqual([
      ...['identity-root-ca', 'identity-private-key'],
      ...['identity', 'identity', 'identity-in-force'],
    ]);
    const pem = secretText(await row('Secret', 'identity-root-ca'));
    expect(new X509Certificate(pem).subjectAltName).toBe('URI:spiffe://shop.east.mesh.local');
    const trust = await row('MeshTrust', 'identity');
    expect(trust.spec).toEqual({ trustDomain: 'shop.east.mesh.local', caBundles: [{ type: 'Pem', pem: { value: pem } }] });
    expect([trust.labels, trust.status]).toEqual([
      {
        ...{ 'kuma.io/display-name': 'identity', 'kuma.io/mesh': 'shop', 'kuma.io/env': 'universal' },
        ...{ 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east' },
      },
      { origin: { kri: 'kri_mid_shop___identity_' } },
    ]);
    expect(isMeshIdentityReady(await row('MeshIdentity', 'identity'))).toBe(true);
    await reconcile();
    expect(writes).toEqual([]);
  });

  it('uses the authority that a Kuma zone made', async () => {
    await put({ provider: BUNDLED });
    const made = await createAuthority('shop.east.mesh.local', new Date('2026-01-01T00:00:00Z'));
    for (const { type, mesh, name, labels, spec } of authorityRows(at('MeshIdentity', 'identity'), made, new Date(0)))
      await store.write({ op: 'create', key: { type, mesh, name }, labels, spec });
    await reconcile();
    expect(writes.map(({ key: { type } }) => type)).toEqual(['MeshTrust', 'MeshIdentity', 'Secret']);
    expect((await row('MeshTrust', 'identity')).spec['caBundles']).toEqual([{ type: 'Pem', pem: { value: made.certPem } }]);
  });

  it('adds a new authority to its MeshTrust beside the old one', async () => {
    await put({ provider: BUNDLED });
    await reconcile();
    for (const name of ['identity-root-ca', 'identity-private-key']) await store.write({ op: 'delete', key: at('Secret', name) });
    await reconcile();
    const pem = secretText(await row('Secret', 'identity-root-ca'));
    const bundles = objectsOf((await row('MeshTrust', 'identity')).spec['caBundles']);
    expect(bundles).toHaveLength(2);
    expect(bundles.at(-1)).toEqual({ type: 'Pem', pem: { value: pem } });
  });

  it.each([
    ['identity-private-key', 'identity-root-ca'],
    ['identity-root-ca', 'identity-private-key'],
  ])('is not ready without the Secret %s, and nothing is replaced', async (missing, left) => {
    await put({ provider: BUNDLED });
    await reconcile();
    const before = secretText(await row('Secret', left));
    const { authority } = (await row('MeshIdentity', 'identity')).status;
    expect(authority).toMatch(/./);
    await store.write({ op: 'delete', key: at('Secret', missing) });
    await reconcile();
    expect((await row('MeshIdentity', 'identity')).status['authority']).toBe(authority);
    const message = `Secret ${missing} is missing; restore it, or delete the other`;
    const failed = { status: 'False', reason: 'AuthorityIncomplete', message };
    expect((await row('MeshIdentity', 'identity')).status['conditions']).toEqual([
      { type: 'Provider', ...failed },
      { type: 'Ready', ...failed },
    ]);
    expect(secretText(await row('Secret', left))).toBe(before);
  });

  it.each([
    ['another provider', { provider: { type: 'Spire', spire: {} } }, 'ProviderNotSupported'],
    ['a given authority', { provider: { type: 'Bundled', bundled: { ca: {} } } }, 'ProviderNotSupported'],
    ['a trust domain by label', { provider: BUNDLED, spiffeID: { trustDomain: '{{ label "team" }}' } }, 'InvalidTrustDomain'],
  ])('is refused with %s', async (_, spec, reason) => {
    await put(spec);
    await reconcile();
    expect(await reasons()).toContainEqual(['Ready', 'False', reason]);
    expect(writes).toHaveLength(1);
  });

  it('gets its rows while the store is followed, also after a failed read, until the end', async () => {
    const stop = new AbortController();
    let isOver = false;
    const log = createLogger('silent');
    const warn = vi.spyOn(log, 'warn');
    const list = vi.spyOn(store, 'list').mockRejectedValueOnce(new Error('the database does not answer'));
    const running = runIdentities({ store, zone: 'east', otherZonesMs: 0, clock, log }, stop.signal).then(() => (isOver = true));
    await vi.waitFor(() => expect(warn).toHaveBeenCalledWith({ err: 'the database does not answer' }, expect.anything()));
    await put({ provider: BUNDLED });
    while (list.mock.calls.length < 2) await clock.advance(1_000);
    await vi.waitFor(async () => expect(await store.get(at('MeshTrust', 'identity'))).toBeDefined());
    expect(isOver).toBe(false);
    stop.abort();
    await running;
  });

  it('is not read again for changes of proxies while nothing waits for them', async () => {
    await put({ provider: BUNDLED });
    const stop = new AbortController();
    const list = vi.spyOn(store, 'list');
    const running = runIdentities({ store, zone: 'east', otherZonesMs: 0, clock, log: createLogger('silent') }, stop.signal);
    await vi.waitFor(async () => expect(await store.get(inForceKey('shop', 'identity'))).toBeDefined());
    const settled = async (): Promise<number> => {
      for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
      return list.mock.calls.length;
    };
    const before = await settled();
    await store.write({ op: 'create', key: at('Dataplane', 'web'), labels: {}, spec: {} });
    expect(await settled()).toBe(before);
    await store.write({ op: 'create', key: at('MeshIdentity', 'other'), labels: {}, spec: { provider: BUNDLED } });
    expect(await settled()).toBeGreaterThan(before);
    stop.abort();
    await running;
  });

  it('is looked at again five seconds after a failed look at its withdrawal', async () => {
    await put({ provider: BUNDLED });
    await reconcile();
    await store.write({ op: 'delete', key: at('MeshIdentity', 'identity') });
    await reconcile();
    const { wakeAt } = await reconcileIdentities({ store, zone: 'east', otherZonesMs: 0, clock, log: createLogger('silent') });
    const stop = new AbortController();
    const log = createLogger('silent');
    const warn = vi.spyOn(log, 'warn');
    const list = vi.spyOn(store, 'list');
    const running = runIdentities({ store, zone: 'east', otherZonesMs: 0, clock, log }, stop.signal);
    await expect.poll(() => clock.sleepers).toBe(1);
    list.mockRejectedValueOnce(new Error('the database does not answer'));
    const withdrawn = async (): Promise<boolean> => (await store.get(inForceKey('shop', 'identity'))) === undefined;
    await clock.advance((wakeAt ?? 0) - clock.now().getTime());
    await expect
      .poll(() => warn.mock.calls)
      .toEqual([[{ reason: 'the database does not answer' }, expect.stringContaining('5 s')]]);
    expect(await withdrawn()).toBe(false);
    await clock.advance(4_999);
    expect(await withdrawn()).toBe(false);
    await clock.advance(1);
    await expect.poll(withdrawn).toBe(true);
    stop.abort();
    await running;
    expect(clock.sleepers).toBe(0);
  });

  it('is looked at by one pass at a time: a change waits for the look that a timer began', async () => {
    await put({ provider: BUNDLED });
    await reconcile();
    await store.write({ op: 'delete', key: at('MeshIdentity', 'identity') });
    await reconcile();
    const options = { store, zone: 'east', otherZonesMs: 0, clock, log: createLogger('silent') };
    const { wakeAt } = await reconcileIdentities(options);
    const stop = new AbortController();
    const original = store.list.bind(store);
    let [open, most, passes] = [0, 0, 0];
    const held: (() => void)[] = [];
    let isHeld = false;
    vi.spyOn(store, 'list').mockImplementation(async (query) => {
      if (query.type !== 'MeshIdentity') return await original(query);
      [open, passes] = [open + 1, passes + 1];
      most = Math.max(most, open);
      if (isHeld) await new Promise<void>((resolve) => held.push(resolve));
      open -= 1;
      return await original(query);
    });
    const running = runIdentities(options, stop.signal);
    await expect.poll(() => clock.sleepers).toBe(1);
    isHeld = true;
    const before = passes;
    await clock.advance((wakeAt ?? 0) - clock.now().getTime());
    await expect.poll(() => held.length).toBe(1);
    await put({ provider: BUNDLED });
    for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
    expect([passes - before, most]).toEqual([1, 1]);
    isHeld = false;
    for (const go of held) go();
    await expect.poll(() => passes - before).toBeGreaterThan(1);
    expect(most).toBe(1);
    stop.abort();
    await running;
  });

  it('says within a minute that its authority has ended, also after the date was set forward, stays in force, and is ready after a rotation', async () => {
    await put({ provider: BUNDLED, selector: { dataplane: { matchLabels: {} } } });
    await store.write({ op: 'create', key: at('Dataplane', 'web'), labels: { 'kuma.io/workload': 'web' }, spec: {} });
    const stop = new AbortController();
    const running = runIdentities({ store, zone: 'east', otherZonesMs: 0, clock, log: createLogger('silent') }, stop.signal);
    const ready = async (): Promise<unknown> => (await reasons()).at(-1);
    await expect.poll(ready).toEqual(['Ready', 'True', 'Ready']);
    await expect.poll(() => clock.sleepers).toBeGreaterThan(0);
    clock.moveDate(3_650 * 86_400_000 - 60_001);
    await clock.advance(60_000);
    expect(await ready()).toEqual(['Ready', 'True', 'Ready']);
    await clock.advance(1);
    await expect.poll(ready).toEqual(['Ready', 'False', 'AuthorityExpired']);
    const held = await store.get(inForceKey('shop', 'identity'));
    expect(held === undefined ? null : readInForce(held)).toMatchObject({ step: 'held' });
    const spec = rotationSpec({ step: 'requested' });
    await store.write({ op: 'create', key: rotationKey('shop', 'identity'), labels: {}, spec });
    await expect.poll(ready).toEqual(['Ready', 'True', 'Ready']);
    stop.abort();
    await running;
  });

  it.each([
    ['ahead', 20, 'AuthorityExpired'],
    ['behind', -20, 'AuthorityNotYetValid'],
  ])('is ready within a minute after a date that was years %s is set right', async (_, years, reason) => {
    await put({ provider: BUNDLED });
    await reconcile();
    const ms = years * 365 * 86_400_000;
    clock.moveDate(ms);
    const stop = new AbortController();
    const running = runIdentities({ store, zone: 'east', otherZonesMs: 0, clock, log: createLogger('silent') }, stop.signal);
    const ready = async (): Promise<unknown> => (await reasons()).at(-1);
    await expect.poll(ready).toEqual(['Ready', 'False', reason]);
    await expect.poll(() => clock.sleepers).toBeGreaterThan(0);
    clock.moveDate(-ms);
    await clock.advance(60_000);
    await expect.poll(ready).toEqual(['Ready', 'True', 'Ready']);
    stop.abort();
    await running;
  });

  it('is left to its zone', async () => {
    await put({ provider: BUNDLED }, { 'kuma.io/zone': 'west' });
    await reconcile();
    expect(writes).toEqual([]);
  });
});
