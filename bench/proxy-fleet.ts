// What a zone spends on many proxies: they join, a route changes, an endpoint changes, nothing happens, the zone starts again.
import { setTimeout as delay } from 'node:timers/promises';
import { credentials } from '@grpc/grpc-js';
import type { XdsType } from '../src/ads/session-messages.ts';
import { PlayedProxy } from '../test/ads/played-proxy.ts';
import { freePort } from '../test/support/free-port.ts';
import { endChild, nextMessage, startLikeMeridian } from './children.ts';
import type { Context, Sections } from './context.ts';
import { startLoneZone, type ControlPlane } from './control-plane.ts';
import { FakeProxies } from './fake-proxies.ts';
import type { FloorProxiesCommand, FloorProxiesReport, FloorState } from './floor-proxies-process.ts';
import { HttpClient } from './http-client.ts';
import { cpuSeconds, memoryMb, nowMs, percentile } from './measure.ts';
import type { Budget, Metric } from './metric.ts';
import { MESH } from './policies.ts';
import { proxyBudgets, sizes, type ProxySizes } from './proxy-sizes.ts';

const ZONE = 'bench';
/** The service whose route and whose endpoints change. */
const SERVICE = 'service-7';
/** The proxy whose resources the floor sends. */
const RECORDED = 'recorded';
/**
 * Time for the work that writes or a join leave. The counts of a join are stored ten seconds later, and V8 mostly collects the old generation
 * 8 s after its last collection (decision 91).
 */
const SETTLE_MS = 30_000;

type Changes = { readonly cpuMs: number; readonly lastP50Ms: number; readonly lastP99Ms: number };
type Findings = {
  readonly joinSeconds: number;
  readonly joinCpuSeconds: number;
  readonly memoryKb: number;
  readonly idleCpuPercent: number;
  readonly route: Changes;
  readonly endpoint: Changes;
};

export const fleet: Sections<ProxySizes> = {
  names: { fleet: 'many fake proxies of one zone: join, a changed route, a changed endpoint, idle, a restart' },
  measure: measureFleet,
};

async function measureFleet({ settings, postgres, say }: Context<ProxySizes>): Promise<Metric[]> {
  const server = await postgres();
  const database = await server.createDatabase(0);
  const port = await freePort();
  const env = {
    MERIDIAN_DP_SERVER_PORT: String(port),
    MERIDIAN_DP_SERVER_AUTHN_DP_PROXY_TYPE: 'none',
    MERIDIAN_DP_SERVER_CONNECTIONS_PER_ADDRESS: String(2 * settings.proxies + 100),
  };
  let zone = await startLoneZone(ZONE, database, env);
  const names = Array.from({ length: settings.proxies }, (_, index) => `proxy-${String(index)}`);
  const proxies = await FakeProxies.start(names, settings.processes);
  const api = new HttpClient(zone.apiPort);
  try {
    say(`${String(settings.services)} services, ${String(settings.proxies)} Dataplanes`);
    await writeMesh(zone.apiPort, settings, [...names, RECORDED]);
    await delay(SETTLE_MS);
    say('the proxies join');
    const findings = await measureJoined(zone, proxies, port, settings, {
      route: (count) => api.put(`/meshes/${MESH}/meshhttproutes/changing`, routeOf(count)),
      endpoint: (count) =>
        api.put(`/meshes/${MESH}/dataplanes/${names[7] ?? ''}`, JSON.stringify(dataplaneOf(names[7] ?? '', 7, settings, count))),
    });
    const state = await stateOf(`localhost:${String(port)}`, RECORDED);
    say('the zone starts again');
    await zone.stop();
    zone = await startLoneZone(ZONE, database, env);
    const again = await proxies.rejoin(port);
    await proxies.end();
    say('as many others join, which bring their Dataplanes');
    const bringing = await measureBringing(zone, port, settings);
    say('the floor');
    const floor = await measureFloor(state, names, settings);
    return metricsOf(settings, findings, { ...bringing, sentAgain: again.received }, floor);
  } finally {
    api.close();
    await proxies.end();
    await zone.stop();
    await server.dropDatabase(database);
  }
}

