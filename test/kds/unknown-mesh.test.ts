// A zone has a Mesh that its global never had, as after the restore of an old backup: it keeps the Mesh until an operator decides on
// global. A Mesh that was deleted on global while the zone was away is deleted at once.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { following } from '../support/following.ts';
import { createLogger } from '../../src/base/log.ts';
import { KnownZones } from '../../src/peering/known-zones.ts';
import { AdminStreams } from '../../src/kds/protocol/admin-streams.ts';
import { Changelog } from '../../src/kds/log/changelog.ts';
import type { KdsClientOptions } from '../../src/kds/client/client.ts';
import type { SyncEvent } from '../../src/kds/protocol/sync-events.ts';
import { globalSendRules } from '../../src/kds/protocol/rules.ts';
import { KdsServer } from '../../src/kds/server/server.ts';
import type { ResourceKey } from '../../src/resource/types.ts';
import { validateResource } from '../../src/resource/validate-spec.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { connectZone } from './connected-zone.ts';

const WAIT = { timeout: 90_000, interval: 10 };
const log = createLogger('silent');
const mesh = (name: string): ResourceKey => ({ type: 'Mesh', mesh: '', name });
const timeout: ResourceKey = { type: 'MeshTimeout', mesh: 'shop', name: 'slow' };
const own: ResourceKey = { type: 'MeshService', mesh: 'shop', name: 'cart' };
const fromGlobal = { labels: { 'kuma.io/origin': 'global' }, syncVersion: 'v' };
const targetRef = { targetRef: { kind: 'Mesh' } };

let stop: AbortController;
let running: Promise<unknown>[];
let global: TinyStore;
let zone: TinyStore;
let events: SyncEvent[];

beforeEach(async () => {
  stop = new AbortController();
  running = [];
  events = [];
  global = new TinyStore();
  zone = new TinyStore();
  await global.write({ op: 'create', key: mesh('default'), labels: {}, spec: {} });
  for (const name of ['default', 'shop']) await zone.write({ op: 'create', key: mesh(name), spec: {}, ...fromGlobal });
  await zone.write({ op: 'create', key: timeout, spec: targetRef, ...fromGlobal, owner: mesh('shop') });
  await zone.write({ op: 'create', key: { ...timeout, mesh: 'default', name: 'old' }, spec: targetRef, ...fromGlobal });
  await zone.write({ op: 'create', key: own, labels: { 'kuma.io/origin': 'zone' }, spec: {}, owner: mesh('shop') });
});

afterEach(async () => {
  stop.abort();
  await Promise.all(running);
});

async function connect(options: Partial<KdsClientOptions> = {}): Promise<void> {
  const zones = new KnownZones(global, following);
  const changelog = new Changelog(global, globalSendRules(), log);
  running.push(zones.run(stop.signal), changelog.run(stop.signal));
  await Promise.all([zones.loaded, changelog.ready]);
  const server = new KdsServer({
    clock: systemClock,
    ...{
      host: '127.0.0.1',
      port: 0,
      tls: null,
      maxMessageBytes: 10_485_760,
      changelog,
      zones,
      admin: new AdminStreams(systemClock),
      log,
    },
    node: { version: '0', instanceId: 'global-1', config: '' },
    store: global,
    validate: validateResource,
    observe: (event) => void events.push(event),
  });
  const port = await server.listen();
  stop.signal.addEventListener('abort', () => running.push(server.close()));
  running.push(connectZone(zone, port, stop.signal, options));
}

const names = (type: string): string[] => [...zone.rows.values()].filter((row) => row.type === type).map(({ name }) => name);

/** By type, what was withheld last. */
function withheld(): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (const event of events) if (event.kind === 'withheld') found[event.type] = [...event.resources.keys()];
  return found;
}

async function isHeld(timeouts = ['slow']): Promise<void> {
  await vi.waitFor(() => expect(withheld()).toMatchObject({ Mesh: ['shop.'], MeshTimeout: ['slow.shop'] }), WAIT);
  // A missing resource in a mesh that global has is removed as usual.
  await vi.waitFor(() => expect(names('MeshTimeout')).toEqual(timeouts), WAIT);
  expect(names('Mesh')).toEqual(['default', 'shop']);
  expect(names('MeshService')).toEqual(['cart']);
}

it('a mesh unknown to global is kept with its resources and a reason, until it is created and deleted on global', async () => {
  await connect();
  await isHeld();
  await global.write({ op: 'create', key: mesh('shop'), labels: {}, spec: {} });
  // Global has the mesh, and nothing in it.
  await vi.waitFor(() => expect(names('MeshTimeout')).toEqual([]), WAIT);
  expect(names('Mesh')).toEqual(['default', 'shop']);
  await global.write({ op: 'delete', key: mesh('shop') });
  await vi.waitFor(() => expect(names('Mesh')).toEqual(['default']), WAIT);
});

it('a mesh is deleted at once when global deleted it while the zone was disconnected', async () => {
  await global.write({ op: 'create', key: mesh('shop'), labels: {}, spec: {} });
  await global.write({ op: 'delete', key: mesh('shop') });
  await connect();
  await vi.waitFor(() => expect(names('Mesh')).toEqual(['default']), WAIT);
  expect(withheld()).toEqual({});
});

describe('a mesh that global has with kds-sync disabled', () => {
  beforeEach(async () => {
    await global.write({ op: 'create', key: mesh('shop'), labels: { 'kuma.io/kds-sync': 'disabled' }, spec: {} });
  });

  it('is deleted at once from a zone that has nothing of its own in it', async () => {
    await zone.write({ op: 'delete', key: own });
    await connect();
    await vi.waitFor(() => expect(names('Mesh')).toEqual(['default']), WAIT);
    expect(withheld()).toEqual({});
  });

  it('is kept in a zone that has, until it is deleted on global', async () => {
    await connect();
    const refused = (): unknown => events.findLast((event) => event.kind === 'refused' && event.type === 'Mesh');
    await vi.waitFor(() => expect(refused()).toMatchObject({ refused: { first: ['shop.'] } }), WAIT);
    expect([names('Mesh'), names('MeshService'), withheld()]).toEqual([['default', 'shop'], ['cart'], {}]);
    await global.write({ op: 'delete', key: mesh('shop') });
    await vi.waitFor(() => expect(names('Mesh')).toEqual(['default']), WAIT);
  });
});

it('a mesh unknown to global is kept with more resources than a request can name, until it is created on global', async () => {
  const many = Array.from({ length: 60 }, (_, n) => `slow-${'n'.repeat(100)}-${String(n)}`);
  for (const name of many)
    await zone.write({ op: 'create', key: { ...timeout, name }, spec: targetRef, ...fromGlobal, owner: mesh('shop') });
  await connect({ maxMessageBytes: 8_000 });
  await isHeld(['slow', ...many]);
  await global.write({ op: 'create', key: mesh('shop'), labels: {}, spec: {} });
  await vi.waitFor(() => expect(names('MeshTimeout')).toEqual([]), WAIT);
});
