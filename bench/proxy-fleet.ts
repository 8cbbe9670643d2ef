// What a zone spends on many proxies: they join, a route changes, an endpoint changes, nothing happens, the zone starts again. The proxies declare
// their outbounds, or call all services at virtual addresses.
import { setTimeout as delay } from 'node:timers/promises';
import { credentials } from '@grpc/grpc-js';
import { objectOf, objectsOf } from '../src/resource/read-json.ts';
import { PlayedProxy } from '../test/ads/played-proxy.ts';
import { freePort } from '../test/support/free-port.ts';
import { answerOf, endChild, startLikeMeridian } from './children.ts';
import type { Context, Sections } from './context.ts';
import { proxiesEnv, startLoneZone } from './control-plane.ts';
import { parted } from './crew.ts';
import { FakeProxies } from './fake-proxies.ts';
import type { FloorProxiesCommand, FloorProxiesReport, FloorState } from './floor-proxies-process.ts';
import { dataplane, longRoute, ROUTE, service } from './heavy-documents.ts';
import { HttpClient } from './http-client.ts';
import { cpuSeconds, memoryMb, nowMs, repeat, spend, untilSeen, type Repeated } from './measure.ts';
import { metricsOf, type Metric } from './metric.ts';
import { MESH } from './policies.ts';
import { proxyBudgets as budgets, type ProxySizes } from './proxy-sizes.ts';
import { sendJson } from './real-proxies.ts';

const ZONE = 'bench';
/** The service whose route and whose endpoints change. */
const SERVICE = 'service-7';
const WATCHED = `kri_msvc_${MESH}_${ZONE}__${SERVICE}_http`;
/** The proxy whose resources the floor sends. */
const RECORDED = 'recorded';
/**
 * Time for the work that writes or a join leave. The counts of a join are stored ten seconds later, and V8 mostly collects the old generation
 * 8 s after its last collection (decision 91).
 */
const SETTLE_MS = 30_000;

type Joined = { readonly seconds: number; readonly cpuSeconds: number; readonly memoryKb: number };
type Writes = Readonly<Record<'route' | 'endpoint', (count: number) => Promise<void>>>;

export const fleet: Sections<ProxySizes> = {
  names: { fleet: 'many fake proxies of one zone: join, a changed route, a changed endpoint, idle, a restart' },
  measure: measureFleet,
};

export const redirected: Sections<ProxySizes> = {
  names: {
    redirected:
      'the same number of redirected proxies, which reach all services: join, a changed endpoint, a changed service, idle',
  },
  measure: measureRedirected,
};

/** What one fleet costs. @property service a changed service, until the last proxy has its endpoints */
type FleetCost = {
  readonly joined: Joined;
  readonly idlePercent: number;
  readonly endpoint: Repeated;
  readonly service: Repeated;
};

/** The floor is the same fleet with declared outbounds. */
async function measureRedirected(context: Context<ProxySizes>): Promise<Metric[]> {
  const given = await costOf(context, true);
  const declared = await costOf(context, false);
  const metric = metricsOf('redirected');
  const { joined, endpoint, service: added, idlePercent } = given;
  const ratio = endpoint.cpuMs / declared.endpoint.cpuMs;
  return [
    metric('all proxies join', 's', joined.seconds, { floor: declared.joined.seconds }),
    metric('CPU of the zone for it', 's', joined.cpuSeconds, { floor: declared.joined.cpuSeconds }),
    metric('memory a proxy', 'kB', joined.memoryKb, { floor: declared.joined.memoryKb, budget: budgets.redirectedMemoryKb }),
    metric('CPU when nothing happens', '%', idlePercent, { floor: declared.idlePercent, budget: budgets.idleCpuPercent }),
    metric('CPU for one changed endpoint', 'ms', endpoint.cpuMs, { floor: declared.endpoint.cpuMs }),
    metric('the same, of that with declared outbounds', '', ratio, { budget: budgets.redirectedEndpoint }),
    metric('CPU for one changed service', 'ms', added.cpuMs),
    metric('PUT of a service to the last proxy, p50', 'ms', added.p50Ms, { budget: budgets.redirectedServiceMs }),
  ];
}

