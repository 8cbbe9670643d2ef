// The health of a zone in the overview: resources that are not synced, and a global of another cluster.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { hashName } from '../../src/resource/hash-name.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { ControlPlane, startFleet, WAIT, type Fleet } from '../support/control-plane.ts';
import { freePort } from '../support/free-port.ts';
import { cloneDatabase } from '../support/postgres-database.ts';
import { isOnline } from '../../src/resource/online-status.ts';

const MERIDIAN = join(import.meta.dirname, '../../bin/meridian');
const run = promisify(execFile);

type Problem = { stream: string; type: string; kind: string; resources: string[]; message: string };

async function problemsOf(cp: ControlPlane, zone: string): Promise<Problem[]> {
  const response = await fetch(`http://127.0.0.1:${String(cp.api)}/zones/${zone}/_overview`);
  return ((await response.json()) as { syncProblems?: Problem[] }).syncProblems ?? [];
}

describe('a zone with a problem', () => {
  let fleet: Fleet;
  let east: ControlPlane;
  let other: ControlPlane | undefined;

  beforeAll(async () => {
    fleet = await startFleet(inject('postgresUrl'), ['east']);
    [east] = fleet.zones as [ControlPlane];
  });

  afterAll(async () => {
    await other?.end('SIGTERM');
    await other?.psql.end();
    await fleet.stop();
  });

  it('is shown with the refused resource and the reason, on both sides, until it is corrected', async () => {
    const insert = `insert into resources (name, mesh, type, version, spec) values ($1, 'default', 'Dataplane', 0, $2)`;
    const bad = { networking: { address: '0.0.0.0', inbound: [{ port: 80 }] } };
    await east.psql.query(insert, ['bad', JSON.stringify(bad)]);
    await east.psql.query(insert, ['good', JSON.stringify({ networking: { address: '192.0.2.1', inbound: [{ port: 80 }] } })]);
    const refused = hashName({ mesh: 'default', name: 'bad', zone: 'east' });
    const problem = {
      ...{ stream: 'zoneToGlobal', type: 'Dataplane', kind: 'refused', resources: [`${refused}.default`] },
      message: expect.stringContaining('networking.address') as string,
    };
    for (const cp of [fleet.global, east]) await expect.poll(() => problemsOf(cp, 'east'), WAIT).toMatchObject([problem]);
    const stored = async (): Promise<string[]> => [...(await fleet.global.rows('Dataplane')).keys()];
    // The rows are two changes: the good one may come after the report of the other.
    await expect.poll(stored, WAIT).toEqual([hashName({ mesh: 'default', name: 'good', zone: 'east' })]);
    await east.psql.query(`update resources set spec = replace(spec, '0.0.0.0', '192.0.2.2') where name = 'bad'`);
    await expect.poll(stored, WAIT).toContain(refused);
    for (const cp of [fleet.global, east]) await expect.poll(() => problemsOf(cp, 'east'), WAIT).toEqual([]);
  });

  it('rejoins when its Zone row is deleted while it is connected', async () => {
    const before = await fleet.global.rows('Dataplane');
    expect(before.size).toBe(2);
    await fleet.global.psql.query(`delete from resources where type = 'Zone' and name = 'east'`);
    await expect.poll(() => fleet.global.rows('Dataplane'), WAIT).toEqual(before);
    expect([...(await fleet.global.rows('Zone')).keys()]).toEqual(['east']);
    const online = async (): Promise<boolean> => {
      const insight = (await fleet.global.rows('ZoneInsight')).get('east');
      return insight !== undefined && isOnline(insight.spec as JsonObject);
    };
    await expect.poll(online, WAIT).toBe(true);
  });

  it('refuses a global of another cluster until a person accepts it (engine 14)', async () => {
    expect(await fleet.global.put('/meshes/shop', { type: 'Mesh', name: 'shop' })).toBe(201);
    await expect.poll(async () => (await east.rows('Mesh')).has('shop'), WAIT).toBe(true);
    await fleet.global.end('SIGTERM');
    const { MERIDIAN_MULTIZONE_GLOBAL_KDS_GRPC_PORT: kds = '' } = fleet.global.env;
    other = new ControlPlane('global', await cloneDatabase(inject('postgresUrl')), await freePort(), {
      MERIDIAN_MULTIZONE_GLOBAL_KDS_GRPC_PORT: kds,
      MERIDIAN_MULTIZONE_GLOBAL_KDS_TLS_ENABLED: 'false',
      MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(await freePort()),
    });
    await other.psql.connect();
    const lines: string[] = [];
    await east.end('SIGTERM');
    east.env['MERIDIAN_LOG_LEVEL'] = 'error';
    other.start();
    east.start('pipe');
    east.child?.stdout?.on('data', (bytes: Buffer) => lines.push(bytes.toString()));
    east.child?.stderr?.on('data', (bytes: Buffer) => lines.push(bytes.toString()));
    await expect.poll(() => lines.join(''), WAIT).toContain('meridian zone accept-global');
    expect((await east.rows('Mesh')).has('shop')).toBe(true);
    const command = ['zone', 'accept-global', '--address', `http://127.0.0.1:${String(east.api)}`];
    expect((await run(MERIDIAN, command)).stdout).toContain('this zone belongs to cluster');
    expect(await other.put('/meshes/pay', { type: 'Mesh', name: 'pay' })).toBe(201);
    // The new global never had the mesh of the old one: the zone keeps it until an operator decides.
    await expect.poll(async () => [...(await east.rows('Mesh')).keys()].sort(), WAIT).toEqual(['default', 'pay', 'shop']);
  });
});
