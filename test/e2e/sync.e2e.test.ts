// Real processes, real TCP, real PostgreSQL: what is applied here is there, survives kill -9 on either side, and nothing is left.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { hashName } from '../../src/resource/hash-name.ts';
import type { PostgresConfig } from '../../src/store/database.ts';
import { cloneDatabase } from '../support/postgres-database.ts';

const MERIDIAN = join(import.meta.dirname, '../../bin/meridian');
const WAIT = { timeout: 30_000, interval: 20 };

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

class ControlPlane {
  readonly command: 'global' | 'zone';
  readonly database: PostgresConfig;
  readonly env: Record<string, string>;
  readonly api: number;
  readonly psql: pg.Client;
  child: ChildProcess | undefined;

  constructor(command: 'global' | 'zone', database: PostgresConfig, api: number, env: Record<string, string>) {
    this.command = command;
    this.database = database;
    this.api = api;
    const { host, port, user, password, dbName } = database;
    this.env = {
      MERIDIAN_STORE_TYPE: 'postgres',
      MERIDIAN_STORE_POSTGRES_HOST: host,
      MERIDIAN_STORE_POSTGRES_PORT: String(port),
      MERIDIAN_STORE_POSTGRES_USER: user,
      MERIDIAN_STORE_POSTGRES_PASSWORD: password,
      MERIDIAN_STORE_POSTGRES_DB_NAME: dbName,
      MERIDIAN_API_SERVER_HTTP_PORT: String(api),
      MERIDIAN_LOG_LEVEL: 'warn',
      ...env,
    };
    this.psql = new pg.Client({ host, port, user, password, database: dbName });
  }

  start(): void {
    this.child = spawn(MERIDIAN, [this.command, 'run'], {
      env: { ...process.env, ...this.env },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
    const { child } = this;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
    const exit = once(child, 'exit');
    child.kill(signal);
    await exit;
    return child.exitCode;
  }

  async put(path: string, body: Record<string, unknown>): Promise<number> {
    const response = await fetch(`http://127.0.0.1:${String(this.api)}${path}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return response.status;
  }

  async answers(): Promise<boolean> {
    return await fetch(`http://127.0.0.1:${String(this.api)}/`).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  /** Rows of a type as psql sees them: name → [mesh, labels, spec]. */
  async rows(
    type: string,
  ): Promise<Map<string, { mesh: string; labels: Record<string, string>; spec: unknown; status: unknown }>> {
    const { rows } = await this.psql.query<{
      name: string;
      mesh: string;
      labels: Record<string, string>;
      spec: string;
      status: unknown;
    }>('select name, mesh, labels, spec, status from resources where type = $1', [type]);
    return new Map(
      rows.map(({ name, mesh, labels, spec, status }) => [name, { mesh, labels, spec: JSON.parse(spec) as unknown, status }]),
    );
  }
}

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
  let fleet: ControlPlane[];

  beforeAll(async () => {
    const url = inject('postgresUrl');
    const kds = String(await freePort());
    global = new ControlPlane('global', await cloneDatabase(url), await freePort(), {
      MERIDIAN_MULTIZONE_GLOBAL_KDS_GRPC_PORT: kds,
      MERIDIAN_MULTIZONE_GLOBAL_KDS_TLS_ENABLED: 'false',
      MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(await freePort()),
    });
    const zone = async (name: string): Promise<ControlPlane> =>
      new ControlPlane('zone', await cloneDatabase(url), await freePort(), {
        MERIDIAN_MULTIZONE_ZONE_NAME: name,
        MERIDIAN_MULTIZONE_ZONE_GLOBAL_ADDRESS: `grpc://127.0.0.1:${kds}`,
        MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(await freePort()),
      });
    east = await zone('east');
    west = await zone('west');
    fleet = [global, east, west];
    for (const member of fleet) {
      await member.psql.connect();
      member.start();
    }
    const until = (isTrue: () => Promise<boolean>): Promise<void> =>
      vi.waitFor(async () => expect(await isTrue()).toBe(true), WAIT);
    for (const member of fleet) await until(() => member.answers());
    expect(await global.put('/meshes/shop', { type: 'Mesh', name: 'shop' })).toBe(201);
    for (const zone of [east, west]) await until(async () => (await zone.rows('Mesh')).has('shop'));
  });

  afterAll(async () => {
    for (const member of fleet) {
      await member.end('SIGTERM');
      await member.psql.end();
    }
  });

  it('holds policies of global in every zone under hashed names, two of one name apart (MADR 029)', async () => {
    expect(await global.put('/meshes/shop/meshtimeouts/slow', timeout('shop', 'slow', 1, { team: 'a' }))).toBe(201);
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

  it('carries a MeshService over global to the other zone, with zoneIngress and without status', async () => {
    const spec = { ports: [{ port: 80, appProtocol: 'http' }], zoneIngress: { address: '192.0.2.1', port: 10001, sni: 'a.b' } };
    const body = { type: 'MeshService', mesh: 'shop', name: 'cart', labels: { 'kuma.io/origin': 'zone' }, spec };
    expect(await east.put('/meshes/shop/meshservices/cart', body)).toBe(201);
    await east.psql.query(`update resources set status = '{"vips":[{"ip":"241.0.0.0"}]}' where type = 'MeshService'`);
    const name = hashName({ mesh: 'shop', name: 'cart', zone: 'east' });
    await expect
      .poll(async () => (await global.rows('MeshService')).get(name)?.status, WAIT)
      .toEqual({ vips: [{ ip: '241.0.0.0' }] });
    await expect.poll(async () => (await west.rows('MeshService')).get(name), WAIT).toMatchObject({ spec, status: {} });
    expect((await west.rows('MeshService')).get(name)?.labels).toMatchObject({
      'kuma.io/origin': 'global',
      'kuma.io/zone': 'east',
      'kuma.io/display-name': 'cart',
    });
    expect([...(await east.rows('MeshService')).keys()]).toEqual(['cart']);
    expect((await global.rows('MeshService')).get(name)?.labels).toMatchObject({
      'kuma.io/origin': 'zone',
      'kuma.io/zone': 'east',
    });
  });

  it('refuses to change a copy, and syncs what psql writes, changes and deletes', async () => {
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
  });

  it('converges after kill -9 of either side, and a reconnect writes nothing that did not change', async () => {
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

  it('takes a thousand changes of one resource in a burst and ends with the last', async () => {
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

  it('stops cleanly', async () => {
    expect(await west.end('SIGTERM')).toBe(0);
    await expect
      .poll(async () => JSON.stringify((await global.rows('ZoneInsight')).get('west')?.spec), WAIT)
      .toContain('disconnectTime');
    expect(await global.end('SIGTERM')).toBe(0);
    expect(await east.end('SIGTERM')).toBe(0);
  });
});
