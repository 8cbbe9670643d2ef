// The authorities of two zones are changed at once while proxies of one call a service of the other: each zone waits until the other says
// that its proxies have accepted the new authority. Nothing is sent again: what fails is counted.
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { objectsOf } from '../../../src/resource/read-json.ts';
import type { JsonObject } from '../../../src/resource/types.ts';
import { freePort } from '../../support/free-port.ts';
import { EnvoyMesh, type Proxy } from '../../envoy/envoy-mesh.ts';
import { SteadyRequests, type SteadyClient } from '../../envoy/steady-requests.ts';
import { ZoneProcess } from '../../envoy/zone-process.ts';

const MESH = 'changed';
/** A renewal has six seconds on a busy machine. */
const EXPIRY = '30s';
/** Between two requests of a client. */
const PACE_MS = 20;
const IDENTITY = `/meshes/${MESH}/meshidentities/identity`;
const CATALOG = { 'kuma.io/display-name': 'catalog', 'kuma.io/zone': 'west' };

let planes: ZoneProcess[] = [];
const meshes: EnvoyMesh[] = [];
let server: Proxy;
let client: Proxy;
let clients: SteadyClient[] = [];

const workload = (name: string): Record<string, string> => ({ app: name, 'kuma.io/workload': name });
const handshakes = (): Promise<number> => server.sum(/listener\..*\.ssl\.handshake$/);

/** Handshakes that failed, on either side. */
async function refused(): Promise<number> {
  const names = /\.ssl\.(connection_error|fail_verify_.*)$/;
  return (await server.sum(names)) + (await client.sum(names));
}

async function identify(mesh: EnvoyMesh): Promise<void> {
  const bundled = { autogenerate: { enabled: true }, certificateParameters: { expiry: EXPIRY } };
  await mesh.put('MeshIdentity', 'identity', {
    spec: { selector: { dataplane: { matchLabels: {} } }, provider: { type: 'Bundled', bundled } },
  });
}

beforeAll(async () => {
  planes = await ZoneProcess.startFleet(['east', 'west']);
  const [global, eastZone, westZone] = planes;
  if (global === undefined || eastZone === undefined || westZone === undefined) throw new Error('three control planes');
  const mesh = { type: 'Mesh', name: MESH, skipCreatingInitialPolicies: ['*'] };
  await global.send('PUT', `/meshes/${MESH}`, mesh);
  const rules = [{ default: { allow: [{ spiffeID: { type: 'Prefix', value: `spiffe://${MESH}.east.mesh.local` } }] } }];
  const permission = { type: 'MeshTrafficPermission', mesh: MESH, name: 'all', spec: { rules } };
  await global.send('PUT', `/meshes/${MESH}/meshtrafficpermissions/all`, permission);
  const [east, west] = await Promise.all([EnvoyMesh.join(MESH, eastZone), EnvoyMesh.join(MESH, westZone)]);
  meshes.push(east, west);
  await Promise.all(meshes.map(identify));
  const { port: servicePort } = await west.application('catalog', 'http');
  const inbound = [
    { name: 'http', port: await freePort(), servicePort, protocol: 'http' },
    { name: 'tcp', port: await freePort(), servicePort, protocol: 'tcp' },
  ];
  const named = inbound.map(({ name, port, protocol }) => ({ name, port, targetPort: name, appProtocol: protocol }));
  await west.put('MeshService', 'catalog', {
    spec: { selector: { dataplaneLabels: { matchLabels: { app: 'catalog' } } }, ports: named },
  });
  server = await west.proxy('catalog', { labels: workload('catalog'), inbound });
  const port = await freePort();
  const zoneIngress = { address: '127.0.0.1', port, advertisedAddress: '127.0.0.1', advertisedPort: port };
  await west.proxy('ingress', { labels: workload('ingress'), listeners: { zoneIngress } });
  const outbounds: { port: number; backendRef: JsonObject }[] = [];
  for (const { port: of } of inbound)
    outbounds.push({ port: await freePort(), backendRef: { kind: 'MeshService', labels: CATALOG, port: of } });
  client = await east.proxy('cart', { labels: workload('cart'), outbounds });
  for (const one of outbounds) await vi.waitFor(async () => expect((await east.get(one.port)).status).toBe(200));
  const [http, tcp] = outbounds.map((one) => one.port) as [number, number];
  // A connection of TCP is one between the proxies, and as old.
  clients = [
    { port: http, perConnection: Infinity },
    ...[Infinity, Infinity, 200, 20, 1].map((perConnection) => ({ port: tcp, perConnection })),
  ];
});
afterAll(async () => {
  await Promise.all(meshes.map((mesh) => mesh.close()));
  await Promise.all(planes.map((plane) => plane.stop()));
});

it('authorities of two zones change while one calls the other: no request fails, and no handshake', async () => {
  const zones = planes.slice(1);
  const rotation = (zone: ZoneProcess): Promise<JsonObject> => zone.read(`${IDENTITY}/_rotation`);
  const steps = async (): Promise<unknown[]> => (await Promise.all(zones.map(rotation))).map(({ step }) => step);
  const authorities = async (): Promise<unknown[]> => (await Promise.all(zones.map(rotation))).map(({ authority }) => authority);
  const [before, made, errors] = [await authorities(), await handshakes(), await refused()];
  const requests = await SteadyRequests.during(
    clients,
    async () => {
      await Promise.all(zones.map((zone) => zone.send('POST', `${IDENTITY}/_rotate`, {})));
      // Without the word of the other zone it would take ten minutes.
      await expect.poll(steps).toEqual(['renew', 'renew']);
      await expect.poll(steps).toEqual(['none', 'none']);
    },
    PACE_MS,
  );
  expect(requests.failures).toEqual(new Map());
  expect(await refused()).toBe(errors);
  expect(await handshakes()).toBeGreaterThan(made + 20);
  const after = await authorities();
  for (const [at, authority] of after.entries()) expect(authority).not.toBe(before[at]);
  // That of the other zone comes over global, after the last step there.
  const authoritiesOfTrusts = async (): Promise<number[]> => {
    const trusts = objectsOf((await planes[1]?.read(`/meshes/${MESH}/meshtrusts`))?.['items']);
    return trusts.map(({ spec }) => objectsOf((spec as JsonObject)['caBundles']).length);
  };
  await expect.poll(authoritiesOfTrusts).toEqual([1, 1]);
});
