// What a zone offers to others is taken away while requests of another zone go on: ingresses, an identity, services. A service of all
// zones is served by the zone that is left, and a service of this zone alone answers with a clear error. No handshake fails.
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { objectsOf } from '../../../src/resource/read-json.ts';
import type { JsonObject } from '../../../src/resource/types.ts';
import { freePort } from '../../support/free-port.ts';
import { EnvoyMesh, type Proxy } from '../../envoy/envoy-mesh.ts';
import { SteadyRequests } from '../../envoy/steady-requests.ts';
import { ZoneProcess } from '../../envoy/zone-process.ts';

const MESH = 'withdrawn';
const CLIENTS = 4;
/** Requests after each step. */
const MORE = 100;
/** Envoy says it of a service without endpoints. */
const NO_SERVER = 'failed: 503 no healthy upstream';
/** The answers of `stock`. */
const [EAST, WEST] = ['stock-east', 'stock-west'];

let planes: ZoneProcess[] = [];
let east: EnvoyMesh;
let west: EnvoyMesh;
const proxies: Proxy[] = [];
const ingresses = new Map<string, Proxy>();
const meshes: EnvoyMesh[] = [];
/** Of the outbounds of the client: `stock` is in both zones, `catalog` in west. */
const ports = { stock: 0, catalog: 0 };

const workload = (name: string): Record<string, string> => ({ app: name, 'kuma.io/workload': name });

async function onGlobal(path: string, type: string, name: string, spec: JsonObject): Promise<void> {
  await planes[0]?.send('PUT', `/meshes/${MESH}/${path}/${name}`, { type, mesh: MESH, name, spec });
}

async function server(mesh: EnvoyMesh, service: string, answer: string): Promise<void> {
  await mesh.service(service, { app: service });
  const { port: servicePort } = await mesh.application(answer, 'http');
  const inbound = [{ name: 'main', port: await freePort(), servicePort, protocol: 'http' }];
  proxies.push(await mesh.proxy(answer, { labels: workload(service), inbound }));
}

async function ingress(name: string): Promise<void> {
  const port = await freePort();
  const zoneIngress = { address: '127.0.0.1', port, advertisedAddress: '127.0.0.1', advertisedPort: port };
  const proxy = await west.proxy(name, { labels: workload('ingress'), listeners: { zoneIngress } });
  proxies.push(proxy);
  ingresses.set(name, proxy);
}

/** Its Dataplane goes, and its Envoy goes on. */
async function withoutIngress(name: string): Promise<void> {
  await west.delete('Dataplane', name);
  onTestFinished(async () => ingresses.get(name)?.stop());
}

async function identify(mesh: EnvoyMesh): Promise<void> {
  await mesh.put('MeshIdentity', 'identity', {
    spec: {
      selector: { dataplane: { matchLabels: {} } },
      provider: { type: 'Bundled', bundled: { autogenerate: { enabled: true } } },
    },
  });
}

/** Handshakes that failed, on all sides. */
async function refused(): Promise<number> {
  const counts = await Promise.all(proxies.map((proxy) => proxy.sum(/\.ssl\.(connection_error|fail_verify_.*)$/)));
  return counts.reduce((total, count) => total + count, 0);
}

const answerOf = async (port: number): Promise<string> => {
  const { status, body } = await east.get(port);
  return status === 200 ? body : `failed: ${String(status)} ${body}`;
};

/** Both zones serve `stock`, and west serves `catalog`. */
async function whole(): Promise<void> {
  await expect.poll(() => answerOf(ports.catalog)).toBe('catalog');
  const seen = new Set<string>();
  await vi.waitFor(async () => expect(seen.add(await answerOf(ports.stock))).toContain(WEST));
}

type Outcome = { readonly stock: ReadonlyMap<string, number>; readonly catalog: ReadonlyMap<string, number> };

/** Asks both services while something is taken away, and some more after it. */
async function during(work: () => Promise<void>): Promise<Outcome> {
  await whole();
  const before = await refused();
  const clientsOf = (port: number): { port: number; perConnection: number }[] =>
    Array.from({ length: CLIENTS }, (_, at) => ({ port, perConnection: at % 2 === 0 ? Infinity : 5 }));
  let catalog: SteadyRequests | undefined;
  const stock = await SteadyRequests.during(clientsOf(ports.stock), async (going) => {
    catalog = await SteadyRequests.during(clientsOf(ports.catalog), async (others) => {
      await others.more(MORE);
      await work();
      await Promise.all([going.more(MORE), others.more(MORE)]);
    });
  });
  expect(await refused()).toBe(before);
  return { stock: stock.answers, catalog: catalog?.answers ?? new Map() };
}

