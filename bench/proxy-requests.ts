// Something changes: how long until a request through real Envoys shows it. A route, from a PUT in the zone and from one on global; and both a
// route and an endpoint for a client in another zone, through a zone ingress with identity.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Answer } from '../src/answers/answers.ts';
import { findEnvoy, NO_ENVOY } from '../src/dataplane/find-envoy.ts';
import type { JsonObject } from '../src/resource/types.ts';
import type { PostgresConfig } from '../src/store/database.ts';
import { freePort } from '../test/support/free-port.ts';
import type { Context, Sections } from './context.ts';
import { proxiesEnv, startLoneZone, startZone, type ControlPlane } from './control-plane.ts';
import { startSeededGlobal } from './fleet.ts';
import { noCpu, nowMs, repeat, type Repeated } from './measure.ts';
import { metricsOf, type Metric } from './metric.ts';
import { MESH } from './policies.ts';
import type { Postgres } from './postgres.ts';
import { proxyBudgets as budgets, type ProxySizes } from './proxy-sizes.ts';
import { ANSWERED_BY, Caller, put, RealProxies } from './real-proxies.ts';
import { HAS_MESH, RowWatch } from './row-watch.ts';

const SERVICE = 'catalog';
/** A service without HTTP: each connection goes to an endpoint of its own choice, also behind the ingress. */
const PLAIN_SERVICE = 'stock';
/** The header in which a request sees which change is in force. */
const HEADER = 'x-change';

/** @property closed connections of the client that were closed */
type Felt = Repeated & { readonly closed: number };
type BenchZone = { readonly plane: ControlPlane; readonly database: PostgresConfig; readonly proxies: RealProxies };
/** What a part starts; it is ended after it. */
type Bench = { readonly server: Postgres; readonly workDir: string; readonly zones: BenchZone[]; readonly callers: Caller[] };

export const requests: Sections<ProxySizes> = {
  names: {
    requests: 'a changed route until a request through real Envoys shows it',
    crossing: 'a change until a request to another zone shows it, through real Envoys with identity',
  },
  measure: async (context, wanted) => {
    if ((await findEnvoy({ env: process.env })) === null) throw new Error(`--only fleet measures without an Envoy: ${NO_ENVOY}`);
    const parts = { requests: measureRequests, crossing: measureCrossing };
    const metrics: Metric[] = [];
    for (const [name, measure] of Object.entries(parts))
      if (wanted.has(name)) metrics.push(...(await context.part(name, async () => await measure(context))));
    return metrics;
  },
};

async function measureRequests({ settings, postgres, say }: Context<ProxySizes>): Promise<Metric[]> {
  const server = await postgres();
  const feltIn = async (bench: Bench, zone: BenchZone, apiPort: number): Promise<Felt> => {
    await zone.proxies.serve(SERVICE);
    const caller = await callerOf(bench, zone, 'asks', { kind: 'MeshService', name: SERVICE });
    await caller.reaches();
    return await felt(caller, apiPort, settings);
  };
  say('a zone with two Envoys');
  const inZone = await withBench(server, async (bench) => {
    const zone = await startProxyZone(bench, 'bench', null);
    return await feltIn(bench, zone, zone.plane.apiPort);
  });
  say('a global, and a zone with two Envoys');
  const onGlobal = await withGlobal(server, async (bench, global) =>
    feltIn(bench, await startProxyZone(bench, 'bench', global.kdsAddress), global.apiPort),
  );
  const metric = metricsOf('requests');
  return [
    metric('PUT in the zone to a request that shows it, p50', 'ms', inZone.p50Ms, { budget: budgets.zoneP50Ms }),
    metric('PUT in the zone to a request that shows it, p99', 'ms', inZone.p99Ms, { budget: budgets.zoneP99Ms }),
    metric('PUT on global to a request that shows it, p50', 'ms', onGlobal.p50Ms, { budget: budgets.globalP50Ms }),
    metric('PUT on global to a request that shows it, p99', 'ms', onGlobal.p99Ms, { budget: budgets.globalP99Ms }),
    metric('connections of the client closed', '', inZone.closed + onGlobal.closed, { budget: budgets.closed }),
  ];
}