async function costOf({ settings, postgres, say }: Context<ProxySizes>, isRedirected: boolean): Promise<FleetCost> {
  const server = await postgres();
  const database = await server.createDatabase(0);
  const port = await freePort();
  const connections = String(2 * settings.proxies + 100);
  const env = { ...proxiesEnv(port), MERIDIAN_DP_SERVER_CONNECTIONS_PER_ADDRESS: connections };
  const zone = await startLoneZone(ZONE, database, env);
  const names = Array.from({ length: settings.proxies }, (_, index) => `proxy-${String(index)}`);
  const proxies = await FakeProxies.start(names, settings.processes);
  const api = new HttpClient(zone.apiPort);
  const put = (path: string, document: object): Promise<void> => api.put(`/meshes/${MESH}/${path}`, JSON.stringify(document));
  const documentOf = isRedirected ? redirectedDataplane : dataplaneOf;
  try {
    say(
      `${isRedirected ? 'redirected' : 'declaring'} proxies: ${String(settings.proxies)} of ${String(settings.services)} services`,
    );
    await writeMesh(zone.apiPort, settings, names, documentOf);
    await delay(SETTLE_MS);
    const joined = await measureJoin(zone.pid, proxies, port, settings);
    const idle = await spend(zone.pid, () => delay(settings.idle * 1000));
    const endpoint = await measureChanges(zone.pid, proxies, settings, 'ClusterLoadAssignment', (count) =>
      put('dataplanes/proxy-7', documentOf('proxy-7', 7, settings, count)),
    );
    const changed = await measureChanges(zone.pid, proxies, settings, 'ClusterLoadAssignment', (count) =>
      put(`meshservices/${SERVICE}`, serviceOf(count)),
    );
    return { joined, idlePercent: (idle.cpuSeconds / idle.seconds) * 100, endpoint, service: changed };
  } finally {
    api.close();
    await proxies.end();
    await zone.stop();
    await server.dropDatabase(database);
  }
}

/** At each second change it has no endpoints. */
function serviceOf(count: number): object {
  const { spec, ...rest } = service(MESH, SERVICE);
  const [port] = objectsOf(objectOf(spec)['ports']);
  return { ...rest, spec: { ...objectOf(spec), ports: [{ ...port, ...(count % 2 === 1 && { targetPort: 1 }) }] } };
}

async function measureFleet({ settings, postgres, say }: Context<ProxySizes>): Promise<Metric[]> {
  const server = await postgres();
  const database = await server.createDatabase(0);
  const port = await freePort();
  const connections = String(2 * settings.proxies + 100);
  const env = { ...proxiesEnv(port), MERIDIAN_DP_SERVER_CONNECTIONS_PER_ADDRESS: connections };
  let zone = await startLoneZone(ZONE, database, env);
  const names = Array.from({ length: settings.proxies }, (_, index) => `proxy-${String(index)}`);
  const proxies = await FakeProxies.start(names, settings.processes);
  const api = new HttpClient(zone.apiPort);
  const put = (path: string, document: object): Promise<void> => api.put(`/meshes/${MESH}/${path}`, JSON.stringify(document));
  const writes: Writes = {
    route: (count) => put(`meshhttproutes/${ROUTE}`, longRoute(MESH, count, 1, SERVICE)),
    endpoint: (count) => put('dataplanes/proxy-7', dataplaneOf('proxy-7', 7, settings, count)),
  };
  try {
    say(`${String(settings.services)} services, ${String(settings.proxies)} Dataplanes`);
    await writeMesh(zone.apiPort, settings, [...names, RECORDED]);
    await delay(SETTLE_MS);
    say('the proxies join');
    const { pid } = zone;
    const joined = await measureJoin(pid, proxies, port, settings);
    const idle = await spend(pid, () => delay(settings.idle * 1000));
    const route = await measureChanges(pid, proxies, settings, 'RouteConfiguration', writes.route);
    const endpoint = await measureChanges(pid, proxies, settings, 'ClusterLoadAssignment', writes.endpoint);
    const state = await stateOf(`localhost:${String(port)}`, RECORDED);
    say('the zone starts again');
    await zone.stop();
    zone = await startLoneZone(ZONE, database, env);
    const again = await proxies.rejoin(port);
    await proxies.end();
    say('the floor');
    const floor = await measureFloor(state, names, settings);
    const [metric, least] = [metricsOf('fleet'), floor.changed];
    return [
      metric('all proxies join', 's', joined.seconds, { floor: floor.joined.seconds, budget: budgets.joinSeconds }),
      metric('CPU of the zone for it', 's', joined.cpuSeconds, { floor: floor.joined.cpuSeconds }),
      metric('memory a proxy', 'kB', joined.memoryKb, { floor: floor.joined.memoryKb, budget: budgets.memoryKb }),
      metric('CPU when nothing happens', '%', (idle.cpuSeconds / idle.seconds) * 100, { budget: budgets.idleCpuPercent }),
      metric('CPU for one changed route', 'ms', route.cpuMs, { floor: least.cpuMs, budget: budgets.routeCpuMs }),
      metric('PUT of a route to the last proxy, p50', 'ms', route.p50Ms, { floor: least.p50Ms, budget: budgets.routeLastMs }),
      metric('CPU for one changed endpoint', 'ms', endpoint.cpuMs, { floor: least.cpuMs, budget: budgets.endpointCpuMs }),
      metric('resources sent again after a restart', '', again.received, { budget: budgets.sentAgain }),
    ];
  } finally {
    api.close();
    await proxies.end();
    await zone.stop();
    await server.dropDatabase(database);
  }
}

