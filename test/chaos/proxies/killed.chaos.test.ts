// Processes of two zones on PostgreSQL are killed while requests go on: ingresses, the proxies of servers, control planes. The mesh has
// the policies of a new mesh: a request that finds no connection is sent to another server (decision 67).
import { Agent } from 'node:http';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { JsonObject } from '../../../src/resource/types.ts';
import { freePort } from '../../support/free-port.ts';
import { sized } from '../../support/test-size.ts';
import type { Application } from '../../envoy/application.ts';
import { EnvoyMesh, type Proxy } from '../../envoy/envoy-mesh.ts';
import { SteadyRequests, type SteadyClient } from '../../envoy/steady-requests.ts';
import { ZoneProcess } from '../../envoy/zone-process.ts';

const MESH = 'killed';
/** Requests in flight on all servers of a service when a process is killed. */
const HELD = 4;
const CLIENTS = 12;
/** After each kill. */
const REQUESTS = sized({ push: 400, full: 20_000 });
const RETRIES = /^cluster\..*\.upstream_rq_retry$/;
/** What Envoy says of a request that was sent on a connection which broke. */
const IN_FLIGHT = 'connection termination';

type Server = { readonly application: Application; readonly proxy: Proxy };
type Service = 'stock' | 'catalog';

const meshes: EnvoyMesh[] = [];
let planes: ZoneProcess[] = [];
let east: EnvoyMesh;
let west: EnvoyMesh;
const servers = new Map<string, Server>();
const ingresses = new Map<string, Proxy>();
let cart: Proxy;
/** Of the outbounds of the cart. */
const ports = { stock: 0, catalog: 0 };
let clients: SteadyClient[] = [];
/** Requests for `/held` stay without an answer. */
let isHeld = false;

const workload = (name: string): Record<string, string> => ({ app: name, 'kuma.io/workload': name });

async function onGlobal(path: string, type: string, name: string, spec: JsonObject): Promise<void> {
  await planes[0]?.send('PUT', `/meshes/${MESH}/${path}/${name}`, { type, mesh: MESH, name, spec });
}

/** A policy of the cart for all that it calls. */
async function ofCart(path: string, type: string, conf: JsonObject): Promise<void> {
  const to = [{ targetRef: { kind: 'Mesh' }, default: conf }];
  await onGlobal(path, type, 'of-cart', { targetRef: { kind: 'Dataplane', labels: { app: 'cart' } }, to });
}

