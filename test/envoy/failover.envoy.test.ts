// A service in three zones: which zones serve the clients of each when servers or ingresses go, as MeshLoadBalancingStrategy says.
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { objectOf, objectsOf } from '../../src/resource/read-json.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { freePort } from '../support/free-port.ts';
import { Application } from './application.ts';
import { EnvoyMesh, type Proxy } from './envoy-mesh.ts';
import { countBy, expectShares } from './shares.ts';
import { ZoneProcess } from './zone-process.ts';

const MESH = 'failover';
const ZONES = ['east', 'west', 'north'] as const;
type Zone = (typeof ZONES)[number];
/** Servers of the service in each zone. The proxy of them is the client there too. */
const COUNTS: Readonly<Record<Zone, number>> = { east: 4, west: 1, north: 1 };
type Place = {
  mesh: EnvoyMesh;
  client: Proxy;
  outbound: number;
  servers: readonly Application[];
  ingressPort: number;
  ingress: Proxy;
};
let planes: ZoneProcess[] = [];
const started: EnvoyMesh[] = [];
const places = new Map<Zone, Place>();
const stock = { kind: 'MeshMultiZoneService', labels: { 'kuma.io/display-name': 'stock' } };
const onGlobal = async (path: string, type: string, of: string, spec: JsonObject): Promise<void> =>
  planes[0]?.send('PUT', `/meshes/${MESH}/${path}/${of}`, { type, mesh: MESH, name: of, spec });

const at = (zone: Zone): Place => {
  const place = places.get(zone);
  if (place === undefined) throw new Error(`zone ${zone} has not started`);
  return place;
};
const workload = (name: string): Record<string, string> => ({ app: name, 'kuma.io/workload': name });
const startIngress = async (mesh: EnvoyMesh, port: number): Promise<Proxy> =>
  mesh.proxy(`ingress-${mesh.zone.name}`, {
    labels: workload('ingress'),
    listeners: { zoneIngress: { address: '127.0.0.1', port, advertisedAddress: '127.0.0.1', advertisedPort: port } },
    isBrought: true,
  });

async function open(zone: Zone): Promise<void> {
  const plane = planes.find((candidate) => candidate.name === zone);
  if (plane === undefined) throw new Error(`no control plane of ${zone}`);
  const mesh = await EnvoyMesh.join(MESH, plane);
  started.push(mesh);
  const [targetPort, outbound, ingressPort] = [await freePort(), await freePort(), await freePort()];
  const ports = [{ name: 'main', port: 80, targetPort, appProtocol: 'http' }];
  await mesh.put('MeshService', 'stock', { spec: { selector: { dataplaneLabels: { matchLabels: { app: 'stock' } } }, ports } });
  const servers = await Promise.all(
    Array.from({ length: COUNTS[zone] }, (_, n) => mesh.application(`${zone}-${String(n + 1)}`, 'http')),
  );
  const inbound = servers.map(({ port: servicePort }, n) => ({
    ...{ name: `main-${String(n + 1)}`, address: `127.0.0.${String(n + 1)}`, port: targetPort },
    ...{ servicePort, serviceAddress: '127.0.0.1', protocol: 'http' },
  }));
  const outbounds = [{ port: outbound, backendRef: { ...stock, port: 80 } }];
  const client = await mesh.proxy(`stock-${zone}`, { labels: workload('stock'), inbound, outbounds });
  places.set(zone, { mesh, client, outbound, servers, ingressPort, ingress: await startIngress(mesh, ingressPort) });
}

beforeAll(async () => {
  planes = await ZoneProcess.startFleet(ZONES);
  await planes[0]?.send('PUT', `/meshes/${MESH}`, { type: 'Mesh', name: MESH, skipCreatingInitialPolicies: ['*'] });
  await onGlobal('meshtrafficpermissions', 'MeshTrafficPermission', 'all', {
    rules: [{ default: { allow: ZONES.map((zone) => ({ spiffeID: { type: 'Prefix', value: `spiffe://${MESH}.${zone}.` } })) } }],
  });
  await onGlobal('meshidentities', 'MeshIdentity', 'identity', {
    selector: { dataplane: { matchLabels: {} } },
    provider: { type: 'Bundled', bundled: { autogenerate: { enabled: true } } },
  });
  await onGlobal('meshmultizoneservices', 'MeshMultiZoneService', 'stock', {
    selector: { meshService: { matchLabels: { 'kuma.io/display-name': 'stock' } } },
    ports: [{ port: 80, name: 'main', appProtocol: 'http' }],
  });
  await Promise.all(ZONES.map(open));
});
afterAll(async () => {
  await Promise.all(started.map((mesh) => mesh.close()));
  await Promise.all(planes.map((plane) => plane.stop()));
});

const strategy = (crossZone: JsonObject): Promise<void> =>
  onGlobal('meshloadbalancingstrategies', 'MeshLoadBalancingStrategy', 'crossing', {
    to: [{ targetRef: stock, default: { localityAwareness: { crossZone } } }],
  });

/** Whether the servers of a zone take requests. */
async function setReady(zone: Zone, isReady: boolean): Promise<void> {
  const { mesh } = at(zone);
  const { labels, networking } = await mesh.read('Dataplane', `stock-${zone}`);
  const inbound = objectsOf(objectOf(networking)['inbound']).map((one) => ({ ...one, state: isReady ? 'Ready' : 'NotReady' }));
  await mesh.put('Dataplane', `stock-${zone}`, { labels: objectOf(labels), networking: { ...objectOf(networking), inbound } });
}

