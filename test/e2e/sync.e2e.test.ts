// Sync with real processes, TCP and PostgreSQL: resources arrive, survive kill -9 on either side, and are deleted without remains.
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { hashName } from '../../src/resource/hash-name.ts';
import { connectedInsight } from '../support/connected-insight.ts';
import { startFleet, WAIT, type ControlPlane, type Fleet } from '../support/control-plane.ts';

function timeout(mesh: string, name: string, seconds: number, labels: Record<string, string> = {}): Record<string, unknown> {
  const spec = {
    targetRef: { kind: 'Mesh' },
    to: [{ targetRef: { kind: 'Mesh' }, default: { http: { requestTimeout: `${String(seconds)}s` } } }],
  };
  return { type: 'MeshTimeout', mesh, name, labels, spec };
}

describe('a global and two zones', () => {
  let global: ControlPlane;
  let east: ControlPlane;
  let west: ControlPlane;
  let started: Fleet;

  beforeAll(async () => {
    started = await startFleet(inject('postgresUrl'), ['east', 'west'], {
      env: {
        MERIDIAN_MULTIZONE_GLOBAL_KDS_LABELS_SKIP_PREFIXES: 'local.example',
        MERIDIAN_MULTIZONE_ZONE_KDS_LABELS_SKIP_PREFIXES: 'local.example',
      },
    });
    global = started.global;
    [east, west] = started.zones as [ControlPlane, ControlPlane];
    const until = (isTrue: () => Promise<boolean>): Promise<void> =>
      vi.waitFor(async () => expect(await isTrue()).toBe(true), WAIT);
    expect(await global.put('/meshes/shop', { type: 'Mesh', name: 'shop' })).toBe(201);
    for (const zone of [east, west]) await until(async () => (await zone.rows('Mesh')).has('shop'));
  });

  afterAll(() => started.stop());

  it('has policies of global in every zone under distinct hashed names, also for one display name (MADR 029)', async () => {
    expect(
      await global.put('/meshes/shop/meshtimeouts/slow', timeout('shop', 'slow', 1, { team: 'a', 'local.example/tool': 'x' })),
    ).toBe(201);
    expect(await global.put('/meshes/default/meshtimeouts/slow', timeout('default', 'slow', 2))).toBe(201);
    expect(
      await global.put('/meshes/shop/meshtimeouts/mine', timeout('shop', 'mine', 3, { 'kuma.io/kds-sync': 'disabled' })),
    ).toBe(201);
    for (const zone of [east, west]) {
      await expect
        .poll(async () => (await zone.rows('MeshTimeout')).has(hashName({ mesh: 'default', name: 'slow' })), WAIT)
        .toBe(true);
      const rows = await zone.rows('MeshTimeout');
      expect(rows.get(hashName({ mesh: 'shop', name: 'slow' }))).toEqual({
        mesh: 'shop',
        labels: { 'kuma.io/display-name': 'slow', 'kuma.io/mesh': 'shop', 'kuma.io/origin': 'global', team: 'a' },
        spec: timeout('shop', 'slow', 1)['spec'],
        status: {},
      });
      expect([...rows.keys()].filter((name) => name.startsWith('mine'))).toEqual([]);
    }
  });

  it('syncs a MeshService over global to the other zone, with the zoneIngress of its zone and without status', async () => {
    const zoneIngress = { address: '10.1.0.2', port: 10001, advertisedAddress: '192.0.2.1', advertisedPort: 30001 };
    const proxy = { type: 'Dataplane', mesh: 'shop', name: 'zone-proxy', networking: { zoneIngress } };
    expect(await east.put('/meshes/shop/dataplanes/zone-proxy', proxy)).toBe(201);
    await connectedInsight(east, 'shop', 'zone-proxy');
    const ports = [{ port: 80, appProtocol: 'http' }];
    const body = {
      type: 'MeshService',
      mesh: 'shop',
      name: 'cart',
      labels: { 'kuma.io/origin': 'zone', 'local.example/tool': 'x' },
      spec: { ports },
    };
    const sni = 'a57288023ec4e82f1.cart.80.shop.ms';
    const spec = { ports, state: 'Unavailable', zoneIngress: { address: '192.0.2.1', port: 30001, sni } };
    expect(await east.put('/meshes/shop/meshservices/cart', body)).toBe(201);
    const name = hashName({ mesh: 'shop', name: 'cart', zone: 'east' });
    await expect
      .poll(async () => (await global.rows('MeshService')).get(name)?.status, WAIT)
      .toMatchObject({ vips: [{ ip: '241.0.0.0' }], tls: { status: 'NotReady' } });
    await expect.poll(async () => (await west.rows('MeshService')).get(name)?.spec, WAIT).toEqual(spec);
    // The proxy counts of east stay in east; west has assigned its own address.
    await expect
      .poll(async () => Object.keys((await west.rows('MeshService')).get(name)?.status ?? {}).toSorted(), WAIT)
      .toEqual(['addresses', 'hostnameGenerators', 'vips']);
    expect((await west.rows('MeshService')).get(name)?.labels).toMatchObject({
      'kuma.io/origin': 'global',
      'kuma.io/zone': 'east',
      'kuma.io/display-name': 'cart',
    });
    expect([...(await east.rows('MeshService')).keys()]).toEqual(['cart']);
    // `labels.skipPrefixes`
    expect((await global.rows('MeshService')).get(name)?.labels).not.toHaveProperty(['local.example/tool']);
    expect((await global.rows('MeshService')).get(name)?.labels).toMatchObject({
      'kuma.io/origin': 'zone',
      'kuma.io/zone': 'east',
    });
  });

  it('refuses to change a copy, and syncs writes, changes and deletions by psql on either side', async () => {
    const name = hashName({ mesh: 'shop', name: 'slow' });
    const labels = { 'kuma.io/origin': 'zone' };
    expect(await east.put(`/meshes/shop/meshtimeouts/${name}`, timeout('shop', name, 9, labels))).toBe(400);
    await global.psql.query(
      `insert into resources (name, mesh, type, version, spec) values ('by-hand', 'shop', 'MeshTimeout', 0, '{"a":1}')`,
    );
    const copy = hashName({ mesh: 'shop', name: 'by-hand' });
    await expect.poll(async () => (await west.rows('MeshTimeout')).get(copy)?.spec, WAIT).toEqual({ a: 1 });
    await global.psql.query(`update resources set spec = '{"a":2}' where name = 'by-hand'`);
    await expect.poll(async () => (await west.rows('MeshTimeout')).get(copy)?.spec, WAIT).toEqual({ a: 2 });
    await global.psql.query(`delete from resources where name = 'by-hand'`);
    await expect.poll(async () => (await west.rows('MeshTimeout')).has(copy), WAIT).toBe(false);
    await east.psql.query(
      `insert into resources (name, mesh, type, version, spec) values ('by-hand', 'shop', 'Workload', 0, '{"a":1}'),
        ('by-hand', 'shop', 'MeshService', 0, '{"ports":[{"port":80}]}')`,
    );
    const ofEast = hashName({ mesh: 'shop', name: 'by-hand', zone: 'east' });
    const workload = async (): Promise<unknown> => (await global.rows('Workload')).get(ofEast)?.spec;
    const ports = async (side: ControlPlane): Promise<unknown> => (await side.rows('MeshService')).get(ofEast)?.spec;
    await expect.poll(workload, WAIT).toEqual({ a: 1 });
    for (const side of [global, west]) await expect.poll(() => ports(side), WAIT).toMatchObject({ ports: [{ port: 80 }] });
    await east.psql.query(
      `update resources set spec = replace(replace(spec, '{"a":1}', '{"a":2}'), '80', '81') where name = 'by-hand'`,
    );
    await expect.poll(workload, WAIT).toEqual({ a: 2 });
    for (const side of [global, west]) await expect.poll(() => ports(side), WAIT).toMatchObject({ ports: [{ port: 81 }] });
    await east.psql.query(`delete from resources where name = 'by-hand'`);
    await expect.poll(workload, WAIT).toBeUndefined();
    for (const side of [global, west]) await expect.poll(() => ports(side), WAIT).toBeUndefined();
  });

  it('converges after kill -9 of either side, and a reconnect writes no unchanged row', async () => {
    const kept = hashName({ mesh: 'shop', name: 'slow' });
    const versionOf = async (): Promise<unknown> =>
      (await east.psql.query('select version from resources where name = $1', [kept])).rows[0];
    const before = await versionOf();
    await global.end('SIGKILL');
    await east.end('SIGKILL');
    await global.psql.query(`delete from resources where mesh = 'default' and name = 'slow'`);
    await west.psql.query(`update resources set spec = '{"drifted":true}' where name = $1`, [kept]);
    global.start();
    await expect.poll(() => global.answers(), WAIT).toBe(true);
    expect(await global.put('/meshes/shop/meshtimeouts/while-east-is-away', timeout('shop', 'while-east-is-away', 4))).toBe(201);
    east.start();
    for (const zone of [east, west]) {
      await expect
        .poll(async () => (await zone.rows('MeshTimeout')).has(hashName({ mesh: 'shop', name: 'while-east-is-away' })), WAIT)
        .toBe(true);
      await expect
        .poll(async () => (await zone.rows('MeshTimeout')).has(hashName({ mesh: 'default', name: 'slow' })), WAIT)
        .toBe(false);
    }
    await expect
      .poll(async () => (await west.rows('MeshTimeout')).get(kept)?.spec, WAIT)
      .toEqual(timeout('shop', 'slow', 1)['spec']);
    expect(await versionOf()).toEqual(before);
  });

  it('syncs the last of a thousand changes of one resource in a burst', async () => {
    const puts = Array.from({ length: 1000 }, (_, i) =>
      global.psql.query(`update resources set spec = $1 where mesh = 'shop' and name = 'slow' and type = 'MeshTimeout'`, [
        JSON.stringify({ n: i }),
      ]),
    );
    await Promise.all(puts);
    const name = hashName({ mesh: 'shop', name: 'slow' });
    for (const zone of [east, west])
      await expect.poll(async () => (await zone.rows('MeshTimeout')).get(name)?.spec, WAIT).toEqual({ n: 999 });
  });

  it('follows TRUNCATE of the table, on either side (engine 8)', async () => {
    await east.psql.query(
      `insert into resources (name, mesh, type, version, spec) values ('kept-in-east', 'shop', 'Workload', 0, '{"a":1}')`,
    );
    const ofEast = hashName({ mesh: 'shop', name: 'kept-in-east', zone: 'east' });
    const isOnGlobal = async (): Promise<boolean> => (await global.rows('Workload')).has(ofEast);
    await expect.poll(isOnGlobal, WAIT).toBe(true);
    for (const zone of [east, west]) expect((await zone.rows('MeshTimeout')).size).toBeGreaterThan(0);
    await east.psql.query('truncate resources');
    await expect.poll(isOnGlobal, WAIT).toBe(false);
    // Without the id of the cluster it would be another global, which zones do not follow (engine 14).
    await global.psql.query(`
      begin;
      create temp table kept on commit drop as select * from resources where type in ('Config', 'Zone', 'Mesh');
      truncate resources;
      insert into resources select * from kept;
      commit`);
    await expect.poll(async () => [...(await west.rows('MeshTimeout')).keys()], WAIT).toEqual([]);
    expect((await west.rows('Mesh')).has('shop')).toBe(true);
  });

  it('stops cleanly', async () => {
    expect(await west.end('SIGTERM')).toBe(0);
    await expect
      .poll(async () => JSON.stringify((await global.rows('ZoneInsight')).get('west')?.spec), WAIT)
      .toContain('disconnectTime');
    expect(await global.end('SIGTERM')).toBe(0);
    expect(await east.end('SIGTERM')).toBe(0);
  });
});
