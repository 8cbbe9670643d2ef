// A zone and a global over gRPC in one process: properties of the connection as a whole.
import { Metadata, status } from '@grpc/grpc-js';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { following } from '../support/following.ts';
import { createLogger } from '../../src/base/log.ts';
import { StoreAdmission } from '../../src/peering/store-admission.ts';
import { KnownZones } from '../../src/peering/known-zones.ts';
import { AdminStreams } from '../../src/kds/protocol/admin-streams.ts';
import { Changelog } from '../../src/kds/log/changelog.ts';
import { feature } from '../../src/kds/protocol/features.ts';
import type { SyncEvent, SyncObserver } from '../../src/kds/protocol/sync-events.ts';
import type { Admission } from '../../src/kds/receiver/receiver.ts';
import { readNodeMetadata } from '../../src/kds/protocol/node.ts';
import { globalSendRules } from '../../src/kds/protocol/rules.ts';
import { KdsServer } from '../../src/kds/server/server.ts';
import { anyStore, type ZoneStores } from '../../src/kds/protocol/zone-access.ts';
import type { JsonObject, ResourceKey } from '../../src/resource/types.ts';
import { FenceWatch } from '../../src/store/fence-watch.ts';
import { acceptPeer, zoneStoreKey } from '../../src/peering/peer-identity.ts';
import { validateResource } from '../../src/resource/validate-spec.ts';
import { decodeDeltaRequest, encodeDeltaResponse } from '../../src/wire/kds-messages.ts';
import { clusterAdmission } from '../../src/peering/cluster-guard.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { connectZone } from './connected-zone.ts';
import { playGlobal, type GlobalManners } from './played-global.ts';

const WAIT = { timeout: 90_000, interval: 10 };
const limit = { maxMessageBytes: 10_485_760 };
const silent = createLogger('silent');
const clusterId: ResourceKey = { type: 'Config', mesh: '', name: 'kuma-cluster-id' };
const eastRow: ResourceKey = { type: 'Zone', mesh: '', name: 'east' };
const dataplane = (name: string): ResourceKey => ({ type: 'Dataplane', mesh: 'default', name });
const proxyAt = (address: string): JsonObject => ({ networking: { address, inbound: [{ port: 80 }] } });
const fromEast = { 'kuma.io/zone': 'east', 'kuma.io/origin': 'zone' };
const fromGlobal = { 'kuma.io/origin': 'global' };

let stop: AbortController;
let running: Promise<unknown>[];
let zone: TinyStore;
let events: SyncEvent[];

beforeEach(() => {
  stop = new AbortController();
  running = [];
  zone = new TinyStore();
  events = [];
});

afterEach(async () => {
  stop.abort();
  await Promise.all(running);
});

async function startGlobal(
  store: TinyStore,
  log = silent,
  stores: ZoneStores = anyStore,
): Promise<{ server: KdsServer; port: number }> {
  const zones = new KnownZones(store, following);
  const changelog = new Changelog(store, globalSendRules(), log);
  const fences = new FenceWatch(store, following);
  running.push(zones.run(stop.signal), changelog.run(stop.signal), fences.run(stop.signal));
  await Promise.all([zones.loaded, changelog.ready]);
  const server = new KdsServer({
    clock: systemClock,
    ...{ host: '127.0.0.1', port: 0, tls: null, ...limit, changelog, zones, stores, admin: new AdminStreams(systemClock) },
    node: { version: '0', instanceId: 'global-1', config: '' },
    store,
    fences,
    validate: validateResource,
    observe: () => undefined,
    log,
  });
  const port = await server.listen();
  stop.signal.addEventListener('abort', () => running.push(server.close()));
  return { server, port };
}

function startZone(port: number, admission: () => Promise<Admission | null> = async () => null): void {
  const observe: SyncObserver = (event) => void events.push(event);
  running.push(connectZone(zone, port, stop.signal, { admission, observe, checkAgainMs: 50 }));
}

const opened = (): string[] => events.flatMap((event) => (event.kind === 'opened' ? [event.stream] : []));
const closed = (): string[] => events.flatMap((event) => (event.kind === 'closed' && event.error !== null ? [event.error] : []));

