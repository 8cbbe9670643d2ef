// A zone and a global over gRPC in one process: what must hold of a connection as a whole, whatever its streams carry.
import { status } from '@grpc/grpc-js';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLogger } from '../../src/base/log.ts';
import { sinkOf, sourceOf } from '../../src/control-plane/store-ports.ts';
import { StoreZoneRegistry } from '../../src/global/store-zone-registry.ts';
import { AdminStreams } from '../../src/kds/admin-streams.ts';
import { Changelog } from '../../src/kds/changelog.ts';
import { feature } from '../../src/kds/features.ts';
import type { SyncEvent, SyncObserver } from '../../src/kds/observer.ts';
import type { Admission } from '../../src/kds/receiver.ts';
import { globalSendRules } from '../../src/kds/rules.ts';
import { KdsServer } from '../../src/kds/server.ts';
import type { JsonObject, ResourceKey } from '../../src/resource/types.ts';
import { validateResource } from '../../src/resource/validate-spec.ts';
import { clusterAdmission } from '../../src/zone/cluster-guard.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { connectZone } from './connected-zone.ts';
import { playGlobal, type GlobalManners } from './played-global.ts';

const WAIT = { timeout: 15_000, interval: 10 };
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

async function startGlobal(store: TinyStore, log = silent): Promise<{ server: KdsServer; port: number }> {
  const zones = new StoreZoneRegistry(store);
  const changelog = new Changelog(sourceOf(store), globalSendRules(), log);
  running.push(zones.run(stop.signal), changelog.run(stop.signal));
  await Promise.all([zones.loaded, changelog.ready]);
  const server = new KdsServer({
    ...{ host: '127.0.0.1', port: 0, tls: null, ...limit, changelog, zones, admin: new AdminStreams() },
    node: { version: '0', instanceId: 'global-1', config: '' },
    sinkOf: (name) => sinkOf(store, name),
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

  it('tells a global of another cluster nothing, and takes nothing from a zone of its name there (engine 14)', async () => {
    const store = await globalOf('theirs');
    const { port } = await startGlobal(store);
    const before = new Map(store.rows);
    startZone(port, () => clusterAdmission(zone, 'grpc://g:1'));
    await vi.waitFor(() => expect(closed().join()).toContain('acceptNewCluster'), WAIT);
    expect(opened()).toEqual(['globalToZone']);
    expect(store.rows).toEqual(before);
  });

  it('tells its own what it has', async () => {
    const store = await globalOf('ours');
    const { port } = await startGlobal(store);
    startZone(port, () => clusterAdmission(zone, 'grpc://g:1'));
    await vi.waitFor(async () => {
      const rows = await store.list({ type: 'Dataplane' });
      expect(rows.map(({ spec }) => spec['networking'])).toMatchObject([{ address: '10.0.0.1' }]);
    }, WAIT);
    await vi.waitFor(() => expect(opened()).toHaveLength(5), WAIT);
  });
});

it('gives global back what a connected zone has when its Zone row is removed and all it owns with it', async () => {
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

it('ends streams at its stop with a reason that people can read', async () => {
  const lines: string[] = [];
  const { server, port } = await startGlobal(
    new TinyStore(),
    pino({ level: 'info' }, { write: (line) => void lines.push(line) }),
  );
  startZone(port);
  await vi.waitFor(() => expect(opened()).toHaveLength(5), WAIT);
  await vi.waitFor(() => expect(lines.filter((line) => line.includes('stream opened'))).toHaveLength(5), WAIT);
  stop.abort();
  await server.close();
  const ends = (): string[] => lines.filter((line) => line.includes('stream closed'));
  await vi.waitFor(() => expect(ends()).toHaveLength(5), WAIT);
  for (const line of ends()) expect(line).toContain('"reason":"stream unavailable: this control plane stops');
});

describe('a global that answers a health check with an error', () => {
  it('because it does not know the zone before it syncs is synced with all the same', async () => {
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

  it('is asked again, and connected to anew when it turns out to be one of ours', async () => {
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

  it.each([status.UNAVAILABLE, status.UNAUTHENTICATED])('that says to stay away (%s) is not synced with', async (code) => {
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
  });
});
