// Requests of another zone while the ingress of a service moves, and while another one is written before its Envoy runs: none fails.
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { objectOf, objectsOf } from '../../src/resource/read-json.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { freePort } from '../support/free-port.ts';
import { EnvoyMesh, type Proxy } from './envoy-mesh.ts';
import { SteadyRequests } from './steady-requests.ts';
import { ZoneProcess } from './zone-process.ts';

const MESH = 'moving-ingress';
const workload = (name: string): Record<string, string> => ({ app: name, 'kuma.io/workload': name });

let planes: ZoneProcess[] = [];
const meshes: EnvoyMesh[] = [];
let west: EnvoyMesh;
let client: Proxy;
/** Of the outbound of the client in the other zone. */
let port: number;

const ingressAt = (at: number): JsonObject => ({
  zoneIngress: { address: '127.0.0.1', port: at, advertisedAddress: '127.0.0.1', advertisedPort: at },
});

beforeAll(async () => {
  planes = await ZoneProcess.startFleet(['east', 'west']);
  const [global, eastZone, westZone] = planes;
  if (global === undefined || eastZone === undefined || westZone === undefined) throw new Error('three control planes');
  const put = async (path: string, type: string, name: string, spec: JsonObject): Promise<void> => {
    await global.send('PUT', `/meshes/${MESH}/${path}/${name}`, { type, mesh: MESH, name, spec });
  };
  await global.send('PUT', `/meshes/${MESH}`, { type: 'Mesh', name: MESH, skipCreatingInitialPolicies: ['*'] });
  await put('meshtrafficpermissions', 'MeshTrafficPermission', 'all', {
    rules: [{ default: { allow: [{ spiffeID: { type: 'Prefix', value: `spiffe://${MESH}.east.mesh.local` } }] } }],
  });
  await put('meshidentities', 'MeshIdentity', 'identity', {
    selector: { dataplane: { matchLabels: {} } },
    provider: { type: 'Bundled', bundled: { autogenerate: { enabled: true } } },
  });
  const [east, there] = await Promise.all([EnvoyMesh.join(MESH, eastZone), EnvoyMesh.join(MESH, westZone)]);
  west = there;
  meshes.push(east, west);
  const { port: servicePort } = await west.application('cart', 'http');
  await west.service('cart', { app: 'cart' });
  const inbound = [{ name: 'main', port: await freePort(), servicePort, protocol: 'http' }];
  await west.proxy('cart', { labels: workload('cart'), inbound });
  await west.proxy('ingress', { labels: workload('ingress'), listeners: ingressAt(await freePort()) });
  port = await freePort();
  const backendRef = { kind: 'MeshService', labels: { 'kuma.io/display-name': 'cart', 'kuma.io/zone': 'west' }, port: 80 };
  client = await east.proxy('client', { labels: workload('client'), outbounds: [{ port, backendRef }] });
  await vi.waitFor(async () => expect((await east.get(port)).status).toBe(200));
});
afterAll(async () => {
  await Promise.all(meshes.map((mesh) => mesh.close()));
  await Promise.all(planes.map((plane) => plane.stop()));
});

/** The failures of cross-zone requests that go on meanwhile. */
async function failures(work: (requests: SteadyRequests) => Promise<void>): Promise<ReadonlyMap<string, number>> {
  const clients = [Infinity, 5, 1, 1].map((perConnection) => ({ port, perConnection }));
  const { failures: failed } = await SteadyRequests.during(clients, async (requests) => {
    await requests.more(50);
    await work(requests);
    await requests.more(200);
  });
  return failed;
}

async function move(to: number): Promise<void> {
  const { networking } = await west.read('Dataplane', 'ingress');
  await west.put('Dataplane', 'ingress', {
    labels: workload('ingress'),
    networking: { ...objectOf(networking), ...ingressAt(to) },
  });
}

/** Waits until the client in the other zone uses an ingress at this port. */
async function isUsed(at: number): Promise<void> {
  await vi.waitFor(async () => expect(await client.admin('/clusters')).toContain(`127.0.0.1:${String(at)}::`));
}

/** How many connections the listeners of an Envoy have, without that of its admin page. */
async function connectionsOf(proxy: Proxy): Promise<number> {
  const filter = encodeURIComponent(String.raw`^listener\.[^a].*\.downstream_cx_active$`);
  const lines = (await proxy.admin(`/stats?filter=${filter}`)).trim().split('\n');
  return lines.reduce((sum, line) => sum + Number(line.split(': ').at(-1)), 0);
}

const published = async (): Promise<unknown[]> =>
  objectsOf((await west.zone.read(`/meshes/${MESH}/meshzoneaddresses`))['items']).map(({ spec }) => objectOf(spec)['port']);

it('a second ingress is written first, and its Envoy runs later', async () => {
  const at = await freePort();
  const failed = await failures(async (requests) => {
    await west.put('Dataplane', 'ingress-2', {
      labels: workload('ingress'),
      networking: { address: '127.0.0.1', inbound: [{ port: await freePort(), state: 'Ignored' }], ...ingressAt(at) },
    });
    await requests.more(300);
    expect(await published()).not.toContain(at);
    const second = await west.proxy('ingress-2', { labels: workload('ingress'), listeners: ingressAt(at) });
    await isUsed(at);
    await requests.more(100);
    await west.delete('Dataplane', 'ingress-2');
    await vi.waitFor(async () => expect(await client.admin('/clusters')).not.toContain(`127.0.0.1:${String(at)}::`));
    // Its last requests are answered: the client has closed its connections.
    await vi.waitFor(async () => expect(await connectionsOf(second)).toBe(0));
    await second.stop();
  });
  expect(failed).toEqual(new Map());
});

it('the only ingress changes its port again and again', async () => {
  const failed = await failures(async (requests) => {
    for (let round = 0; round < 3; round += 1) {
      const at = await freePort();
      await move(at);
      await isUsed(at);
      await requests.more(100);
    }
  });
  expect(failed).toEqual(new Map());
});

it('the only ingress changes its port while the control plane of its zone is killed and starts again', async () => {
  const failed = await failures(async (requests) => {
    const at = await freePort();
    await move(at);
    await west.zone.stop('SIGKILL');
    await requests.more(200);
    await west.zone.restart();
    await isUsed(at);
    await requests.more(100);
  });
  expect(failed).toEqual(new Map());
});