/** Resolves when the cart sends requests again under these conditions. */
async function retryOn(conditions: readonly string[]): Promise<void> {
  await ofCart('meshretries', 'MeshRetry', { http: { retryOn: [...conditions], perTryTimeout: '600s' } });
  const written = conditions.map((name) => name.replace(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase()).join();
  await vi.waitFor(async () =>
    expect(await cart.admin('/config_dump?resource=dynamic_route_configs')).toContain(`"retry_on": "${written}"`),
  );
}

const ofService = (service: string): Server[] =>
  [...servers].filter(([name]) => name.startsWith(service)).map(([, server]) => server);

/** Starts a proxy, `SERVICE-N` with its application or `ingress-N`, and waits until those that send requests to it know its address. */
async function start(name: string): Promise<void> {
  const [kind = ''] = name.split('-');
  const port = await freePort();
  const known = async (by: Iterable<Proxy>): Promise<void> => {
    for (const proxy of by) await vi.waitFor(async () => expect(await proxy.admin('/clusters')).toContain(`:${String(port)}::`));
  };
  if (kind === 'ingress') {
    const zoneIngress = { address: '127.0.0.1', port, advertisedAddress: '127.0.0.1', advertisedPort: port };
    ingresses.set(name, await west.proxy(name, { labels: workload(kind), listeners: { zoneIngress }, isBrought: true }));
    return await known([cart]);
  }
  const mesh = kind === 'stock' ? east : west;
  const application = servers.get(name)?.application ?? (await mesh.application(name, 'http'));
  application.answer = ({ path }) => (isHeld && path === '/held' ? 'hang' : {});
  const inbound = [{ name: 'main', port, servicePort: application.port, protocol: 'http' }];
  servers.set(name, { application, proxy: await mesh.proxy(name, { labels: workload(kind), inbound, isBrought: true }) });
  await known(kind === 'stock' ? [cart] : ingresses.values());
}

const held = (of: readonly Server[]): number =>
  of.reduce((total, { application }) => total + application.seen.filter(({ path }) => path === '/held').length, 0);

type Outcome = {
  readonly requests: SteadyRequests;
  /** Statuses of the requests that were in flight and got an answer, and how many of them the killed server had. */
  readonly statuses: readonly number[];
  readonly onIt: number;
};

/** Kills a proxy with requests in flight on it and others coming, and starts it again after many more. */
async function kill(name: string): Promise<Outcome> {
  const service: Service = name.startsWith('stock') ? 'stock' : 'catalog';
  const its = servers.get(name);
  const victim = its?.proxy ?? ingresses.get(name);
  const statuses: number[] = [];
  const agent = new Agent();
  const count = (): number[] => [held(ofService(service)), its === undefined ? 0 : held([its])];
  const [before = 0, own = 0] = count();
  isHeld = true;
  const inFlight = Promise.all(
    Array.from({ length: HELD }, async () => statuses.push((await east.get(ports[service], '/held', { agent })).status)),
  );
  await expect.poll(() => count()[0]).toBe(before + HELD);
  isHeld = false;
  const onIt = (count()[1] ?? 0) - own;
  const requests = await SteadyRequests.during(clients, async (going) => {
    await going.more(CLIENTS);
    await victim?.stop('SIGKILL');
    await going.more(REQUESTS);
    await start(name);
  });
  const answered = [...statuses];
  agent.destroy();
  await inFlight;
  return { requests, statuses: answered, onIt };
}

beforeAll(async () => {
  planes = await ZoneProcess.startFleet(['east', 'west']);
  const [global, eastZone, westZone] = planes;
  if (global === undefined || eastZone === undefined || westZone === undefined) throw new Error('three control planes');
  await global.send('PUT', `/meshes/${MESH}`, { type: 'Mesh', name: MESH });
  await onGlobal('meshtrafficpermissions', 'MeshTrafficPermission', 'all', {
    rules: [{ default: { allow: [{ spiffeID: { type: 'Prefix', value: `spiffe://${MESH}.east.mesh.local` } }] } }],
  });
  await onGlobal('meshidentities', 'MeshIdentity', 'identity', {
    selector: { dataplane: { matchLabels: {} } },
    provider: { type: 'Bundled', bundled: { autogenerate: { enabled: true } } },
  });
  // Many connections, so that all servers get requests; those in flight wait for as long as a busy machine needs.
  await ofCart('meshtimeouts', 'MeshTimeout', { http: { maxConnectionDuration: '200ms', requestTimeout: '0s' } });
  [east, west] = await Promise.all([EnvoyMesh.join(MESH, eastZone), EnvoyMesh.join(MESH, westZone)]);
  meshes.push(east, west);
  await east.service('stock', { app: 'stock' });
  await west.service('catalog', { app: 'catalog' });
  for (const service of Object.keys(ports) as Service[]) ports[service] = await freePort();
  const labels = { 'kuma.io/display-name': 'catalog', 'kuma.io/zone': 'west' };
  const outbounds = [
    { port: ports.stock, backendRef: { kind: 'MeshService', name: 'stock', port: 80 } },
    { port: ports.catalog, backendRef: { kind: 'MeshService', labels, port: 80 } },
  ];
  cart = await east.proxy('cart', { labels: workload('cart'), outbounds });
  for (const name of ['stock-1', 'stock-2', 'catalog-1', 'catalog-2', 'ingress-1', 'ingress-2']) await start(name);
  for (const port of Object.values(ports)) await vi.waitFor(async () => expect((await east.get(port)).status).toBe(200));
  clients = Array.from({ length: CLIENTS }, (_, at) => ({
    port: at % 2 === 0 ? ports.stock : ports.catalog,
    perConnection: at < CLIENTS / 2 ? Infinity : 10,
  }));
});
afterAll(async () => {
  await Promise.all(meshes.map((mesh) => mesh.close()));
  await Promise.all(planes.map((plane) => plane.stop()));
});

it.each(['ingress-2', 'stock-2'])('kill -9 of %s fails no request with the policies of a new mesh', async (name) => {
  const { requests, statuses } = await kill(name);
  expect(requests.failures).toEqual(new Map());
  expect(statuses).toEqual(statuses.map(() => 200));
});

it.each(['ingress-1', 'catalog-1', 'stock-1'])(
  'kill -9 of %s fails the requests in flight on it alone where these are not sent again',
  async (name) => {
    await retryOn(['ConnectFailure', 'RefusedStream']);
    const retries = await cart.sum(RETRIES);
    const { requests, statuses, onIt } = await kill(name);
    const failures = [...requests.failures];
    expect(failures.filter(([words]) => !words.includes(IN_FLIGHT))).toEqual([]);
    // A client has one request in flight.
    expect(failures.reduce((total, [, count]) => total + count, 0)).toBeLessThanOrEqual(CLIENTS);
    expect(statuses).toEqual(statuses.map(() => 503));
    if (servers.has(name)) expect(statuses).toHaveLength(onIt);
    else expect(statuses.length).toBeLessThanOrEqual(HELD);
    // An ingress finds another server by itself.
    if (!name.startsWith('catalog')) expect(await cart.sum(RETRIES)).toBeGreaterThan(retries);
  },
);

it('kill -9 of all control planes, and their start, fail no request: new servers count, first without global', async () => {
  const [global, ...zones] = planes;
  const requests = await SteadyRequests.during(clients, async (going) => {
    await Promise.all([global?.stop('SIGKILL'), east.zone.stop('SIGKILL')]);
    await going.more(REQUESTS);
    await west.zone.stop('SIGKILL');
    await going.more(REQUESTS);
    await Promise.all(zones.map((zone) => zone.restart()));
    for (const name of ['catalog-3', 'stock-3']) {
      await start(name);
      await expect.poll(() => going.answers.get(name)).toBeGreaterThan(0);
    }
    await global?.restart();
    await retryOn(['ConnectFailure']);
    await going.more(REQUESTS);
  });
  expect(requests.failures).toEqual(new Map());
});
