// Zone proxies with three processes on PostgreSQL, over REST and the command line.
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { hashName } from '../../src/resource/hash-name.ts';
import { startFleet, WAIT, type ControlPlane, type Fleet } from '../support/control-plane.ts';
import { connectedInsight } from '../support/connected-insight.ts';
import { outputOf } from '../support/run-meridian.ts';

const OWN = { 'kuma.io/origin': 'zone' };
const SNI = 'a57288023ec4e82f1.cart.80.shop.ms';
const COPY = hashName({ mesh: 'shop', name: 'cart', zone: 'east' });

type Row = { spec: { zoneIngress?: unknown; ports?: unknown }; status: Record<string, unknown> };

describe('zone proxies of two zones', () => {
  let fleet: Fleet;
  let global: ControlPlane;
  let east: ControlPlane;
  let west: ControlPlane;

  beforeAll(async () => {
    fleet = await startFleet(inject('postgresUrl'), ['east', 'west']);
    global = fleet.global;
    [east, west] = fleet.zones as [ControlPlane, ControlPlane];
    await put(global, '/meshes/shop', { type: 'Mesh', name: 'shop' });
    for (const zone of [east, west]) await vi.waitFor(async () => expect((await zone.rows('Mesh')).has('shop')).toBe(true), WAIT);
    const spec = {
      selector: { dataplaneLabels: { matchLabels: { app: 'cart' } } },
      ports: [{ port: 80, targetPort: 8080, appProtocol: 'http' }],
    };
    await put(east, '/meshes/shop/meshservices/cart', { type: 'MeshService', mesh: 'shop', name: 'cart', labels: OWN, spec });
    await dataplane(east, 'cart-1', { address: '10.1.0.11', inbound: [{ port: 8080, name: 'http' }] }, { app: 'cart' });
  });

  afterAll(() => fleet.stop());

  async function put(cp: ControlPlane, path: string, body: Record<string, unknown>): Promise<void> {
    expect([200, 201]).toContain(await cp.put(path, body));
  }

  async function dataplane(zone: ControlPlane, name: string, networking: unknown, labels = {}): Promise<void> {
    await put(zone, `/meshes/shop/dataplanes/${name}`, { type: 'Dataplane', mesh: 'shop', name, labels, networking });
  }

  /** A zone proxy whose Envoy is connected. */
  async function zoneProxy(zone: ControlPlane, name: string, networking: unknown): Promise<void> {
    await dataplane(zone, name, networking);
    await connectedInsight(zone, 'shop', name);
  }

  async function remove(cp: ControlPlane, path: string): Promise<void> {
    expect((await fetch(`http://127.0.0.1:${String(cp.api)}${path}`, { method: 'DELETE' })).ok).toBe(true);
  }

  async function row(cp: ControlPlane, type: string, name: string): Promise<Row | undefined> {
    return (await cp.rows(type)).get(name) as Row | undefined;
  }

  const ingress = (advertisedAddress: string): unknown => ({
    zoneIngress: { address: '10.1.0.2', port: 10_001, advertisedAddress, advertisedPort: 30_001 },
  });

  /** The ingress of the service on each control plane. */
  async function ingresses(): Promise<unknown[]> {
    const found = [
      await row(global, 'MeshService', COPY),
      await row(east, 'MeshService', 'cart'),
      await row(west, 'MeshService', COPY),
    ];
    return found.map((one) => one?.spec.zoneIngress);
  }

  async function meridian(cp: ControlPlane, ...args: string[]): Promise<string> {
    const address = ['--address', `http://127.0.0.1:${String(cp.api)}`, '--mesh', 'shop'];
    return await outputOf([...args, ...address]);
  }

  it('have the same ingress on every side: set, moved, taken over and removed', async () => {
    const everywhere = (address: string): unknown[] => Array.from({ length: 3 }, () => ({ address, port: 30_001, sni: SNI }));
    await zoneProxy(east, 'zi-1', ingress('192.0.2.1'));
    await expect.poll(ingresses, WAIT).toEqual(everywhere('192.0.2.1'));
    await zoneProxy(east, 'zi-1', ingress('192.0.2.9'));
    await zoneProxy(east, 'zi-2', ingress('192.0.2.2'));
    await expect.poll(ingresses, WAIT).toEqual(everywhere('192.0.2.9'));
    await remove(east, '/meshes/shop/dataplanes/zi-1');
    await expect.poll(ingresses, WAIT).toEqual(everywhere('192.0.2.2'));
    await remove(east, '/meshes/shop/dataplanes/zi-2');
    await expect.poll(ingresses, WAIT).toEqual([undefined, undefined, undefined]);
    await zoneProxy(east, 'zi-1', ingress('192.0.2.1'));
    await expect.poll(ingresses, WAIT).toEqual(everywhere('192.0.2.1'));
  });

  it('are sent to Kuma peers as MeshZoneAddress (D27)', async () => {
    const name = hashName({ mesh: 'shop', name: 'zone-ingress', zone: 'east' });
    const spec = { address: '192.0.2.1', port: 30_001 };
    for (const cp of [global, west])
      await expect.poll(async () => (await row(cp, 'MeshZoneAddress', name))?.spec, WAIT).toEqual(spec);
  });

  it('keep the egress of a zone in that zone', async () => {
    const spec = {
      match: { type: 'HostnameGenerator', port: 443, protocol: 'tcp' },
      endpoints: [{ address: 'api.example', port: 443 }],
    };
    await put(global, '/meshes/shop/meshexternalservices/api', { type: 'MeshExternalService', mesh: 'shop', name: 'api', spec });
    await zoneProxy(east, 'ze-1', { zoneEgress: { address: '10.1.0.3', port: 10_002 } });
    const copy = hashName({ mesh: 'shop', name: 'api' });
    const status = async (cp: ControlPlane, name = copy): Promise<Record<string, unknown>> =>
      (await row(cp, 'MeshExternalService', name))?.status ?? {};
    await expect
      .poll(async () => (await status(east))['zoneEgress'], WAIT)
      .toEqual({
        address: '10.1.0.3',
        port: 10_002,
        sni: expect.stringMatching(/^a[0-9a-f]{16}\.api\.443\.shop\.mes$/) as string,
      });
    await expect.poll(async () => Object.keys(await status(west)), WAIT).toContain('vip');
    expect(await status(west)).not.toHaveProperty('zoneEgress');
    expect(await status(global, 'api')).not.toHaveProperty('zoneEgress');
    expect(await meridian(east, 'inspect', 'service', 'api')).toMatch(/east +through egress +10\.1\.0\.3:10002/);
  });

  it('are shown on the command line and over REST', async () => {
    await expect.poll(() => meridian(global, 'get', 'meshservices'), WAIT).toMatch(/cart +east .*80\/http .*192\.0\.2\.1:30001/);
    expect(await meridian(east, 'get', 'meshservices')).toContain('cart.svc.mesh.local');
    const seen = await meridian(global, 'inspect', 'service', 'cart');
    expect(seen).toMatch(/cart +east +east +local +.*1 of 1 proxies healthy/);
    expect(seen).toMatch(new RegExp(`cart +east +west +through ingress +192\\.0\\.2\\.1:30001 +${SNI}`));
    const body = await (await fetch(`http://127.0.0.1:${String(west.api)}/meshes/shop/meshservices/${COPY}`)).json();
    expect(body).toMatchObject({
      snis: [
        { port: 80, sni: 'sni.msvc.shop.east.cart.80' },
        { port: 80, sni: SNI },
      ],
      status: { vips: [{ ip: '241.0.0.0' }] },
    });
    const hostnames = await (
      await fetch(`http://127.0.0.1:${String(west.api)}/meshes/shop/meshservices/${COPY}/_hostnames`)
    ).json();
    expect(hostnames).toEqual({ total: 1, items: [{ hostname: 'cart.svc.east.mesh.local', zones: [{ name: 'east' }] }] });
  });

  it('lose their services in other zones while their zone is disabled', async () => {
    await put(global, '/zones/east', { type: 'Zone', name: 'east', enabled: false });
    await expect.poll(async () => row(west, 'MeshService', COPY), WAIT).toBeUndefined();
    expect(await meridian(global, 'inspect', 'service', 'cart')).toContain('zone east is disabled');
    await put(global, '/zones/east', { type: 'Zone', name: 'east', enabled: true });
    await expect.poll(async () => (await row(west, 'MeshService', COPY))?.spec.zoneIngress, WAIT).toMatchObject({ sni: SNI });
  });

  it('are refused with an incomplete Dataplane, and nothing is stored', async () => {
    const networking = { zoneIngress: { address: '10.1.0.2', port: 1, advertisedAddress: '0.0.0.0' } };
    const body = { type: 'Dataplane', mesh: 'shop', name: 'half', networking };
    expect(await east.put('/meshes/shop/dataplanes/half', body)).toBe(400);
    expect((await east.rows('Dataplane')).has('half')).toBe(false);
  });

  it('have the same addresses after kill -9 of their zone', async () => {
    const before = await row(east, 'MeshService', 'cart');
    await east.end('SIGKILL');
    await east.psql.query(`update resources set status = '{}' where type = 'MeshService' and name = 'cart' and mesh = 'shop'`);
    await east.psql.query(`delete from resources where type = 'Dataplane' and name = 'zi-1'`);
    east.start();
    await expect.poll(ingresses, WAIT).toEqual([undefined, undefined, undefined]);
    await expect.poll(async () => Object.keys((await row(east, 'MeshService', 'cart'))?.status ?? {}), WAIT).toContain('vips');
    await zoneProxy(east, 'zi-1', ingress('192.0.2.1'));
    await expect.poll(async () => row(east, 'MeshService', 'cart'), WAIT).toEqual(before);
  });
});