/** Proxies whose Dataplanes are stored when they join. */
async function measureBringing({ pid }: Pick<ControlPlane, 'pid'>, port: number, settings: ProxySizes): Promise<Bringing> {
  const names = Array.from({ length: settings.proxies }, (_, index) => `bringing-${String(index)}`);
  const proxies = await FakeProxies.start(names, settings.processes);
  const before = { cpu: cpuSeconds(pid), at: nowMs() };
  const { at } = await proxies.join(port, MESH, (name) => JSON.stringify(dataplaneOf(name, names.indexOf(name), settings, 0)));
  const found = { bringSeconds: (at - before.at) / 1000, bringCpuSeconds: cpuSeconds(pid) - before.cpu };
  await proxies.end();
  return found;
}

type Bringing = { readonly bringSeconds: number; readonly bringCpuSeconds: number };
type Writes = Readonly<Record<'route' | 'endpoint', (count: number) => Promise<void>>>;

async function measureJoined(
  { pid }: Pick<ControlPlane, 'pid'>,
  proxies: FakeProxies,
  port: number,
  settings: ProxySizes,
  writes: Writes,
): Promise<Findings> {
  const before = { cpu: cpuSeconds(pid), memory: memoryMb(pid), at: nowMs() };
  const { at } = await proxies.join(port, MESH);
  const joined = { seconds: (at - before.at) / 1000, cpu: cpuSeconds(pid) - before.cpu };
  await delay(SETTLE_MS);
  const memoryKb = ((memoryMb(pid) - before.memory) * 1000) / settings.proxies;
  const idle = { cpu: cpuSeconds(pid), at: nowMs() };
  await delay(settings.idle * 1000);
  const idleCpuPercent = ((cpuSeconds(pid) - idle.cpu) / ((nowMs() - idle.at) / 1000)) * 100;
  const name = `kri_msvc_${MESH}_${ZONE}__${SERVICE}_http`;
  const route = await measureChanges(pid, proxies, settings, { type: 'RouteConfiguration', name }, writes.route);
  const endpoint = await measureChanges(pid, proxies, settings, { type: 'ClusterLoadAssignment', name }, writes.endpoint);
  return { joinSeconds: joined.seconds, joinCpuSeconds: joined.cpu, memoryKb, idleCpuPercent, route, endpoint };
}

async function measureChanges(
  pid: number,
  proxies: FakeProxies,
  { warmUp, changes }: ProxySizes,
  watched: { readonly type: XdsType; readonly name: string },
  write: (count: number) => Promise<void>,
): Promise<Changes> {
  proxies.watch(watched.type, watched.name);
  const last: number[] = [];
  let cpu = 0;
  for (let count = 1; count <= warmUp + changes; count += 1) {
    if (count === warmUp + 1) cpu = cpuSeconds(pid);
    const began = nowMs();
    const received = proxies.received(count);
    await write(count);
    const took = (await received) - began;
    if (count > warmUp) last.push(took);
  }
  const cpuMs = ((cpuSeconds(pid) - cpu) * 1000) / changes;
  return { cpuMs, lastP50Ms: percentile(last, 0.5), lastP99Ms: percentile(last, 0.99) };
}

