// All zones connect to one global at once, as when a load balancer restarts: they enter in the order in which they came, and all do.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Client, credentials } from '@grpc/grpc-js';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { AdminStreams } from '../../src/kds/protocol/admin-streams.ts';
import { Changelog } from '../../src/kds/log/changelog.ts';
import { feature } from '../../src/kds/protocol/features.ts';
import { globalSendRules } from '../../src/kds/protocol/rules.ts';
import { KdsServer } from '../../src/kds/server/server.ts';
import { createSelfSigned } from '../../src/base/self-signed.ts';
import { KnownZones } from '../../src/peering/known-zones.ts';
import { validateResource } from '../../src/resource/validate-spec.ts';
import { following } from '../support/following.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { WAIT } from '../support/wait.ts';
import { PlayedZone } from './played-zone.ts';

const ZONES = 60;
const names = Array.from({ length: ZONES }, (_, n) => `zone-${String(n).padStart(3, '0')}`);

let server: KdsServer;
let heap: number;
/** Zones in the order in which their streams opened. */
let opened: string[];
let port: number;
let started: AsyncDisposableStack;
let connect: () => Client;

beforeEach(async () => {
  started = new AsyncDisposableStack();
  heap = 0;
  opened = [];
  const log = createLogger('silent');
  const store = new TinyStore();
  await store.write({ op: 'create', key: { type: 'MeshTimeout', mesh: 'default', name: 'slow' }, labels: {}, spec: {} });
  const zones = new KnownZones(store, following);
  const changelog = new Changelog(store, globalSendRules(), log);
  const stop = new AbortController();
  const running = [zones.run(stop.signal), changelog.run(stop.signal)];
  started.defer(async () => {
    stop.abort();
    await Promise.all(running);
  });
  await Promise.all([zones.loaded, changelog.ready]);
  const { certPem, keyPem } = await createSelfSigned('server', ['localhost'], new Date());
  const material = { cert: Buffer.from(certPem), key: Buffer.from(keyPem), ca: null };
  server = new KdsServer({
    ...{ clock: systemClock, host: '127.0.0.1', port: 0, maxMessageBytes: 10_485_760, usedHeap: () => heap },
    tls: { material, requireClientCert: false, minVersion: 'TLSv1.3' },
    ...{ changelog, zones, admin: new AdminStreams(systemClock), store, validate: validateResource, log },
    node: { version: '0', instanceId: 'global', config: '' },
    observe: (event) => void (event.kind === 'opened' && opened.push(event.peer)),
  });
  started.defer(() => server.close());
  port = await server.listen();
  connect = () => {
    const tls = credentials.createSsl(null, null, null, { rejectUnauthorized: false });
    const client = new Client(`localhost:${String(port)}`, tls, { 'grpc.use_local_subchannel_pool': 1 });
    started.defer(() => client.close());
    return client;
  };
});
afterEach(() => started.disposeAsync());

function open(name: string): PlayedZone {
  return new PlayedZone(connect(), name, [feature.hashSuffix]);
}

async function join(zone: PlayedZone): Promise<void> {
  zone.subscribe('MeshTimeout');
  expect((await zone.take()).resources).toHaveLength(1);
}

it('zones that come while the heap is nearly full enter one by one, in the order in which they came', async () => {
  heap = 0.9;
  const zones: PlayedZone[] = [];
  for (const [index, name] of names.entries()) {
    zones.push(open(name));
    await vi.waitFor(() => expect(opened.length + server.waiting.zones).toBe(index + 1), WAIT);
  }
  expect(server.waiting.zones).toBeGreaterThan(0);
  await Promise.all(zones.map(join));
  expect(opened).toEqual(names);
  expect(server.waiting).toEqual({ zones: 0, longestMs: 0 });
});

it('all zones come back when all lose their connection at once', async () => {
  const first = names.map(open);
  await Promise.all(first.map(join));
  await vi.waitFor(() => expect(server.movableZones(0)).toHaveLength(ZONES), WAIT);
  for (const zone of first) zone.leave();
  await Promise.all(names.map((name) => join(open(name))));
  await vi.waitFor(() => expect(server.movableZones(0).toSorted()).toEqual(names), WAIT);
  expect(server.waiting.zones).toBe(0);
});