describe('a zone that knows its cluster', () => {
  async function globalOf(cluster: string): Promise<TinyStore> {
    const store = new TinyStore();
    await store.write({ op: 'create', key: clusterId, labels: {}, spec: { config: cluster } });
    await store.write({ op: 'create', key: eastRow, labels: {}, spec: { enabled: true } });
    const owner = { owner: eastRow, syncVersion: 'v' };
    await store.write({ op: 'create', key: dataplane('namesake'), labels: fromEast, spec: proxyAt('10.0.0.9'), ...owner });
    await zone.write({ op: 'create', key: clusterId, labels: fromGlobal, spec: { config: 'ours' }, syncVersion: 'v' });
    await zone.write({ op: 'create', key: dataplane('mine'), labels: { 'kuma.io/origin': 'zone' }, spec: proxyAt('10.0.0.1') });
    return store;
  }

  it('sends nothing to a global of another cluster, and stores nothing from it (engine 14)', async () => {
    const store = await globalOf('theirs');
    const { port } = await startGlobal(store);
    const before = new Map(store.rows);
    startZone(port, () => clusterAdmission(zone, 'grpc://g:1', systemClock));
    await vi.waitFor(() => expect(closed().join()).toContain('meridian zone accept-global'), WAIT);
    expect(opened()).toEqual(['globalToZone']);
    expect(store.rows).toEqual(before);
  });

  it('sends its resources to its own global', async () => {
    const store = await globalOf('ours');
    const { port } = await startGlobal(store);
    startZone(port, () => clusterAdmission(zone, 'grpc://g:1', systemClock));
    await vi.waitFor(async () => {
      const rows = await store.list({ type: 'Dataplane' });
      expect(rows.map(({ spec }) => spec['networking'])).toMatchObject([{ address: '10.0.0.1' }]);
    }, WAIT);
    await vi.waitFor(() => expect(opened()).toHaveLength(3), WAIT);
  });
});

it('sends its resources to global again when its Zone row and all owned rows are deleted', async () => {
  const store = new TinyStore();
  const { port } = await startGlobal(store);
  await zone.write({ op: 'create', key: dataplane('mine'), labels: { 'kuma.io/origin': 'zone' }, spec: proxyAt('10.0.0.1') });
  startZone(port);
  const count = async (): Promise<number> => await store.count({ type: 'Dataplane' });
  await vi.waitFor(async () => expect(await count()).toBe(1), WAIT);
  for (const row of await store.list({ type: 'Dataplane' })) await store.write({ op: 'delete', key: row });
  await store.write({ op: 'delete', key: eastRow });
  await vi.waitFor(async () => expect(await count()).toBe(1), WAIT);
  expect(await store.get(eastRow)).toBeDefined();
  expect(closed().join()).toContain('the Zone "east" was removed');
});

it('ends its streams with a readable reason when it stops', async () => {
  const lines: string[] = [];
  const { server, port } = await startGlobal(
    new TinyStore(),
    pino({ level: 'info' }, { write: (line) => void lines.push(line) }),
  );
  startZone(port);
  await vi.waitFor(() => expect(opened()).toHaveLength(3), WAIT);
  await vi.waitFor(() => expect(lines.filter((line) => line.includes('stream opened'))).toHaveLength(3), WAIT);
  stop.abort();
  await server.close();
  const ends = (): string[] => lines.filter((line) => line.includes('stream closed'));
  await vi.waitFor(() => expect(ends()).toHaveLength(3), WAIT);
  for (const line of ends()) expect(line).toContain('"reason":"stream unavailable: this control plane stops');
});

