// A route changes: how long until a request through real Envoys shows it, from a PUT in the zone and from one on global.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findEnvoy, NO_ENVOY } from '../src/dataplane/find-envoy.ts';
import { freePort } from '../test/support/free-port.ts';
import type { Context, Sections } from './context.ts';
import { startLoneZone, startZone } from './control-plane.ts';
import { startSeededGlobal } from './fleet.ts';
import { nowMs, percentile } from './measure.ts';
import type { Metric } from './metric.ts';
import { MESH } from './policies.ts';
import { proxyBudgets, type ProxySizes } from './proxy-sizes.ts';
import { Caller, put, RealProxies, type ProxyZone } from './real-proxies.ts';
import { RowWatch } from './row-watch.ts';

const ZONE = 'bench';
const MESH_SQL = `select exists (select from resources where type = 'Mesh' and name = $1) as yes`;
const SERVICE = 'answers';
/** The header in which a request sees which change is in force. */
const HEADER = 'x-change';

export type Felt = { readonly p50Ms: number; readonly p99Ms: number; readonly closed: number };

export const requests: Sections<ProxySizes> = {
  names: { requests: 'a changed route until a request through real Envoys shows it' },
  measure: measureRequests,
};

async function measureRequests({ settings, postgres, say }: Context<ProxySizes>): Promise<Metric[]> {
  if ((await findEnvoy({ env: process.env })) === null) throw new Error(`--only fleet measures without an Envoy: ${NO_ENVOY}`);
  const server = await postgres();
  const proxyPort = await freePort();
  const workDir = await mkdtemp(join(tmpdir(), 'meridian-bench-zone-'));
  const certificate = join(workDir, ZONE, 'dp-server', 'cert.pem');
  const env = {
    MERIDIAN_GENERAL_WORK_DIR: workDir,
    MERIDIAN_DP_SERVER_PORT: String(proxyPort),
    MERIDIAN_DP_SERVER_AUTHN_DP_PROXY_TYPE: 'none',
  };
  say('a zone with two Envoys');
  const ownDatabase = await server.createDatabase(0);
  const lone = await startLoneZone(ZONE, ownDatabase, env);
  let fromZone: Felt;
  try {
    const at = { proxyPort, certificate, apiPort: lone.apiPort };
    fromZone = await withProxies(at, (caller) => felt(caller, lone.apiPort, SERVICE, settings));
  } finally {
    await lone.stop();
    await server.dropDatabase(ownDatabase);
  }
  say('a global, and a zone with two Envoys');
  const global = await startSeededGlobal(server, 0);
  const database = await server.createEmptyDatabase();
  const zone = await startZone(ZONE, global.kdsAddress, database, env);
  try {
    const watch = await RowWatch.open(database);
    await watch.until(MESH_SQL, [MESH]);
    await watch.close();
    const fromGlobal = await withProxies({ proxyPort, certificate, apiPort: zone.apiPort }, (caller) =>
      felt(caller, global.apiPort, SERVICE, settings),
    );
    return metricsOf(fromZone, fromGlobal);
  } finally {
    await zone.stop();
    await global.stop();
    await server.dropDatabase(database);
    await rm(workDir, { recursive: true, force: true });
  }
}

async function withProxies<T>(zone: ProxyZone, use: (caller: Caller) => Promise<T>): Promise<T> {
  const proxies = await RealProxies.open(zone);
  let caller: Caller | undefined;
  try {
    await proxies.serve(SERVICE);
    caller = new Caller(await proxies.client('asks', { kind: 'MeshService', name: SERVICE }));
    await caller.reaches();
    return await use(caller);
  } finally {
    caller?.close();
    await proxies.stop();
  }
}

/**
 * Changes a route again and again.
 * @param apiPort where the route is written
 * @param service display name of the MeshService that the caller calls
 */
export async function felt(caller: Caller, apiPort: number, service: string, { warmUp, changes }: ProxySizes): Promise<Felt> {
  const took: number[] = [];
  await caller.ask();
  const before = caller.connections;
  for (let count = 1; count <= warmUp + changes; count += 1) {
    const began = nowMs();
    const written = put(apiPort, 'meshhttproutes/changing', routeOf(service, count));
    while ((await caller.ask())[HEADER] !== String(count));
    if (count > warmUp) took.push(nowMs() - began);
    await written;
  }
  return { p50Ms: percentile(took, 0.5), p99Ms: percentile(took, 0.99), closed: caller.connections - before };
}

function routeOf(service: string, count: number): Record<string, unknown> {
  const rules = [
    {
      matches: [{ path: { type: 'PathPrefix', value: '/' } }],
      default: {
        filters: [{ type: 'ResponseHeaderModifier', responseHeaderModifier: { set: [{ name: HEADER, value: String(count) }] } }],
      },
    },
  ];
  // By labels: on global the name of the service is hashed.
  const targetRef = { kind: 'MeshService', labels: { 'kuma.io/display-name': service } };
  return { type: 'MeshHTTPRoute', name: 'changing', spec: { to: [{ targetRef, rules }] } };
}

function metricsOf(zone: Felt, global: Felt): Metric[] {
  const section = 'requests';
  const { zoneP50Ms, zoneP99Ms, globalP50Ms, globalP99Ms, closed } = proxyBudgets;
  return [
    { section, name: 'PUT in the zone to a request that shows it, p50', unit: 'ms', meridian: zone.p50Ms, budget: zoneP50Ms },
    { section, name: 'PUT in the zone to a request that shows it, p99', unit: 'ms', meridian: zone.p99Ms, budget: zoneP99Ms },
    { section, name: 'PUT on global to a request that shows it, p50', unit: 'ms', meridian: global.p50Ms, budget: globalP50Ms },
    { section, name: 'PUT on global to a request that shows it, p99', unit: 'ms', meridian: global.p99Ms, budget: globalP99Ms },
    { section, name: 'connections of the client closed', unit: '', meridian: zone.closed + global.closed, budget: closed },
  ];
}
