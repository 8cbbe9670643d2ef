// A server that moves to another port or address loses no request: clients keep the place that is open until the other one is (decision 105).
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { objectOf } from '../../src/resource/read-json.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { freePort } from '../support/free-port.ts';
import { EnvoyMesh, type Proxy } from './envoy-mesh.ts';
import { SteadyRequests } from './steady-requests.ts';
import { ZoneProcess } from './zone-process.ts';

const MESH = 'moving';
const workload = (name: string): Record<string, string> => ({ app: name, 'kuma.io/workload': name });

let zone: ZoneProcess;
let mesh: EnvoyMesh;
/** Ports of the client, by service. */
const ports = { outside: 0, cart: 0 };
let servicePort: number;
let egress: Proxy;
let client: Proxy;

beforeAll(async () => {
  zone = await ZoneProcess.start();
  mesh = await EnvoyMesh.open(MESH, zone);
  await mesh.put('MeshTrafficPermission', 'all', {
    spec: { rules: [{ default: { allow: [{ spiffeID: { type: 'Prefix', value: `spiffe://${MESH}.east.mesh.local` } }] } }] },
  });
  await mesh.put('MeshIdentity', 'identity', {
    spec: {
      selector: { dataplane: { matchLabels: {} } },
      provider: { type: 'Bundled', bundled: { autogenerate: { enabled: true } } },
    },
  });
  const outside = await mesh.application('outside', 'http');
  await mesh.put('MeshExternalService', 'outside', {
    spec: {
      match: { type: 'HostnameGenerator', port: 80, protocol: 'http' },
      endpoints: [{ address: '127.0.0.1', port: outside.port }],
    },
  });
  servicePort = (await mesh.application('cart', 'http')).port;
  await mesh.service('cart', { app: 'cart' });
  for (const key of Object.keys(ports) as (keyof typeof ports)[]) ports[key] = await freePort();
  const outbounds = [
    { port: ports.outside, backendRef: { kind: 'MeshExternalService', labels: { 'kuma.io/display-name': 'outside' }, port: 80 } },
    { port: ports.cart, backendRef: { kind: 'MeshService', name: 'cart', port: 80 } },
  ];
  client = await mesh.proxy('client', { labels: workload('client'), outbounds });
  await mesh.proxy('cart', { labels: workload('cart'), inbound: await inboundAt() });
  egress = await mesh.proxy('egress', { labels: workload('egress'), listeners: { zoneEgress: await placeAt() } });
  for (const port of Object.values(ports)) await vi.waitFor(async () => expect((await mesh.get(port)).status).toBe(200));
});
afterAll(async () => {
  await mesh.close();
  await zone.stop();
});

const INBOUND = { name: 'main', protocol: 'http', serviceAddress: '127.0.0.1' };
const placeAt = async (address = '127.0.0.1'): Promise<JsonObject> => ({ address, port: await freePort() });
const inboundAt = async (): Promise<JsonObject[]> => [{ ...INBOUND, port: await freePort(), servicePort }];

/** Replaces parts of `networking`. */
async function move(name: string, parts: JsonObject): Promise<void> {
  const { networking } = await mesh.read('Dataplane', name);
  await mesh.put('Dataplane', name, { labels: workload(name), networking: { ...objectOf(networking), ...parts } });
}

/** @returns the failures among the requests that go on meanwhile */
async function failuresAt(port: number, work: (requests: SteadyRequests) => Promise<void>): Promise<ReadonlyMap<string, number>> {
  const clients = [Infinity, 5, 1, 1].map((perConnection) => ({ port, perConnection }));
  const { failures } = await SteadyRequests.during(clients, async (requests) => {
    await requests.more(50);
    await work(requests);
    await mesh.settle();
    await requests.more(200);
  });
  return failures;
}

const publishedEgress = async (): Promise<unknown> =>
  objectOf(objectOf((await mesh.read('MeshExternalService', 'outside'))['status'])['zoneEgress'])['port'];

describe('the only egress', () => {
  it.each<[what: string, to: () => Promise<JsonObject>]>([
    ['port', () => placeAt()],
    ['address', () => placeAt('127.0.0.2')],
  ])('changes its %s', async (_, to) => {
    const failures = await failuresAt(ports.outside, async () => {
      for (let round = 0; round < 3; round += 1) {
        const zoneEgress = await to();
        await move('egress', { zoneEgress });
        await expect.poll(publishedEgress, { timeout: 20_000 }).toBe(zoneEgress['port']);
      }
    });
    expect(failures).toEqual(new Map());
  });

  it('moves to a port that another program has, while its control plane starts again', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const failures = await failuresAt(ports.outside, async (requests) => {
      await move('egress', { zoneEgress: { address: '127.0.0.1', port } });
      await requests.more(300);
      await zone.stop('SIGKILL');
      await zone.restart();
      await mesh.settle();
      await requests.more(300);
      taken.close();
      await expect.poll(publishedEgress, { timeout: 30_000 }).toBe(port);
    });
    expect(failures).toEqual(new Map());
  });

  it('is replaced by another Dataplane with another identity', async () => {
    const failures = await failuresAt(ports.outside, async (requests) => {
      const zoneEgress = await placeAt();
      await mesh.proxy('egress-2', { labels: workload('egress-2'), listeners: { zoneEgress } });
      await mesh.delete('Dataplane', 'egress');
      await expect.poll(publishedEgress, { timeout: 20_000 }).toBe(zoneEgress['port']);
      await vi.waitFor(async () => expect(await client.admin('/clusters')).toContain(`:${String(zoneEgress['port'])}::`));
      await requests.more(100);
      // It gets no changes any more.
      await egress.stop();
    });
    expect(failures).toEqual(new Map());
  });
});

describe('the only server of a service', () => {
  it.each<[what: string, to: () => Promise<JsonObject>]>([
    ['port', async () => ({ inbound: await inboundAt() })],
    ['address', () => Promise.resolve({ address: '127.0.0.2' })],
    ['address back', () => Promise.resolve({ address: '127.0.0.1' })],
  ])('changes its %s', async (_, to) => {
    const failures = await failuresAt(ports.cart, async (requests) => {
      for (let round = 0; round < 3; round += 1) {
        await move('cart', await to());
        await mesh.settle();
        await requests.more(100);
      }
    });
    expect(failures).toEqual(new Map());
  });
});
