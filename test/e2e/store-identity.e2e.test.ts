// Store identity with real processes: global refuses and shows a second database of a zone; an operator may accept it; the accepted one
// is compared from the start.
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import type { PostgresConfig } from '../../src/store/database.ts';
import { ControlPlane, startFleet, WAIT, type Fleet } from '../support/control-plane.ts';
import { freePort } from '../support/free-port.ts';
import { cloneDatabase } from '../support/postgres-database.ts';
import { outputOf } from '../support/run-meridian.ts';

const url = inject('postgresUrl');

describe('a zone and its store', () => {
  let fleet: Fleet;
  let east: ControlPlane;
  let west: ControlPlane;
  const others: ControlPlane[] = [];

  beforeAll(async () => {
    fleet = await startFleet(url, ['east', 'west'], { isQuiet: true });
    [east, west] = fleet.zones as [ControlPlane, ControlPlane];
    for (const cp of [east, west]) await vi.waitFor(async () => expect((await cp.rows('Mesh')).has('default')).toBe(true), WAIT);
    for (let index = 0; index < 6; index += 1) await putDataplane(east, `cart-${String(index)}`);
    await putDataplane(west, 'pay');
    await vi.waitFor(async () => expect(await proxies()).toEqual({ east: 6, west: 1 }), WAIT);
  });

  afterAll(async () => {
    for (const other of others) {
      await other.end('SIGTERM');
      await other.psql.end();
    }
    await fleet.stop();
  });

  async function putDataplane(cp: ControlPlane, name: string): Promise<void> {
    const networking = { address: '192.0.2.1', inbound: [{ port: 80 }] };
    expect(await cp.put(`/meshes/default/dataplanes/${name}`, { type: 'Dataplane', mesh: 'default', name, networking })).toBe(
      201,
    );
  }

  /** How many Dataplanes global has of each zone. */
  async function proxies(): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { labels } of (await fleet.global.rows('Dataplane')).values()) {
      const zone = labels['kuma.io/zone'] ?? '';
      counts[zone] = (counts[zone] ?? 0) + 1;
    }
    return counts;
  }

  /** A process of the zone east besides the first: on another database, or as a replica on the same. */
  async function anotherEast(database: PostgresConfig): Promise<ControlPlane> {
    const other = new ControlPlane('zone', database, await freePort(), {
      ...{ MERIDIAN_MULTIZONE_ZONE_NAME: 'east', MERIDIAN_MULTIZONE_ZONE_GLOBAL_ADDRESS: `grpc://${fleet.kds}` },
      MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(await freePort()),
    });
    other.isQuiet = true;
    await other.psql.connect();
    others.push(other);
    other.start();
    await expect.poll(() => other.ready(), WAIT).toBe(200);
    return other;
  }

  async function meridian(...args: string[]): Promise<string> {
    const env = { ...process.env, MERIDIAN_ADDRESS: `http://127.0.0.1:${String(fleet.global.api)}` };
    return await outputOf(args, { env });
  }

  async function conflicts(): Promise<string[]> {
    const response = await fetch(`http://127.0.0.1:${fleet.global.env['MERIDIAN_DIAGNOSTICS_SERVER_PORT'] ?? ''}/metrics`);
    const lines = (await response.text()).split('\n');
    return lines
      .filter((line) => line.startsWith('meridian_zone_store_conflict{'))
      .map((line) => /zone_name="(\w+)"/.exec(line)?.[1] ?? '');
  }

  let second: ControlPlane;

  it('loses nothing when a second, empty store connects under its name, which is refused with a reason and shown on global', async () => {
    second = await anotherEast(await cloneDatabase(url));
    // It has no mesh of global, so that its API takes no Dataplane.
    const spec = JSON.stringify({ networking: { address: '192.0.2.9', inbound: [{ port: 80 }] } });
    await second.psql.query(
      `insert into resources (name, mesh, type, version, spec) values ('stranger', 'default', 'Dataplane', 0, $1)`,
      [spec],
    );
    await expect.poll(() => second.lastWords(), WAIT).toContain('meridian zone adopt east');
    await expect.poll(conflicts, WAIT).toEqual(['east']);
    expect(await meridian('inspect', 'zones')).toMatch(
      /a second control plane claims to be zone east.*meridian zone adopt east/s,
    );
    await putDataplane(east, 'cart-6');
    await expect.poll(proxies, WAIT).toEqual({ east: 7, west: 1 });
    expect([...(await second.rows('MeshService')).keys()]).toEqual([]);
    expect((await second.rows('Mesh')).size).toBe(0);
  });

  it('is replaced when a person accepts the other store, and is then refused itself', async () => {
    expect(await meridian('zone', 'adopt', 'east')).toContain('zone east belongs to store');
    await expect.poll(proxies, WAIT).toEqual({ east: 1, west: 1 });
    await expect.poll(() => east.lastWords(), WAIT).toContain('meridian zone adopt east');
  });

  it('gets its rows back when it is accepted again: both sides are compared from the start, without a restart', async () => {
    await second.end('SIGTERM');
    expect(await fleet.global.put('/meshes/shop', { type: 'Mesh', name: 'shop' })).toBe(201);
    const { rows } = await east.psql.query<{ spec: string }>(`select spec from resources where name = 'meridian-store-id'`);
    const { config } = JSON.parse(rows[0]?.spec ?? '{}') as { config: string };
    await meridian('zone', 'adopt', 'east', '--store-id', config);
    await expect.poll(proxies, WAIT).toEqual({ east: 7, west: 1 });
    await expect.poll(async () => (await east.rows('Mesh')).has('shop'), WAIT).toBe(true);
  });

  it('is the same store after a restored backup: global ends with the content of the backup', async () => {
    await east.end('SIGTERM');
    await east.psql.end();
    const backup = await cloneDatabase(url, east.database.dbName);
    const restored = await anotherEast(backup);
    await restored.psql.query(`delete from resources where type = 'Dataplane' and name = 'cart-0'`);
    await expect.poll(proxies, WAIT).toEqual({ east: 6, west: 1 });
    await putDataplane(restored, 'cart-7');
    await expect.poll(proxies, WAIT).toEqual({ east: 7, west: 1 });
  });

  it('is the same store for all replicas on one database', async () => {
    const first = others.at(-1) as ControlPlane;
    const replica = await anotherEast(first.database);
    await first.end('SIGKILL');
    await putDataplane(replica, 'cart-8');
    await expect.poll(proxies, WAIT).toEqual({ east: 8, west: 1 });
    expect(replica.lastWords()).not.toContain('meridian zone adopt');
  });

  it('is removed with its Zone: the next store under the name is accepted as the first', async () => {
    for (const other of others) await other.end('SIGTERM');
    await expect.poll(() => meridian('delete', 'zone', 'east').catch(() => ''), WAIT).toContain('deleted');
    const next = await anotherEast(await cloneDatabase(url));
    await expect.poll(async () => (await next.rows('Mesh')).has('default'), WAIT).toBe(true);
    await putDataplane(next, 'new');
    await expect.poll(proxies, WAIT).toEqual({ east: 1, west: 1 });
  });
});