describe('two stores under the name of one zone', () => {
  const meshService: ResourceKey = { type: 'MeshService', mesh: 'default', name: 'cart' };
  let store: TinyStore;
  let stores: StoreAdmission;
  let port: number;

  beforeEach(async () => {
    store = new TinyStore();
    stores = new StoreAdmission({ store, instanceId: 'global-1', clock: systemClock, log: silent });
    running.push(stores.run(stop.signal));
    ({ port } = await startGlobal(store, silent, stores));
    for (const name of ['one', 'two']) await zone.write({ op: 'create', key: dataplane(name), ...proxy });
    await zone.write({ op: 'create', key: meshService, labels: { 'kuma.io/origin': 'zone' }, spec: { ports: [{ port: 80 }] } });
  });

  const proxy = { labels: { 'kuma.io/origin': 'zone' }, spec: proxyAt('10.0.0.1') };
  const proxies = async (): Promise<number> => await store.count({ type: 'Dataplane' });

  function startOther(other: TinyStore, storeId: string): string[] {
    const reasons: string[] = [];
    const observe: SyncObserver = (event) => void (event.kind === 'opened' && reasons.push(`opened ${event.stream}`));
    const log = pino({ level: 'warn' }, { write: (line) => void reasons.push(line) });
    running.push(connectZone(other, port, stop.signal, { storeId, observe, log }));
    return reasons;
  }

  it('are a conflict: the second is refused with a reason and changes nothing on either side', async () => {
    startZone(port);
    await vi.waitFor(async () => expect(await proxies()).toBe(2), WAIT);
    await vi.waitFor(async () => expect(await store.count({ type: 'MeshService' })).toBe(1), WAIT);
    const before = [...store.rows.keys()];
    const other = new TinyStore();
    await other.write({
      op: 'create',
      key: { type: 'Mesh', mesh: '', name: 'theirs' },
      labels: fromGlobal,
      spec: {},
      syncVersion: 'v',
    });
    const reasons = startOther(other, 'another-store');
    await vi.waitFor(() => expect(reasons.join()).toContain('meridian zone adopt east'), WAIT);
    expect(reasons.join()).not.toContain('opened');
    expect([...store.rows.keys()].filter((key) => !before.includes(key))).toEqual([]);
    expect(await proxies()).toBe(2);
    expect(other.rows.size).toBe(1);
    expect(closed()).toEqual([]);
    await vi.waitFor(() => expect(stores.conflicts()).toEqual(['east']), WAIT);
  });

  it('replace each other when the other one is accepted: each is compared from the start', async () => {
    startZone(port);
    await vi.waitFor(async () => expect(await proxies()).toBe(2), WAIT);
    const other = new TinyStore();
    const reasons = startOther(other, 'another-store');
    await vi.waitFor(() => expect(reasons.join()).toContain('meridian zone adopt east'), WAIT);
    await acceptPeer(store, zoneStoreKey('east'), undefined, eastRow);
    await vi.waitFor(() => expect(closed().join()).toContain('belongs to store another-store'), WAIT);
    await vi.waitFor(async () => expect(await proxies()).toBe(0), WAIT);
    await acceptPeer(store, zoneStoreKey('east'), 'store-of-east', eastRow);
    await vi.waitFor(async () => expect(await proxies()).toBe(2), WAIT);
  });
});

it('two control planes with one store id: the older stream ends, and its control plane restores its rows on global', async () => {
  const store = new TinyStore();
  const { port } = await startGlobal(store);
  for (const name of ['one', 'two'])
    await zone.write({ op: 'create', key: dataplane(name), labels: { 'kuma.io/origin': 'zone' }, spec: proxyAt('10.0.0.1') });
  const count = async (): Promise<number> => await store.count({ type: 'Dataplane' });
  startZone(port);
  await vi.waitFor(async () => expect(await count()).toBe(2), WAIT);
  // A copy of the database from before: what it does not have is removed from global, and that must not stay so.
  const leave = new AbortController();
  const observe: SyncObserver = (event) => {
    if (event.kind === 'acknowledged' && event.type === 'Dataplane') leave.abort();
  };
  running.push(connectZone(new TinyStore(), port, AbortSignal.any([stop.signal, leave.signal]), { observe }));
  await vi.waitFor(() => expect(leave.signal.aborted).toBe(true), WAIT);
  await vi.waitFor(() => expect(closed().join()).toContain('has opened later and taken over'), WAIT);
  await vi.waitFor(async () => expect(await count()).toBe(2), WAIT);
});

