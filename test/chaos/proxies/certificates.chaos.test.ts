// A zone of two replicas on PostgreSQL whose certificates are short-lived: they are renewed and their authority is changed while
// requests go on, and while the replica that leads is killed. Nothing is sent again: what fails is counted.
import { afterAll, beforeAll, expect, inject, it, vi } from 'vitest';
import type { JsonObject } from '../../../src/resource/types.ts';
import { freePort } from '../../support/free-port.ts';
import { cloneDatabase } from '../../support/postgres-database.ts';
import { sized } from '../../support/test-size.ts';
import { EnvoyMesh, type Proxy } from '../../envoy/envoy-mesh.ts';
import { SteadyRequests, type SteadyClient } from '../../envoy/steady-requests.ts';
import { ZoneProcess } from '../../envoy/zone-process.ts';

const MESH = 'rotated';
/** A renewal has six seconds on a busy machine. */
const EXPIRY = '30s';
/** Of each certificate. */
const RENEWALS = sized({ push: 1, full: 8 });
/** Between two requests of a client. */
const PACE_MS = 20;
const IDENTITY = `/meshes/${MESH}/meshidentities/identity`;

let replicas: ZoneProcess[] = [];
let mesh: EnvoyMesh;
let server: Proxy;
let client: Proxy;
let clients: SteadyClient[] = [];

/** The serial number of the certificate in use. */
async function serialOf(proxy: Proxy, workload: string): Promise<string> {
  const own = new RegExp(
    `"serial_number": "(\\w+)"[^}]*?"subject_alt_names": \\[\\s*\\{\\s*"uri": "[^"]*workload/${workload}"`,
    's',
  );
  return own.exec(await proxy.admin('/certs'))?.[1] ?? '';
}

const workload = (name: string): Record<string, string> => ({ app: name, 'kuma.io/workload': name });
const serials = async (): Promise<string[]> => Promise.all([serialOf(server, 'cart'), serialOf(client, 'checkout')]);

/** Resolves when both proxies have another certificate than before. */
async function renewed(): Promise<void> {
  const before = await serials();
  await vi.waitFor(async () => {
    for (const [at, serial] of (await serials()).entries()) expect(['', before[at]]).not.toContain(serial);
  });
}

const handshakes = (): Promise<number> => server.sum(/listener\..*\.ssl\.handshake$/);
/** Handshakes that failed, on either side. */
async function refused(): Promise<number> {
  const names = /\.ssl\.(connection_error|fail_verify_.*)$/;
  return (await server.sum(names)) + (await client.sum(names));
}

/** Asks on connections of all ages. The server of the zone has seen as many handshakes, and refused none. */
async function during(work: (requests: SteadyRequests) => Promise<void>): Promise<void> {
  const [made, errors] = [await handshakes(), await refused()];
  const requests = await SteadyRequests.during(clients, work, PACE_MS);
  expect(requests.failures).toEqual(new Map());
  expect(await refused()).toBe(errors);
  expect(await handshakes()).toBeGreaterThan(made + 20);
}

/** The replicas, the one that leads first. */
async function leads(of: readonly ZoneProcess[]): Promise<ZoneProcess[]> {
  return await vi.waitFor(async () => {
    const [leader] = (await Promise.all(of.map(async (one) => ((await one.isLeader()) ? [one] : [])))).flat();
    if (leader === undefined) throw new Error('no replica leads');
    return [leader, ...of.filter((one) => one !== leader)];
  });
}

const rotation = (of: ZoneProcess): Promise<JsonObject> => of.read(`${IDENTITY}/_rotation`);

beforeAll(async () => {
  replicas = await ZoneProcess.startReplicas('east', 2, await cloneDatabase(inject('postgresUrl')));
  const [first] = replicas;
  if (first === undefined) throw new Error('two replicas');
  mesh = await EnvoyMesh.open(MESH, first);
  await mesh.put('MeshTrafficPermission', 'all', {
    spec: { rules: [{ default: { allow: [{ spiffeID: { type: 'Prefix', value: `spiffe://${MESH}.east.mesh.local` } }] } }] },
  });
  const bundled = { autogenerate: { enabled: true }, certificateParameters: { expiry: EXPIRY } };
  await mesh.put('MeshIdentity', 'identity', {
    spec: { selector: { dataplane: { matchLabels: {} } }, provider: { type: 'Bundled', bundled } },
  });
  const { port: servicePort } = await mesh.application('cart', 'http');
  const inbounds = [
    { name: 'http', port: await freePort(), servicePort, protocol: 'http' },
    { name: 'tcp', port: await freePort(), servicePort, protocol: 'tcp' },
  ];
  const named = inbounds.map(({ name, port, protocol }) => ({ name, port, targetPort: name, appProtocol: protocol }));
  await mesh.put('MeshService', 'cart', {
    spec: { selector: { dataplaneLabels: { matchLabels: { app: 'cart' } } }, ports: named },
  });
  server = await mesh.proxy('cart', { labels: workload('cart'), inbound: inbounds, isBrought: true });
  const [http, tcp] = [await freePort(), await freePort()];
  const outbounds = inbounds.map(({ name, port: to }) => ({
    port: name === 'http' ? http : tcp,
    backendRef: { kind: 'MeshService', name: 'cart', port: to },
  }));
  client = await mesh.proxy('checkout', { labels: workload('checkout'), outbounds, isBrought: true });
  for (const port of [http, tcp]) await vi.waitFor(async () => expect((await mesh.get(port)).status).toBe(200));
  // A connection of TCP is one between the proxies, and as old.
  clients = [
    { port: http, perConnection: Infinity },
    ...[Infinity, Infinity, 200, 20, 1].map((perConnection) => ({ port: tcp, perConnection })),
  ];
});
afterAll(async () => {
  await mesh.close();
  await Promise.all(replicas.map((replica) => replica.stop()));
});

it('certificates are renewed under connections of all ages: no request fails', async () => {
  await during(async () => {
    for (let at = 0; at < RENEWALS; at += 1) await renewed();
  });
});

it('a rotation goes on when the replica that leads is killed in the middle of it: no request fails', async () => {
  const [leader, other] = (await leads(replicas)) as [ZoneProcess, ZoneProcess];
  const { authority } = await rotation(other);
  await during(async () => {
    await leader.send('POST', `${IDENTITY}/_rotate`, {});
    await leader.stop('SIGKILL');
    await expect.poll(() => rotation(other)).toMatchObject({ step: 'renew' });
    await expect.poll(() => rotation(other)).toMatchObject({ step: 'none' });
  });
  expect((await rotation(other))['authority']).not.toBe(authority);
});
