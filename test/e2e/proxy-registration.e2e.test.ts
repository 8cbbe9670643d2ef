// Two replicas of a zone share a database. A Dataplane that a proxy brings comes and goes with the proxy, wherever it is connected.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { credentials, status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, expect, inject, it, vi } from 'vitest';
import { subscriptionsOf, isOpen } from '../../src/resource/online-status.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { PlayedProxy, type PlayedProxyOptions } from '../ads/played-proxy.ts';
import { ControlPlane, WAIT } from '../support/control-plane.ts';
import { freePort } from '../support/free-port.ts';
import { cloneDatabase } from '../support/postgres-database.ts';

type Overview = { readonly dataplane: JsonObject; readonly dataplaneInsight?: JsonObject };

const GRACE_MS = 1_500;
const replicas: ControlPlane[] = [];
const proxies: PlayedProxy[] = [];

beforeAll(async () => {
  const database = await cloneDatabase(inject('postgresUrl'));
  for (let index = 0; index < 2; index += 1)
    replicas.push(
      new ControlPlane('zone', database, await freePort(), {
        MERIDIAN_MULTIZONE_ZONE_NAME: 'east',
        MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(await freePort()),
        MERIDIAN_DP_SERVER_PORT: String(await freePort()),
        MERIDIAN_DP_SERVER_AUTHN_DP_PROXY_TYPE: 'none',
        MERIDIAN_XDS_SERVER_DATAPLANE_DEREGISTRATION_DELAY: `${String(GRACE_MS)}ms`,
        MERIDIAN_LOG_LEVEL: 'error',
      }),
    );
  for (const replica of replicas) {
    await replica.psql.connect();
    await startReplica(replica);
  }
});
afterEach(() => {
  for (const proxy of proxies.splice(0)) proxy.disconnect();
});
afterAll(async () => {
  await Promise.all(replicas.map((replica) => replica.end('SIGTERM')));
  await Promise.all(replicas.map((replica) => replica.psql.end()));
});

async function startReplica(replica: ControlPlane): Promise<void> {
  replica.start();
  await vi.waitFor(async () => {
    replica.assertRunning();
    expect(await replica.ready()).toBe(200);
  }, WAIT);
}

const [one, two] = [(): ControlPlane => replicas[0] as ControlPlane, (): ControlPlane => replicas[1] as ControlPlane];

async function connect(replica: ControlPlane, name: string, dataplane: object | null): Promise<PlayedProxy> {
  const proxy = await dial(replica, name, dataplane);
  await expect.poll(() => proxy.isWarm || proxy.ended !== null, WAIT).toBe(true);
  expect(proxy.ended).toBeNull();
  return proxy;
}

async function dial(
  replica: ControlPlane,
  name: string,
  dataplane: object | null,
  refuse?: PlayedProxyOptions['refuse'],
): Promise<PlayedProxy> {
  const ca = await readFile(join(replica.env['MERIDIAN_GENERAL_WORK_DIR'] ?? '', 'east/dp-server/cert.pem'));
  const given = dataplane === null ? {} : { 'dataplane.resource': JSON.stringify(dataplane) };
  const proxy = new PlayedProxy({
    address: `localhost:${replica.env['MERIDIAN_DP_SERVER_PORT'] ?? ''}`,
    credentials: credentials.createSsl(ca),
    ...(refuse !== undefined && { refuse }),
    mesh: 'default',
    name,
    metadata: { ...given, version: { kumaDp: { version: '3.0.0' }, envoy: { version: '1.40.0' } } },
  });
  proxies.push(proxy);
  proxy.connect();
  return proxy;
}

function dataplaneOf(name: string, port: number): Record<string, unknown> {
  const inbound = [{ port, name: 'http', protocol: 'http' }];
  return { type: 'Dataplane', mesh: 'default', name, labels: { app: name }, networking: { address: '127.0.0.1', inbound } };
}

async function overview(name: string, replica = two()): Promise<Overview | null> {
  const response = await fetch(`http://127.0.0.1:${String(replica.api)}/meshes/default/dataplanes/${name}/_overview`);
  return response.ok ? ((await response.json()) as Overview) : null;
}

async function openOf(name: string): Promise<(string | undefined)[]> {
  const { dataplaneInsight = {} } = (await overview(name)) ?? {};
  return subscriptionsOf(dataplaneInsight)
    .filter(isOpen)
    .map(({ controlPlaneInstanceId }) => controlPlaneInstanceId as string);
}

it('stores what a proxy brings, as a PUT does, and removes it with the proxy after the grace', async () => {
  const proxy = await connect(one(), 'cart-1', dataplaneOf('cart-1', 8080));
  expect(proxy.names('Listener')).toContain('127.0.0.1:8080');
  const response = await fetch(`http://127.0.0.1:${String(two().api)}/meshes/default/dataplanes/cart-1`);
  expect(await response.json()).toMatchObject({ labels: { app: 'cart-1', 'kuma.io/zone': 'east', 'kuma.io/origin': 'zone' } });
  await expect.poll(() => openOf('cart-1'), WAIT).toHaveLength(1);
  expect(subscriptionsOf((await overview('cart-1'))?.dataplaneInsight ?? {})).toMatchObject([
    { version: { kumaDp: { version: '3.0.0' }, envoy: { version: '1.40.0' } } },
  ]);
  proxy.disconnect();
  await expect.poll(() => openOf('cart-1'), WAIT).toEqual([]);
  await expect.poll(() => overview('cart-1'), WAIT).toBeNull();
});