async function measureCrossing({ settings, postgres, say }: Context<ProxySizes>): Promise<Metric[]> {
  say('a global and two zones, an ingress and five more Envoys');
  return await withGlobal(await postgres(), async (bench, global) => {
    const east = await startProxyZone(bench, 'east', global.kdsAddress);
    const west = await startProxyZone(bench, 'west', global.kdsAddress);
    const allow = [{ spiffeID: { type: 'Prefix', value: `spiffe://${MESH}.east.mesh.local` } }];
    const permission = { type: 'MeshTrafficPermission', name: 'all', spec: { rules: [{ default: { allow } }] } };
    await put(global.apiPort, 'meshtrafficpermissions/all', permission);
    const provider = { type: 'Bundled', bundled: { autogenerate: { enabled: true } } };
    const identity = { type: 'MeshIdentity', name: 'identity', spec: { selector: { dataplane: { matchLabels: {} } }, provider } };
    await put(global.apiPort, 'meshidentities/identity', identity);
    const port = await freePort();
    const zoneIngress = { address: '127.0.0.1', port, advertisedAddress: '127.0.0.1', advertisedPort: port };
    await west.proxies.run('ingress', 'ingress', { zoneIngress });
    await west.proxies.serve(SERVICE);
    await west.proxies.serve(PLAIN_SERVICE, 'tcp');
    const second = await west.proxies.server('second', PLAIN_SERVICE, 'tcp');
    const caller = await callerOf(bench, east, 'cart', refTo(SERVICE));
    const plainCaller = await callerOf(bench, east, 'clerk', refTo(PLAIN_SERVICE), false);
    await caller.reaches();
    await isStrict(west.plane.apiPort);
    const changed = await felt(caller, global.apiPort, settings);
    await plainCaller.reaches(({ [ANSWERED_BY]: by }) => by === 'second');
    const endpoint = await feltEndpoint(plainCaller, west.plane.apiPort, second, settings);
    const metric = metricsOf('crossing');
    const route = 'PUT on global to a request to another zone that shows it';
    const reached = 'endpoint in another zone to a request that reaches it, p50';
    return [
      metric(`${route}, p50`, 'ms', changed.p50Ms, { budget: budgets.globalP50Ms }),
      metric(`${route}, p99`, 'ms', changed.p99Ms, { budget: budgets.globalP99Ms }),
      metric(reached, 'ms', endpoint.p50Ms, { budget: budgets.farEndpointP50Ms }),
      metric('connections of the client closed', '', changed.closed, { budget: budgets.closed }),
    ];
  });
}

async function withGlobal<T>(
  server: Postgres,
  use: (bench: Bench, global: Awaited<ReturnType<typeof startSeededGlobal>>) => Promise<T>,
): Promise<T> {
  const global = await startSeededGlobal(server, 0);
  try {
    return await withBench(server, (bench) => use(bench, global));
  } finally {
    await global.stop();
  }
}

async function withBench<T>(server: Postgres, use: (bench: Bench) => Promise<T>): Promise<T> {
  const bench: Bench = { server, workDir: await mkdtemp(join(tmpdir(), 'meridian-bench-')), zones: [], callers: [] };
  try {
    return await use(bench);
  } finally {
    for (const caller of bench.callers) caller.close();
    for (const { proxies, plane, database } of bench.zones) {
      await proxies.stop();
      await plane.stop();
      await server.dropDatabase(database);
    }
    await rm(bench.workDir, { recursive: true, force: true });
  }
}