/** Every request was answered, by these servers. */
function expectServed(answers: ReadonlyMap<string, number>, by: readonly string[]): void {
  expect([...answers.keys()].sort()).toEqual([...by].sort());
}

beforeAll(async () => {
  // A zone waits that long for the proxies of the others.
  const env = { MERIDIAN_MULTIZONE_ZONE_IDENTITY_CHANGE_DELAY: '5s' };
  planes = await ZoneProcess.startFleet(['east', 'west'], env);
  const [global, eastZone, westZone] = planes;
  if (global === undefined || eastZone === undefined || westZone === undefined) throw new Error('three control planes');
  await global.send('PUT', `/meshes/${MESH}`, { type: 'Mesh', name: MESH });
  await onGlobal('meshtrafficpermissions', 'MeshTrafficPermission', 'all', {
    rules: [{ default: { allow: [{ spiffeID: { type: 'Prefix', value: `spiffe://${MESH}.east.mesh.local` } }] } }],
  });
  await onGlobal('meshmultizoneservices', 'MeshMultiZoneService', 'stock', {
    selector: { meshService: { matchLabels: { 'kuma.io/display-name': 'stock' } } },
    ports: [{ port: 80, name: 'main', appProtocol: 'http' }],
  });
  // Both zones serve it at the same time.
  await onGlobal('meshloadbalancingstrategies', 'MeshLoadBalancingStrategy', 'spread', {
    to: [{ targetRef: { kind: 'Mesh' }, default: { localityAwareness: { disabled: true } } }],
  });
  [east, west] = await Promise.all([EnvoyMesh.join(MESH, eastZone), EnvoyMesh.join(MESH, westZone)]);
  meshes.push(east, west);
  await Promise.all([east, west].map(identify));
  await server(east, 'stock', EAST);
  await server(west, 'stock', WEST);
  await server(west, 'catalog', 'catalog');
  for (const name of ['ingress-1', 'ingress-2']) await ingress(name);
  for (const service of Object.keys(ports) as (keyof typeof ports)[]) ports[service] = await freePort();
  const ofWest = { 'kuma.io/display-name': 'catalog', 'kuma.io/zone': 'west' };
  const outbounds = [
    {
      port: ports.stock,
      backendRef: { kind: 'MeshMultiZoneService', labels: { 'kuma.io/display-name': 'stock' }, port: 80 },
    },
    { port: ports.catalog, backendRef: { kind: 'MeshService', labels: ofWest, port: 80 } },
  ];
  proxies.push(await east.proxy('cart', { labels: workload('cart'), outbounds }));
});
afterAll(async () => {
  await Promise.all(meshes.map((mesh) => mesh.close()));
  await Promise.all(planes.map((plane) => plane.stop()));
});

it('an ingress that is taken away leaves its requests to the other one: none fails', async () => {
  const { stock, catalog } = await during(() => withoutIngress('ingress-1'));
  expectServed(stock, [EAST, WEST]);
  expectServed(catalog, ['catalog']);
});

it('the last ingress that is taken away leaves its requests to the other zone', async () => {
  const { stock, catalog } = await during(async () => {
    await withoutIngress('ingress-2');
    await expect.poll(() => answerOf(ports.catalog)).toContain('failed: 503');
  });
  expectServed(stock, [EAST, WEST]);
  expectServed(catalog, ['catalog', NO_SERVER]);
});

it('an ingress that comes brings the requests back', async () => {
  await ingress('ingress-3');
  await whole();
});

it('an identity that is taken away leaves its requests to the other zone, and comes back', async () => {
  const { stock, catalog } = await during(async () => {
    await west.delete('MeshIdentity', 'identity');
    await expect.poll(() => answerOf(ports.catalog)).toContain('failed: 503');
    const steps = async (): Promise<unknown[]> =>
      objectsOf((await west.zone.read(`/meshes/${MESH}/_tls`))['withdrawals']).map(({ step }) => step);
    // No proxy of the zone has it then.
    await expect.poll(steps).toEqual(['trust']);
  });
  expectServed(stock, [EAST, WEST]);
  expectServed(catalog, ['catalog', NO_SERVER]);
  await identify(west);
  await whole();
});

it('services that are taken away leave their requests to the other zone', async () => {
  const { stock, catalog } = await during(async () => {
    await west.delete('MeshService', 'stock');
    await west.delete('MeshService', 'catalog');
    await expect.poll(() => answerOf(ports.catalog)).toContain('failed: ');
  });
  expectServed(stock, [EAST, WEST]);
  // The client loses its outbound.
  const others = [...catalog.keys()].filter(
    (answer) => !/^(catalog$|failed: (503 |connect ECONNREFUSED|read ECONNRESET))/.test(answer),
  );
  expect(others).toEqual([]);
});