async function measureJoin(pid: number, proxies: FakeProxies, port: number, settings: ProxySizes): Promise<Joined> {
  const before = { memory: memoryMb(pid), at: nowMs() };
  const { result, cpuSeconds: used } = await spend(pid, () => proxies.join(port, MESH));
  await delay(SETTLE_MS);
  const memoryKb = ((memoryMb(pid) - before.memory) * 1000) / settings.proxies;
  return { seconds: (result.at - before.at) / 1000, cpuSeconds: used, memoryKb };
}

async function measureChanges(
  pid: number,
  proxies: FakeProxies,
  settings: ProxySizes,
  type: 'RouteConfiguration' | 'ClusterLoadAssignment',
  write: (count: number) => Promise<void>,
): Promise<Repeated> {
  proxies.watch(type, WATCHED);
  const cpu = (): number => cpuSeconds(pid);
  return await repeat(cpu, settings, (count) => untilSeen(proxies.received(count), () => write(count)));
}

async function measureFloor(
  state: FloorState,
  names: readonly string[],
  settings: ProxySizes,
): Promise<{ joined: Joined; changed: Repeated }> {
  const child = startLikeMeridian('floor-proxies-process.ts');
  const command: FloorProxiesCommand = { state, changed: { type: 'RouteConfiguration', name: WATCHED } };
  const { port, apiPort } = await answerOf<FloorProxiesReport>(child, command);
  const proxies = await FakeProxies.start(names, settings.processes);
  const api = new HttpClient(apiPort);
  try {
    const { pid = 0 } = child;
    const joined = await measureJoin(pid, proxies, port, settings);
    const changed = await measureChanges(pid, proxies, settings, 'RouteConfiguration', () => api.put('/', '{}'));
    return { joined, changed };
  } finally {
    api.close();
    await proxies.end();
    await endChild(child);
  }
}

/** What one proxy is sent, for the floor to send. */
async function stateOf(address: string, name: string): Promise<FloorState> {
  const proxy = new PlayedProxy({
    ...{ address, mesh: MESH, name, metadata: { features: ['feature-reuse-port'] } },
    credentials: credentials.createSsl(null, null, null, { rejectUnauthorized: false }),
  });
  proxy.connect();
  while (!proxy.isWarm || proxy.names('RouteConfiguration').length < proxy.names('Listener').length) await delay(50);
  proxy.disconnect();
  return [...proxy.held].flatMap(([type, held]) =>
    [...held].map(([heldName, { version, resource }]) => ({
      ...{ type, name: heldName, version },
      bytes: Buffer.from(resource).toString('base64'),
    })),
  );
}

async function writeMesh(
  apiPort: number,
  settings: ProxySizes,
  names: readonly string[],
  documentOf: typeof dataplaneOf = dataplaneOf,
): Promise<void> {
  const services = Array.from({ length: settings.services }, (_, index) => service(MESH, `service-${String(index)}`));
  const parts = parted(names, 100).map((part, at) => part.map((name, index) => documentOf(name, 100 * at + index, settings, 0)));
  for (const documents of [services, ...parts]) await sendJson('POST', `http://127.0.0.1:${String(apiPort)}/_apply`, documents);
}

function dataplaneOf(name: string, index: number, { services }: ProxySizes, revision: number): object {
  const called = Array.from({ length: services }, (_, at) => `service-${String(at)}`);
  return dataplane(MESH, name, index, revision, `service-${String(index % services)}`, called);
}

/** It declares no outbound, and reaches all services. */
function redirectedDataplane(name: string, index: number, { services }: ProxySizes, revision: number): object {
  const { networking, ...rest } = dataplane(MESH, name, index, revision, `service-${String(index % services)}`, []);
  const transparentProxying = { redirectPortInbound: 15_006, redirectPortOutbound: 15_001, ipFamilyMode: 'IPv4' };
  return { ...rest, networking: { ...objectOf(networking), outbound: [], transparentProxying } };
}