it('keeps a Dataplane that was made by REST when its proxy goes, also one that the proxy brought again', async () => {
  expect(await one().put('/meshes/default/dataplanes/made-1', dataplaneOf('made-1', 8081))).toBe(201);
  const byName = await connect(one(), 'made-1', null);
  byName.disconnect();
  await expect.poll(() => openOf('made-1'), WAIT).toEqual([]);
  const bringing = await connect(two(), 'made-1', dataplaneOf('made-1', 8082));
  bringing.disconnect();
  await expect.poll(() => openOf('made-1'), WAIT).toEqual([]);
  // One that goes after it in time is gone: by then it would be gone too.
  const later = await connect(one(), 'cart-2', dataplaneOf('cart-2', 8083));
  later.disconnect();
  await expect.poll(() => overview('cart-2'), WAIT).toBeNull();
  expect(await overview('made-1')).toMatchObject({ dataplane: { networking: { inbound: [{ port: 8082 }] } } });
});

it('keeps a Dataplane whose proxy moves to another replica, also when the first is killed', async () => {
  const dataplane = dataplaneOf('cart-3', 8084);
  const first = await connect(one(), 'cart-3', dataplane);
  // The port that its Envoy has opened is noted after it has connected.
  const written = async (): Promise<{ xmin: string }[]> => {
    const noted = `select xmin from resources where type = 'Dataplane' and name = 'cart-3' and status::text like '%8084%'`;
    return (await two().psql.query<{ xmin: string }>(noted)).rows;
  };
  await expect.poll(written, WAIT).toHaveLength(1);
  const rows = await written();
  const [before] = await openOf('cart-3');
  await one().end('SIGKILL');
  await expect.poll(() => first.ended, WAIT).not.toBeNull();
  const moved = await connect(two(), 'cart-3', dataplane);
  await expect.poll(async () => (await openOf('cart-3')).map((id) => id === before), WAIT).toEqual([false]);
  await startReplica(one());
  // Back again, in order this time; another one that comes and goes meanwhile shows that the grace has passed.
  const back = await connect(one(), 'cart-3', dataplane);
  moved.disconnect();
  const other = await connect(two(), 'cart-4', dataplaneOf('cart-4', 8085));
  other.disconnect();
  await expect.poll(() => overview('cart-4'), WAIT).toBeNull();
  expect(back.ended).toBeNull();
  expect(await openOf('cart-3')).toHaveLength(1);
  expect(await written()).toEqual(rows);
});

it('closes the streams of a replica that was killed together with its proxy', async () => {
  const proxy = await connect(one(), 'cart-7', dataplaneOf('cart-7', 8090));
  await expect.poll(() => openOf('cart-7'), WAIT).toHaveLength(1);
  await one().end('SIGKILL');
  proxy.disconnect();
  // By the generation of its subscriptions the other replica would know it after five minutes.
  await expect.poll(() => openOf('cart-7'), { ...WAIT, timeout: 60_000 }).toEqual([]);
  await startReplica(one());
});

it('refuses a Dataplane that a PUT would refuse, with the field', async () => {
  const wrong = { ...dataplaneOf('cart-5', 8086), networking: { inbound: [{ port: 99_999 }] } };
  const proxy = await dial(one(), 'cart-5', wrong);
  await expect.poll(() => proxy.ended, WAIT).toMatchObject({ code: status.INVALID_ARGUMENT });
  expect(proxy.ended).toMatchObject({ details: expect.stringContaining('networking') as string });
  expect(await overview('cart-5')).toBeNull();
});

it('shows what a proxy refuses on the proxy and on the policy, on every replica, until it is over', async () => {
  const policy = (idleTimeout: string): Record<string, unknown> => ({
    ...{ type: 'MeshTimeout', mesh: 'default', name: 'idle' },
    spec: { targetRef: { kind: 'Dataplane', labels: { app: 'cart-6' } }, rules: [{ default: { idleTimeout } }] },
  });
  expect(await one().put('/meshes/default/meshtimeouts/idle', policy('5s'))).toBe(201);
  const reason = `Error adding/updating cluster(s) self_inbound_dp_http: no such extension`;
  let isRefusing = true;
  const refuse = (type: string): string | null => (isRefusing && type === 'Cluster' ? reason : null);
  await dial(one(), 'cart-6', dataplaneOf('cart-6', 8087), refuse);
  const kri = 'kri_mt_default_east__idle_';
  const problem = {
    kind: 'refused',
    at: 'Cluster self_inbound_dp_http',
    reason,
    policies: expect.arrayContaining([kri]) as string[],
  };
  const api = `http://127.0.0.1:${String(two().api)}/meshes/default`;
  const get = async (path: string): Promise<Record<string, unknown>> => (await (await fetch(api + path)).json()) as never;
  await expect.poll(async () => (await get('/dataplanes/cart-6/_effective'))['problems'], WAIT).toMatchObject([problem]);
  expect(await get('/meshtimeouts/idle/_reach')).toMatchObject({ touched: [{ problems: [problem] }] });
  expect(await get('/dataplanes/cart-6/_overview')).toMatchObject({ proxyProblems: [problem], proxyProblemCount: 1 });
  const metrics = await fetch(`http://127.0.0.1:${one().env['MERIDIAN_DIAGNOSTICS_SERVER_PORT'] ?? ''}/metrics`);
  expect(await metrics.text()).toMatch(/^meridian_xds_resources_refused(\{[^}]*\})? 1$/m);
  isRefusing = false;
  expect(await one().put('/meshes/default/meshtimeouts/idle', policy('6s'))).toBe(200);
  await expect.poll(async () => (await get('/dataplanes/cart-6/_effective'))['problems'], WAIT).toBeUndefined();
});
