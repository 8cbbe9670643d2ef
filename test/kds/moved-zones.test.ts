// Two replicas of a global on one store, and a zone behind a load balancer: the zone is moved from one replica to the other.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { AdminStreams } from '../../src/kds/protocol/admin-streams.ts';
import { Changelog } from '../../src/kds/log/changelog.ts';
import { feature } from '../../src/kds/protocol/features.ts';
import { globalSendRules } from '../../src/kds/protocol/rules.ts';
import { KdsServer } from '../../src/kds/server/server.ts';
import type { SyncEvent, SyncObserver } from '../../src/kds/protocol/sync-events.ts';
import { KnownZones } from '../../src/peering/known-zones.ts';
import { validateResource } from '../../src/resource/validate-spec.ts';
import { FenceWatch } from '../../src/store/fence-watch.ts';
import { TcpProxy } from '../chaos/tcp-proxy.ts';
import { following } from '../support/following.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { WAIT } from '../support/wait.ts';
import { connectZone } from './connected-zone.ts';
import { PlayedZone } from './played-zone.ts';
import { ending, open } from './server-under-attack.ts';
import { Client, credentials, status } from '@grpc/grpc-js';
import { syncService } from '../../src/kds/protocol/services.ts';

const log = createLogger('silent');
const policy = (name: string) => ({ type: 'MeshTimeout', mesh: 'default', name });

type Replica = { readonly server: KdsServer; readonly port: number; readonly events: SyncEvent[] };

let store: TinyStore;
let stop: AbortController;
let running: Promise<unknown>[];
let started: AsyncDisposableStack;

beforeEach(async () => {
  store = new TinyStore();
  stop = new AbortController();
  running = [];
  started = new AsyncDisposableStack();
  started.defer(async () => {
    stop.abort();
    await Promise.all(running);
  });
  await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: 'default' }, labels: {}, spec: {} });
  for (let n = 0; n < 20; n += 1) await store.write({ op: 'create', key: policy(`p-${String(n)}`), labels: {}, spec: {} });
});
afterEach(() => started.disposeAsync());

async function startReplica(): Promise<Replica> {
  const events: SyncEvent[] = [];
  const zones = new KnownZones(store, following);
  const changelog = new Changelog(store, globalSendRules(), log);
  const fences = new FenceWatch(store, following);
  running.push(zones.run(stop.signal), changelog.run(stop.signal), fences.run(stop.signal));
  await Promise.all([zones.loaded, changelog.ready]);
  const server = new KdsServer({
    ...{ clock: systemClock, host: '127.0.0.1', port: 0, tls: null, maxMessageBytes: 10_485_760 },
    ...{ changelog, zones, admin: new AdminStreams(systemClock), store, fences, validate: validateResource, log },
    node: { version: '0', instanceId: 'global', config: '' },
    observe: (event) => void events.push(event),
  });
  started.defer(() => server.close());
  return { server, port: await server.listen(), events };
}

function dial({ port }: Replica): Client {
  const client = new Client(`127.0.0.1:${String(port)}`, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  started.defer(() => client.close());
  return client;
}

const resourcesSent = ({ events }: Replica): number =>
  events.reduce((sum, event) => sum + (event.kind === 'sent' ? event.resources : 0), 0);

describe('a zone that is moved', () => {
  async function startMovingZone() {
    const [first, second] = [await startReplica(), await startReplica()];
    const balancer = await TcpProxy.start(first.port);
    started.defer(() => balancer.close());
    const zone = new TinyStore();
    const written: string[] = [];
    zone.beforeWrite = (write) => void written.push(write.key.name);
    const observe: SyncObserver = () => undefined;
    const port = Number(balancer.address.split(':')[1]);
    running.push(connectZone(zone, port, stop.signal, { observe }));
    await vi.waitFor(() => expect(first.server.movableZones(0)).toEqual(['east']), WAIT);
    await vi.waitFor(async () => expect(await zone.count({ type: 'MeshTimeout' })).toBe(20), WAIT);
    return { first, second, balancer, zone, written };
  }

  it('gets only the changes in between from the other replica', async () => {
    const { first, second, balancer, zone, written } = await startMovingZone();
    balancer.target = second.port;
    written.length = 0;
    first.server.moveZones(new Set(['east']));
    await vi.waitFor(() => expect(second.server.movableZones(0)).toEqual(['east']), WAIT);
    expect(resourcesSent(second)).toBe(0);
    expect(written).toEqual([]);
    expect([first.server.zoneCount, second.server.zoneCount, first.server.hasZone('east')]).toEqual([0, 1, false]);

    await store.write({ op: 'create', key: policy('later'), labels: {}, spec: {} });
    await vi.waitFor(async () => expect(await zone.count({ type: 'MeshTimeout' })).toBe(21), WAIT);
    balancer.target = first.port;
    second.server.moveZones(new Set(['east']));
    await vi.waitFor(() => expect(first.server.movableZones(0)).toEqual(['east']), WAIT);
    expect(resourcesSent(second)).toBe(1);
  });

  it('leaves a replica that drains, which takes no stream and no connection any more', async () => {
    const { first, second, balancer } = await startMovingZone();
    const client = dial(first);
    const bystander = new PlayedZone(client, 'west', [feature.hashSuffix]);
    bystander.subscribe('MeshTimeout');
    await bystander.take();
    await vi.waitFor(() => expect(first.server.movableZones(0)).toEqual(['east', 'west']), WAIT);
    balancer.target = second.port;
    const drained = first.server.drain(60_000);
    const refused = await ending(open(client, syncService.globalToZoneSync, 'north'));
    expect(refused).toMatchObject({ code: status.UNAVAILABLE, details: expect.stringContaining('stops') as unknown });
    await drained;
    await vi.waitFor(() => expect(second.server.movableZones(0)).toEqual(['east']), WAIT);
    await expect(bystander.take()).rejects.toThrow('UNAVAILABLE');
    expect(first.server.zoneCount).toBe(0);
    expect(resourcesSent(second)).toBe(0);
  });
});

describe('a replica', () => {
  it('moves no zone whose first state is on its way, and zones that resume before the others', async () => {
    const replica = await startReplica();
    const zones: PlayedZone[] = [];
    for (const name of ['kuma', 'early', 'late']) {
      const zone = new PlayedZone(dial(replica), name, [feature.hashSuffix]);
      zones.push(zone);
      zone.subscribe('MeshTimeout', name === 'kuma' ? undefined : new Map());
      if (name !== 'late') await zone.take();
      await vi.waitFor(() => expect(replica.server.zoneCount).toBe(zones.length), WAIT);
    }
    await vi.waitFor(() => expect(replica.server.movableZones(0)).toEqual(['early', 'kuma']), WAIT);
    await zones[2]?.take();
    await vi.waitFor(() => expect(replica.server.movableZones(0)).toEqual(['early', 'late', 'kuma']), WAIT);
    expect(replica.server.movableZones(60_000)).toEqual([]);
  });

  it('that drains ends the streams of zones with an unfinished first state last', async () => {
    const replica = await startReplica();
    const zone = new PlayedZone(dial(replica), 'east', [feature.hashSuffix]);
    zone.subscribe('MeshTimeout');
    await vi.waitFor(() => expect(resourcesSent(replica)).toBe(20), WAIT);
    await replica.server.drain(0);
    expect(replica.server.zoneCount).toBe(1);
    await zone.take();
    await vi.waitFor(() => expect(replica.server.movableZones(0)).toEqual(['east']), WAIT);
    await replica.server.drain(60_000);
    expect(replica.server.zoneCount).toBe(0);
  });
});
