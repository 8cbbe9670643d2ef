// A zone and a global over gRPC in one process: what must hold of a connection as a whole, whatever its streams carry.
import { Metadata, Server, ServerCredentials, status } from '@grpc/grpc-js';
import type { ServerDuplexStream, ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLogger } from '../../src/base/log.ts';
import { sinkOf, sourceOf } from '../../src/control-plane/store-ports.ts';
import { StoreZoneRegistry } from '../../src/global/store-zone-registry.ts';
import { AdminStreams } from '../../src/kds/admin-streams.ts';
import { Changelog } from '../../src/kds/changelog.ts';
import { runKdsClient } from '../../src/kds/client.ts';
import { feature } from '../../src/kds/features.ts';
import type { SyncEvent } from '../../src/kds/observer.ts';
import type { Admission } from '../../src/kds/receiver.ts';
import { globalSendRules, zoneSendRules } from '../../src/kds/rules.ts';
import { KdsServer } from '../../src/kds/server.ts';
import { globalService, syncService } from '../../src/kds/services.ts';
import type { JsonObject, ResourceKey } from '../../src/resource/types.ts';
import { validateResource } from '../../src/resource/validate-spec.ts';
import { encodeHealthCheckResponse } from '../../src/wire/kds-messages.ts';
import { clusterAdmission } from '../../src/zone/cluster-guard.ts';
import { TinyStore } from '../support/tiny-store.ts';

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

async function startZone(port: number, admission: () => Promise<Admission | null> = async () => null): Promise<void> {
  const changelog = new Changelog(sourceOf(zone), zoneSendRules({ zone: 'east' }), silent);
  running.push(changelog.run(stop.signal));
  await changelog.ready;
  const client = runKdsClient(
    {
      ...{ zone: 'east', address: `127.0.0.1:${String(port)}`, tls: null, ...limit, changelog, admission, log: silent },
      node: { version: '0', instanceId: 'zone-1', config: '{}' },
      sink: sinkOf(zone, 'global'),
      validate: validateResource,
      observe: (event) => void events.push(event),
      checkAgainMs: 50,
    },
    stop.signal,
  );
  running.push(client);
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
    await startZone(port, () => clusterAdmission(zone, 'grpc://g:1'));
    await vi.waitFor(() => expect(closed().join()).toContain('acceptNewCluster'), WAIT);
    expect(opened()).toEqual(['globalToZone']);
    expect(store.rows).toEqual(before);
  });

  it('tells its own what it has', async () => {
    const store = await globalOf('ours');
    const { port } = await startGlobal(store);
    await startZone(port, () => clusterAdmission(zone, 'grpc://g:1'));
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
  await startZone(port);
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
  await startZone(port);
  await vi.waitFor(() => expect(opened()).toHaveLength(5), WAIT);
  await vi.waitFor(() => expect(lines.filter((line) => line.includes('stream opened'))).toHaveLength(5), WAIT);
  stop.abort();
  await server.close();
  const ends = (): string[] => lines.filter((line) => line.includes('stream closed'));
  await vi.waitFor(() => expect(ends()).toHaveLength(5), WAIT);
  for (const line of ends()) expect(line).toContain('"reason":"stream unavailable: this control plane stops');
});

describe('a global that answers a health check with an error', () => {
  type Answer = { readonly code: status; readonly details: string } | null;
  type Manner = { readonly onSync?: () => void; readonly isMeridian?: boolean };

  /** @param answer null is a good one */
  async function startStranger(
    answer: () => Answer,
    { onSync = () => undefined, isMeridian = false }: Manner = {},
  ): Promise<number> {
    const server = new Server();
    const features = new Metadata();
    if (isMeridian) features.set('features', feature.meridian);
    const idle = (call: ServerDuplexStream<Buffer, Buffer>): void => {
      call.on('error', () => undefined);
      call.resume();
    };
    const syncs = (call: ServerDuplexStream<Buffer, Buffer>): void => {
      idle(call);
      onSync();
    };
    server.addService(syncService, { globalToZoneSync: syncs, zoneToGlobalSync: syncs });
    server.addService(globalService, {
      ...{ streamXDSConfigs: idle, streamStats: idle, streamClusters: idle },
      healthCheck: (call: ServerUnaryCall<Buffer, Buffer>, reply: sendUnaryData<Buffer>) => {
        const error = answer();
        call.sendMetadata(features);
        if (error === null) reply(null, encodeHealthCheckResponse({ intervalMs: 0 }));
        else reply(error);
      },
    });
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    stop.signal.addEventListener('abort', () => server.forceShutdown());
    return port;
  }

  it('because it does not know the zone before it syncs is synced with all the same', async () => {
    let isKnown = false;
    const port = await startStranger(() => (isKnown ? null : { code: status.NOT_FOUND, details: 'Zone "east" not found' }), {
      onSync: () => void (isKnown = true),
    });
    await startZone(port);
    await vi.waitFor(() => expect(opened()).toHaveLength(5), WAIT);
    // The zone has opened its streams before global hears of them.
    await vi.waitFor(() => expect(isKnown).toBe(true), WAIT);
    expect(closed()).toEqual([]);
  });

  it('is asked again, and connected to anew when it turns out to be one of ours', async () => {
    let asked = 0;
    const port = await startStranger(
      () => {
        asked += 1;
        return asked === 1 ? { code: status.INTERNAL, details: 'not yet' } : null;
      },
      { isMeridian: true },
    );
    await startZone(port);
    await vi.waitFor(() => expect(opened()).toHaveLength(10), WAIT);
    expect(asked).toBe(3);
  });

  it.each([status.UNAVAILABLE, status.UNAUTHENTICATED])('that says to stay away (%s) is not synced with', async (code) => {
    let asked = 0;
    const port = await startStranger(() => {
      asked += 1;
      return { code, details: 'not now' };
    });
    await startZone(port);
    await vi.waitFor(() => expect(asked).toBeGreaterThan(0), WAIT);
    stop.abort();
    await Promise.all(running);
    expect(opened()).toEqual([]);
  });
});
