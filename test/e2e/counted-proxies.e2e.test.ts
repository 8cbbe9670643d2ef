// A global that keeps counts of proxies, with processes and PostgreSQL: through its kill, and back to insights of each.
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { JsonObject } from '../../src/resource/types.ts';
import { startFleet, WAIT, type ControlPlane, type Fleet } from '../support/control-plane.ts';

const KEY = 'MERIDIAN_MULTIZONE_GLOBAL_INSIGHTS';
let fleet: Fleet;
let global: ControlPlane;
let east: ControlPlane;

beforeAll(async () => {
  fleet = await startFleet(inject('postgresUrl'), ['east'], {
    envOf: (member) =>
      member === 'global' ? { [KEY]: 'counts', MERIDIAN_MULTIZONE_GLOBAL_KDS_ZONE_INSIGHT_FLUSH_INTERVAL: '100ms' } : {},
  });
  global = fleet.global;
  [east] = fleet.zones as [ControlPlane];
});
afterAll(() => fleet.stop());

async function putProxy(name: string, isConnected: boolean): Promise<void> {
  const networking = { address: '10.0.0.1', inbound: [{ port: 80, tags: { 'kuma.io/service': 'cart' } }] };
  expect([200, 201]).toContain(
    await east.put(`/meshes/default/dataplanes/${name}`, { type: 'Dataplane', mesh: 'default', name, networking }),
  );
  const times = { connectTime: '2026-01-01T00:00:00Z', ...(!isConnected && { disconnectTime: '2026-01-02T00:00:00Z' }) };
  const spec = JSON.stringify({ subscriptions: [{ id: name, ...times }] });
  await east.psql.query(
    `insert into resources (type, mesh, name, version, spec) values ('DataplaneInsight', 'default', $1, 0, $2)
     on conflict (type, mesh, name) do update set spec = excluded.spec`,
    [name, spec],
  );
}

async function restartGlobal(signal: 'SIGKILL' | 'SIGTERM', insights: 'all' | 'counts'): Promise<void> {
  await global.end(signal);
  global.env[KEY] = insights;
  global.start();
  await expect.poll(() => global.ready(), WAIT).toBe(200);
}

async function dataplanes(): Promise<unknown> {
  const answer = await fetch(`http://127.0.0.1:${String(global.api)}/mesh-insights/default`);
  return ((await answer.json()) as JsonObject)['dataplanes'];
}

const storedInsights = async (): Promise<number> => (await global.rows('DataplaneInsight')).size;

it('counts the proxies of a zone without a row for each, through a kill, until insights are kept again', async () => {
  await expect.poll(async () => (await east.rows('Mesh')).has('default'), WAIT).toBe(true);
  await putProxy('one', true);
  await putProxy('two', false);
  await expect.poll(dataplanes, WAIT).toEqual({ total: 2, online: 1, offline: 1 });
  await restartGlobal('SIGKILL', 'counts');
  expect(await dataplanes()).toEqual({ total: 2, online: 1, offline: 1 });
  await putProxy('two', true);
  await expect.poll(dataplanes, WAIT).toEqual({ total: 2, online: 2 });
  expect(await storedInsights()).toBe(0);

  await restartGlobal('SIGTERM', 'all');
  await expect.poll(storedInsights, WAIT).toBe(2);
  await expect.poll(dataplanes, WAIT).toEqual({ total: 2, online: 2 });
  await putProxy('two', false);
  await expect.poll(dataplanes, WAIT).toEqual({ total: 2, online: 1, offline: 1 });

  await restartGlobal('SIGTERM', 'counts');
  await expect.poll(storedInsights, WAIT).toBe(0);
  await expect.poll(dataplanes, WAIT).toEqual({ total: 2, online: 1, offline: 1 });
});