/** Who answers clients of a zone: zones, or the status of a failure, with the number of answers. */
async function answers(zone: Zone, count: number): Promise<Map<string, number>> {
  const { mesh, outbound } = at(zone);
  return countBy(await mesh.many(count, outbound), ({ status, body }) =>
    status === 200 ? (body.split('-')[0] ?? '') : String(status),
  );
}
const answering = async (zone: Zone): Promise<string> => [...(await answers(zone, 20)).keys()].sort().join(' ');
/** The answers to clients in all zones. */
const expectAnswers = (expected: Readonly<Record<Zone, string>>): Promise<void> =>
  expect
    .poll(async () => Object.fromEntries(await Promise.all(ZONES.map(async (zone) => [zone, await answering(zone)] as const))))
    .toEqual(expected);
const LOCAL = { east: 'east', west: 'west', north: 'north' };

it('says for each zone which other zones serve its clients when its own servers go, and in which order', async () => {
  await strategy({
    failover: [
      { from: { zones: ['east'] }, to: { type: 'Only', zones: ['north'] } },
      { from: { zones: ['north'] }, to: { type: 'AnyExcept', zones: ['west'] } },
      { from: { zones: ['west'] }, to: { type: 'None' } },
      { to: { type: 'Any' } },
    ],
  });
  await expectAnswers(LOCAL);
  await setReady('east', false);
  await expectAnswers({ ...LOCAL, east: 'north' });
  await at('north').ingress.stop();
  await expectAnswers({ ...LOCAL, east: 'west' });
  at('north').ingress = await startIngress(at('north').mesh, at('north').ingressPort);
  await expectAnswers({ ...LOCAL, east: 'north' });
  await setReady('north', false);
  await expectAnswers({ east: 'west', west: 'west', north: 'west' });
  await setReady('east', true);
  await expectAnswers({ ...LOCAL, north: 'east' });
  await setReady('north', true);
  await setReady('west', false);
  await expectAnswers({ ...LOCAL, west: '503' });
  await strategy({ failover: [{ to: { type: 'Any' } }] });
  await expectAnswers({ ...LOCAL, west: 'east north' });
  await setReady('west', true);
  await expectAnswers(LOCAL);
});

it.each<[percentage: number, sick: number, shares: Record<string, number>]>([
  [50, 2, { east: 1 }],
  [50, 3, { east: 1 / 2, north: 1 / 2 }],
  [25, 3, { east: 1 }],
  [100, 1, { east: 3 / 4, north: 1 / 4 }],
])('with failoverThreshold %i, and %i of 4 servers sick, spreads requests as %j', async (percentage, sick, shares) => {
  const { mesh, client, servers } = at('east');
  const http = { path: '/health', expectedStatuses: [200] };
  const check = { interval: '0.2s', timeout: '5s', unhealthyThreshold: 1, healthyThreshold: 1, http };
  await strategy({
    failover: [{ to: { type: 'Only', zones: ['north'] } }, { to: { type: 'Any' } }],
    failoverThreshold: { percentage },
  });
  await mesh.policy('MeshHealthCheck', 'check', { to: [{ targetRef: stock, default: check }] });
  servers.forEach((one, n) => (one.answer = ({ path }) => (path === '/health' && n < sick ? { status: 503 } : {})));
  onTestFinished(() => servers.forEach((one) => (one.answer = () => ({}))));
  const healthy = (): Promise<number> => client.sum(/^cluster\.kri_mzsvc_.*_stock_main\.membership_healthy$/);
  // The servers of the own zone, and an ingress of each other.
  await expect.poll(healthy).toBe(servers.length + ZONES.length - 1 - sick);
  await expect.poll(() => answering('east')).toBe(Object.keys(shares).join(' '));
  expectShares(await answers('east', 400), shares);
});

it('another zone serves when only the application dies, and each command says why; at the end the own zone serves again', async () => {
  const { mesh, servers } = at('west');
  await strategy({ failover: [{ to: { type: 'Any' } }] });
  await expectAnswers(LOCAL);
  const [application] = servers;
  const servicePort = application?.port ?? 0;
  await application?.close();
  // The inbound has no serviceProbe.
  await expect.poll(async () => (await answering('west')).includes('503')).toBe(false);
  expect((await answers('west', 200)).get('503') ?? 0).toBe(0);
  const reason = `the application of inbound main-1 does not answer on 127.0.0.1:${String(servicePort)}`;
  const { problems } = await mesh.ask('Dataplane', 'stock-west', '_effective');
  expect(objectsOf(problems)).toMatchObject([{ at: 'networking.inbound[0]', reason: expect.stringContaining(reason) as string }]);
  const parts = objectsOf((await mesh.ask('MeshService', 'stock', '_ways'))['items']).flatMap((way) => objectsOf(way['parts']));
  expect(parts).toContainEqual(
    expect.objectContaining({ part: 'server', state: 'broken', why: expect.stringContaining(reason) as string }),
  );
  for (const plane of [mesh.zone, planes[0]]) {
    const said = async (): Promise<unknown> => JSON.stringify(await plane?.read('/_problems'));
    await expect.poll(said, { timeout: 40_000 }).toContain(reason);
  }

  const again = await Application.listen('west-1', 'http', servicePort);
  onTestFinished(() => again.close());
  await expectAnswers(LOCAL);
});
