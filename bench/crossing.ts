// A client in one zone calls a service in another through its zone ingress, with identity: how soon a request feels a change.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Answer } from '../src/answers/answers.ts';
import { findEnvoy, NO_ENVOY } from '../src/dataplane/find-envoy.ts';
import { freePort } from '../test/support/free-port.ts';
import type { JsonObject } from '../src/resource/types.ts';
import type { PostgresConfig } from '../src/store/database.ts';
import type { Context, Sections } from './context.ts';
import { startZone, type ControlPlane } from './control-plane.ts';
import { startSeededGlobal } from './fleet.ts';
import { nowMs, percentile } from './measure.ts';
import type { Metric } from './metric.ts';
import { MESH } from './policies.ts';
import type { Postgres } from './postgres.ts';
import { felt, type Felt } from './proxy-requests.ts';
import { proxyBudgets, type ProxySizes } from './proxy-sizes.ts';
import { ANSWERED_BY, Caller, put, RealProxies, type ProxyZone } from './real-proxies.ts';
import { RowWatch } from './row-watch.ts';

const MESH_SQL = `select exists (select from resources where type = 'Mesh' and name = $1) as yes`;
const SERVICE = 'catalog';
/** A service without HTTP: each connection goes to an endpoint of its own choice, also behind the ingress. */
const PLAIN_SERVICE = 'stock';

export const crossing: Sections<ProxySizes> = {
  names: { crossing: 'a change until a request to another zone shows it, through real Envoys with identity' },
  measure: measureCrossing,
};

type BenchZone = { readonly plane: ControlPlane; readonly database: PostgresConfig; readonly proxies: RealProxies };

async function measureCrossing({ settings, postgres, say }: Context<ProxySizes>): Promise<Metric[]> {
  if ((await findEnvoy({ env: process.env })) === null) throw new Error(`--only fleet measures without an Envoy: ${NO_ENVOY}`);
  const server = await postgres();
  const workDir = await mkdtemp(join(tmpdir(), 'meridian-bench-zones-'));
  say('a global and two zones, an ingress and five more Envoys');
  const global = await startSeededGlobal(server, 0);
  const zones: BenchZone[] = [];
  try {
    for (const name of ['east', 'west']) zones.push(await startProxyZone(server, name, global.kdsAddress, workDir));
    const [east, west] = zones as [BenchZone, BenchZone];
    await put(global.apiPort, 'meshtrafficpermissions/all', {
      type: 'MeshTrafficPermission',
      name: 'all',
      spec: { rules: [{ default: { allow: [{ spiffeID: { type: 'Prefix', value: `spiffe://${MESH}.east.mesh.local` } }] } }] },
    });
    await put(global.apiPort, 'meshidentities/identity', {
      ...{ type: 'MeshIdentity', name: 'identity' },
      spec: {
        selector: { dataplane: { matchLabels: {} } },
        provider: { type: 'Bundled', bundled: { autogenerate: { enabled: true } } },
      },
    });
    const port = await freePort();
    await west.proxies.run('ingress', 'ingress', {
      zoneIngress: { address: '127.0.0.1', port, advertisedAddress: '127.0.0.1', advertisedPort: port },
    });
    await west.proxies.serve(SERVICE);
    await west.proxies.serve(PLAIN_SERVICE, 'tcp');
    const second = await west.proxies.server('second', PLAIN_SERVICE, 'tcp');
    const caller = new Caller(await east.proxies.client('cart', refTo(SERVICE)));
    const plainCaller = new Caller(await east.proxies.client('clerk', refTo(PLAIN_SERVICE)), { keepAlive: false });
    try {
      await caller.reaches();
      await isStrict(west.plane.apiPort);
      const changed = await felt(caller, global.apiPort, SERVICE, settings);
      await plainCaller.reaches(({ [ANSWERED_BY]: by }) => by === 'second');
      return metricsOf(changed, await feltEndpoint(plainCaller, west.plane.apiPort, second, settings));
    } finally {
      caller.close();
      plainCaller.close();
    }
  } finally {
    for (const { proxies, plane, database } of zones) {
      await proxies.stop();
      await plane.stop();
      await server.dropDatabase(database);
    }
    await global.stop();
    await rm(workDir, { recursive: true, force: true });
  }
}

async function startProxyZone(server: Postgres, name: string, kdsAddress: string, workDir: string): Promise<BenchZone> {
  const [proxyPort, database] = [await freePort(), await server.createEmptyDatabase()];
  const plane = await startZone(name, kdsAddress, database, {
    MERIDIAN_GENERAL_WORK_DIR: workDir,
    MERIDIAN_DP_SERVER_PORT: String(proxyPort),
    MERIDIAN_DP_SERVER_AUTHN_DP_PROXY_TYPE: 'none',
  });
  const watch = await RowWatch.open(database);
  await watch.until(MESH_SQL, [MESH]);
  await watch.close();
  const at: ProxyZone = { proxyPort, apiPort: plane.apiPort, certificate: join(workDir, name, 'dp-server', 'cert.pem') };
  return { plane, database, proxies: await RealProxies.open(at) };
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

/** By labels: in another zone the name of a service is hashed. */
function refTo(service: string): JsonObject {
  return { kind: 'MeshService', labels: { 'kuma.io/display-name': service } };
}

/**
 * An endpoint of the other zone comes, again and again: its inbound becomes ready.
 * @param dataplane of the endpoint
 * @returns milliseconds from before each PUT until the first request that it answered, at p50
 */
async function feltEndpoint(
  caller: Caller,
  apiPort: number,
  dataplane: JsonObject,
  { warmUp, changes }: ProxySizes,
): Promise<number> {
  const took: number[] = [];
  const become = async (state: string): Promise<void> => {
    const networking = dataplane['networking'] as JsonObject;
    const inbound = (networking['inbound'] as JsonObject[]).map((one) => ({ ...one, state }));
    await put(apiPort, 'dataplanes/second', { ...dataplane, networking: { ...networking, inbound } });
  };
  for (let count = 1; count <= warmUp + changes; count += 1) {
    await become('NotReady');
    // Ten answers of the other in a row: requests are shared one by one.
    for (let others = 0; others < 10;) others = (await caller.ask())[ANSWERED_BY] === 'second' ? 0 : others + 1;
    const began = nowMs();
    const written = become('Ready');
    while ((await caller.ask())[ANSWERED_BY] !== 'second');
    if (count > warmUp) took.push(nowMs() - began);
    await written;
  }
  return percentile(took, 0.5);
}

function metricsOf(changed: Felt, endpointMs: number): Metric[] {
  const section = 'crossing';
  const { globalP50Ms, globalP99Ms, farEndpointP50Ms, closed } = proxyBudgets;
  return [
    {
      section,
      name: 'PUT on global to a request to another zone that shows it, p50',
      unit: 'ms',
      meridian: changed.p50Ms,
      budget: globalP50Ms,
    },
    {
      section,
      name: 'PUT on global to a request to another zone that shows it, p99',
      unit: 'ms',
      meridian: changed.p99Ms,
      budget: globalP99Ms,
    },
    {
      section,
      name: 'endpoint in another zone to a request that reaches it, p50',
      unit: 'ms',
      meridian: endpointMs,
      budget: farEndpointP50Ms,
    },
    { section, name: 'connections of the client closed', unit: '', meridian: changed.closed, budget: closed },
  ];
}