/** @param kdsAddress of its global; null for a zone without one */
async function startProxyZone({ server, workDir, zones }: Bench, name: string, kdsAddress: string | null): Promise<BenchZone> {
  const proxyPort = await freePort();
  const database = kdsAddress === null ? await server.createDatabase(0) : await server.createEmptyDatabase();
  const env = proxiesEnv(proxyPort, workDir);
  const plane = kdsAddress === null ? await startLoneZone(name, database, env) : await startZone(name, kdsAddress, database, env);
  await RowWatch.see(database, HAS_MESH, [MESH]);
  const certificate = join(workDir, name, 'dp-server', 'cert.pem');
  const zone = { plane, database, proxies: await RealProxies.open({ proxyPort, apiPort: plane.apiPort, certificate }) };
  zones.push(zone);
  return zone;
}

async function callerOf(bench: Bench, zone: BenchZone, name: string, ref: JsonObject, keepAlive = true): Promise<Caller> {
  const caller = new Caller(await zone.proxies.client(name, ref), keepAlive);
  bench.callers.push(caller);
  return caller;
}

/** Changes a route again and again, until a request shows it. @param apiPort where the route is written */
async function felt(caller: Caller, apiPort: number, settings: ProxySizes): Promise<Felt> {
  await caller.ask();
  const before = caller.connections;
  const changes = await repeat(noCpu, settings, async (count) => {
    const write = (): Promise<void> => put(apiPort, 'meshhttproutes/changing', routeOf(count));
    return await untilAnswered(caller, write, ({ [HEADER]: change }) => change === String(count));
  });
  return { ...changes, closed: caller.connections - before };
}

type Headers = Awaited<ReturnType<Caller['ask']>>;

/** @returns milliseconds from before the write until the first answer that is wanted */
async function untilAnswered(
  caller: Caller,
  write: () => Promise<void>,
  isWanted: (headers: Headers) => boolean,
): Promise<number> {
  const began = nowMs();
  const written = write();
  while (!isWanted(await caller.ask()));
  const took = nowMs() - began;
  await written;
  return took;
}

/** An endpoint of the other zone comes, again and again: its inbound becomes ready, and a request reaches it. @param dataplane of it */
async function feltEndpoint(caller: Caller, apiPort: number, dataplane: JsonObject, settings: ProxySizes): Promise<Repeated> {
  const become = async (state: string): Promise<void> => {
    const networking = dataplane['networking'] as JsonObject;
    const inbound = (networking['inbound'] as JsonObject[]).map((one) => ({ ...one, state }));
    await put(apiPort, 'dataplanes/second', { ...dataplane, networking: { ...networking, inbound } });
  };
  return await repeat(noCpu, settings, async () => {
    await become('NotReady');
    // Ten answers of the other in a row: requests are shared one by one.
    for (let others = 0; others < 10;) others = (await caller.ask())[ANSWERED_BY] === 'second' ? 0 : others + 1;
    const ready = (): Promise<void> => become('Ready');
    return await untilAnswered(caller, ready, ({ [ANSWERED_BY]: by }) => by === 'second');
  });
}

/** Waits until the servers of a zone demand TLS: their listeners change until then. */
async function isStrict(apiPort: number): Promise<void> {
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${String(apiPort)}/meshes/${MESH}/_tls`);
    const { services } = (await answer.json()) as Answer<'MeshTls'>;
    if (services.total > 0 && services.strict === services.total) return;
    await delay(50);
  }
}

/** By labels: in another zone, and on global, the name of a service is hashed. */
function refTo(service: string): JsonObject {
  return { kind: 'MeshService', labels: { 'kuma.io/display-name': service } };
}

function routeOf(count: number): JsonObject {
  const responseHeaderModifier = { set: [{ name: HEADER, value: String(count) }] };
  const filters = [{ type: 'ResponseHeaderModifier', responseHeaderModifier }];
  const rules = [{ matches: [{ path: { type: 'PathPrefix', value: '/' } }], default: { filters } }];
  return { type: 'MeshHTTPRoute', name: 'changing', spec: { to: [{ targetRef: refTo(SERVICE), rules }] } };
}