async function measureFloor(state: FloorState, names: readonly string[], settings: ProxySizes): Promise<Findings> {
  const child = startLikeMeridian('floor-proxies-process.ts');
  const changed = { type: 'RouteConfiguration', name: `kri_msvc_${MESH}_${ZONE}__${SERVICE}_http` } as const;
  const ready = nextMessage<FloorProxiesReport>(child);
  child.send({ state, changed } satisfies FloorProxiesCommand);
  const { port, apiPort } = await ready;
  const proxies = await FakeProxies.start(names, settings.processes);
  const api = new HttpClient(apiPort);
  const write = (): Promise<void> => api.put('/', '{}');
  try {
    const { pid = 0 } = child;
    const before = { cpu: cpuSeconds(pid), memory: memoryMb(pid), at: nowMs() };
    const { at } = await proxies.join(port, MESH);
    const joinSeconds = (at - before.at) / 1000;
    const joinCpuSeconds = cpuSeconds(pid) - before.cpu;
    await delay(SETTLE_MS);
    const memoryKb = ((memoryMb(pid) - before.memory) * 1000) / settings.proxies;
    const route = await measureChanges(pid, proxies, settings, changed, write);
    return { joinSeconds, joinCpuSeconds, memoryKb, idleCpuPercent: 0, route, endpoint: route };
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

async function writeMesh(apiPort: number, settings: ProxySizes, names: readonly string[]): Promise<void> {
  const services = Array.from({ length: settings.services }, (_, index) => ({
    ...{ type: 'MeshService', mesh: MESH, name: `service-${String(index)}` },
    spec: {
      selector: { dataplaneLabels: { matchLabels: { app: `service-${String(index)}` } } },
      ports: [{ name: 'http', port: 80, targetPort: 8080, appProtocol: 'http' }],
    },
  }));
  const dataplanes = names.map((name, index) => dataplaneOf(name, index, settings, 0));
  for (const documents of [services, ...chunks(dataplanes, 100)]) {
    const response = await fetch(`http://127.0.0.1:${String(apiPort)}/_apply`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(documents),
    });
    if (!response.ok) throw new Error(`POST /_apply: ${String(response.status)} ${await response.text()}`);
  }
}

function dataplaneOf(name: string, index: number, { services }: ProxySizes, revision: number): Record<string, unknown> {
  const at = `10.${String(index >> 16)}.${String((index >> 8) & 255)}.${String(index & 255)}`;
  return {
    ...{ type: 'Dataplane', mesh: MESH, name },
    labels: { app: `service-${String(index % services)}`, revision: `r${String(revision)}` },
    networking: {
      address: at,
      inbound: [
        { name: 'http', port: 8080, protocol: 'http', tags: { 'kuma.io/service': `service-${String(index % services)}` } },
      ],
      outbound: Array.from({ length: services }, (_, service) => ({
        port: 10_000 + service,
        backendRef: { kind: 'MeshService', name: `service-${String(service)}`, port: 80 },
      })),
    },
  };
}

function routeOf(count: number): string {
  const rules = [
    {
      matches: [{ path: { type: 'PathPrefix', value: `/v${String(count)}` } }],
      default: { backendRefs: [{ kind: 'MeshService', name: SERVICE, port: 80, weight: 1 }] },
    },
  ];
  const to = [{ targetRef: { kind: 'MeshService', name: SERVICE }, rules }];
  return JSON.stringify({ type: 'MeshHTTPRoute', mesh: MESH, name: 'changing', spec: { to } });
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size));
}

function metricsOf(
  { proxies, services }: ProxySizes,
  found: Findings,
  later: Bringing & { readonly sentAgain: number },
  floor: Findings,
): Metric[] {
  const isReference = proxies >= sizes.proxies[0] && services >= sizes.services[0];
  const metric = (name: string, unit: string, meridian: number, least?: number, budget?: Budget): Metric => ({
    ...{ section: 'fleet', name, unit, meridian },
    ...(least !== undefined && { floor: least }),
    ...(budget !== undefined && isReference && { budget }),
  });
  return [
    metric('all proxies join', 's', found.joinSeconds, floor.joinSeconds, proxyBudgets.joinSeconds),
    metric('CPU of the zone for it', 's', found.joinCpuSeconds, floor.joinCpuSeconds),
    metric('memory a proxy', 'kB', found.memoryKb, floor.memoryKb, proxyBudgets.memoryKb),
    metric('CPU of the zone when nothing happens', '%', found.idleCpuPercent, undefined, proxyBudgets.idleCpuPercent),
    metric('CPU for one changed route', 'ms', found.route.cpuMs, floor.route.cpuMs, proxyBudgets.routeCpuMs),
    metric('PUT of a route to the last proxy, p50', 'ms', found.route.lastP50Ms, floor.route.lastP50Ms, proxyBudgets.routeLastMs),
    metric('PUT of a route to the last proxy, p99', 'ms', found.route.lastP99Ms, floor.route.lastP99Ms),
    metric('CPU for one changed endpoint', 'ms', found.endpoint.cpuMs, floor.endpoint.cpuMs, proxyBudgets.endpointCpuMs),
    metric('PUT of an endpoint to the last proxy, p50', 'ms', found.endpoint.lastP50Ms, floor.endpoint.lastP50Ms),
    metric('as many join and bring their Dataplanes', 's', later.bringSeconds),
    metric('CPU of the zone for these joins', 's', later.bringCpuSeconds),
    metric('resources sent again after a restart', '', later.sentAgain, undefined, proxyBudgets.sentAgain),
  ];
}
