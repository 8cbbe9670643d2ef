// Global is restored from a backup without a mesh. The zone keeps the mesh and its services until an operator decides.
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { PostgresConfig } from '../../src/store/database.ts';
import { ControlPlane, startFleet, WAIT, type Fleet } from '../support/control-plane.ts';
import { freePort } from '../support/free-port.ts';
import { cloneDatabase } from '../support/postgres-database.ts';

const url = inject('postgresUrl');

let fleet: Fleet;
let east: ControlPlane;
let global: ControlPlane;
const others: ControlPlane[] = [];

beforeAll(async () => {
  fleet = await startFleet(url, ['east'], { isQuiet: true });
  [east] = fleet.zones as [ControlPlane];
  ({ global } = fleet);
});

afterAll(async () => {
  for (const other of others) {
    await other.end('SIGTERM');
    await other.psql.end();
  }
  await fleet.stop();
});

/** A global in the place of the one that runs, which ends; its database is free then. */
async function replaceGlobal(database: () => Promise<PostgresConfig>): Promise<void> {
  await global.end('SIGTERM');
  await global.psql.end();
  global = new ControlPlane('global', await database(), await freePort(), {
    MERIDIAN_MULTIZONE_GLOBAL_KDS_GRPC_PORT: fleet.global.env['MERIDIAN_MULTIZONE_GLOBAL_KDS_GRPC_PORT'] ?? '',
    MERIDIAN_MULTIZONE_GLOBAL_KDS_TLS_ENABLED: 'false',
    MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(await freePort()),
  });
  global.isQuiet = true;
  others.push(global);
  await global.psql.connect();
  global.start();
  await expect.poll(() => global.ready(), WAIT).toBe(200);
}

const meshes = async (): Promise<string[]> => [...(await east.rows('Mesh')).keys()].sort();
const services = async (): Promise<string[]> => [...(await east.rows('MeshService')).keys()];

async function withheld(): Promise<string[]> {
  const response = await fetch(`http://127.0.0.1:${String(global.api)}/zones/east/_overview`);
  const { syncProblems = [] } = (await response.json()) as {
    syncProblems?: { kind: string; resources: string[]; message: string }[];
  };
  return syncProblems.filter(({ kind }) => kind === 'withheld').flatMap(({ resources }) => resources);
}

it('a zone keeps a mesh and its resources when a restored global never had them, until the mesh is created and deleted', async () => {
  let backup: PostgresConfig | undefined;
  await replaceGlobal(async () => {
    backup = await cloneDatabase(url, fleet.global.database.dbName);
    return fleet.global.database;
  });
  expect(await global.put('/meshes/shop', { type: 'Mesh', name: 'shop' })).toBe(201);
  await expect.poll(meshes, WAIT).toEqual(['default', 'shop']);
  const spec = { ports: [{ port: 80, appProtocol: 'http' }] };
  const cart = { type: 'MeshService', mesh: 'shop', name: 'cart', labels: { 'kuma.io/origin': 'zone' }, spec };
  expect(await east.put('/meshes/shop/meshservices/cart', cart)).toBe(201);

  await replaceGlobal(async () => backup as PostgresConfig);
  await expect.poll(withheld, WAIT).toContain('shop.');
  expect(await meshes()).toEqual(['default', 'shop']);
  expect(await services()).toEqual(['cart']);

  expect(await global.put('/meshes/shop', { type: 'Mesh', name: 'shop' })).toBe(201);
  await expect.poll(withheld, WAIT).toEqual([]);
  expect(await services()).toEqual(['cart']);
  const { status } = await fetch(`http://127.0.0.1:${String(global.api)}/meshes/shop`, { method: 'DELETE' });
  expect(status).toBe(200);
  await expect.poll(meshes, WAIT).toEqual(['default']);
  expect(await services()).toEqual([]);
});