describe('a global that answers a health check with an error', () => {
  it('because it does not know the zone yet is still synced with', async () => {
    let isKnown = false;
    const healthCheck: GlobalManners['healthCheck'] = () =>
      isKnown ? 0 : { code: status.NOT_FOUND, details: 'Zone "east" not found' };
    const onStream: GlobalManners['onStream'] = (_call, name) => void (isKnown ||= name.endsWith('Sync'));
    const port = await playGlobal({ healthCheck, onStream }, stop.signal);
    startZone(port);
    await vi.waitFor(() => expect(opened()).toHaveLength(5), WAIT);
    // The zone has opened its streams before global hears of them.
    await vi.waitFor(() => expect(isKnown).toBe(true), WAIT);
    expect(closed()).toEqual([]);
  });

  it('is asked again, and reconnected when it turns out to be Meridian', async () => {
    let asked = 0;
    const healthCheck: GlobalManners['healthCheck'] = () => {
      asked += 1;
      return asked === 1 ? { code: status.INTERNAL, details: 'not yet' } : 0;
    };
    const port = await playGlobal({ healthCheck, features: [feature.meridian] }, stop.signal);
    startZone(port);
    await vi.waitFor(() => expect(opened()).toHaveLength(10), WAIT);
    expect(asked).toBe(3);
  });

  it('is resumed with at once when its header says that it is Meridian', async () => {
    const resumed: string[] = [];
    const onStream: GlobalManners['onStream'] = (call, name) => {
      if (name !== 'globalToZoneSync') return;
      call.on('data', (bytes: Buffer) => {
        const { typeUrl, node } = decodeDeltaRequest(bytes);
        if (node.metadata !== undefined && readNodeMetadata(node.metadata).resumes) resumed.push(typeUrl);
      });
    };
    const healthCheck = () => ({ code: status.INTERNAL, details: 'not now' });
    const manners = { healthCheck, onStream, features: [feature.meridian], saysFeaturesWithErrors: true };
    startZone(await playGlobal(manners, stop.signal));
    await vi.waitFor(() => expect(resumed).toContain('Mesh'), WAIT);
  });

  it('and is Meridian, as its streams say, takes nothing from the zone, and is resumed with', async () => {
    const mesh = { type: 'Mesh', mesh: '', name: 'kept' };
    await zone.write({ op: 'create', key: mesh, labels: fromGlobal, spec: {}, syncVersion: 'v' });
    const subscribed: boolean[] = [];
    const features = new Metadata();
    features.set('features', feature.meridian);
    const onStream: GlobalManners['onStream'] = (call, name) => {
      if (name !== 'globalToZoneSync') return;
      call.sendMetadata(features);
      call.on('data', (bytes: Buffer) => {
        const { typeUrl, node, responseNonce } = decodeDeltaRequest(bytes);
        if (typeUrl !== 'Mesh' || responseNonce !== '') return;
        subscribed.push(node.metadata !== undefined && readNodeMetadata(node.metadata).resumes);
        // The zone would prune its Mesh by this full state.
        const none = { entries: [], removed: [], isPartial: false, isWithdrawal: false };
        if (subscribed.at(-1) === false)
          call.write(encodeDeltaResponse({ typeUrl, nonce: '1', controlPlane: 'global', ...none }));
      });
    };
    const healthCheck = () => ({ code: status.INTERNAL, details: 'a proxy before global' });
    startZone(await playGlobal({ healthCheck, onStream }, stop.signal));
    await vi.waitFor(() => expect(subscribed.at(-1)).toBe(true), WAIT);
    expect(await zone.get(mesh)).toBeDefined();
  });

  it.each([status.UNAVAILABLE, status.UNAUTHENTICATED, status.FAILED_PRECONDITION])(
    'with the status %s is not synced with',
    async (code) => {
      let asked = 0;
      const healthCheck: GlobalManners['healthCheck'] = () => {
        asked += 1;
        return { code, details: 'not now' };
      };
      const port = await playGlobal({ healthCheck }, stop.signal);
      startZone(port);
      await vi.waitFor(() => expect(asked).toBeGreaterThan(0), WAIT);
      stop.abort();
      await Promise.all(running);
      expect(opened()).toEqual([]);
    },
  );
});
