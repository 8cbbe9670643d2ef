// kill -9 at a random moment of a large batch: the restarted process and its peers converge to equal stores.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { hashName } from '../../src/resource/hash-name.ts';
import { startFleet, WAIT, type ControlPlane, type Fleet } from '../support/control-plane.ts';
import { sized } from '../support/test-size.ts';
import { expectEqualStores, writesOf } from './compare-stores.ts';
import { hasMesh, putService, putTimeout } from './steady-writes.ts';

const BATCH = sized({ push: 1_000, full: 5_000 });
/** Written on global, and in a zone. */
const [POLICY, SERVICE] = ['MeshTimeout', 'MeshService'] as const;
/** A batch of that size is stored in a zone within about this time, in milliseconds: the range of the random moments. */
const UNDER_WAY_MS = sized({ push: 200, full: 600 });
/** How often two zones dial a global that is away. With pauses that grew by half each time this would take an hour. */
const DIALS = 40;

/** Takes connections at the address of global, ends each, and resolves when there were so many. */
async function dials(address: string, times: number): Promise<void> {
  let dialled = 0;
  const server = createServer((socket) => {
    dialled += 1;
    socket.on('error', () => undefined).destroy();
  });
  server.listen(Number(address.split(':')[1]), '127.0.0.1');
  await once(server, 'listening');
  try {
    await expect.poll(() => dialled, WAIT).toBeGreaterThanOrEqual(times);
  } finally {
    server.close();
    await once(server, 'close');
  }
}

describe('a process that is killed', () => {
  const started = new AsyncDisposableStack();
  let fleet: Fleet;
  let global: ControlPlane;
  let east: ControlPlane;
  let west: ControlPlane;

  const insert = (prefix: string, side = global, type: string = POLICY): Promise<unknown> =>
    side.psql.query(
      `insert into resources (name, mesh, type, version, spec)
       select $1 || '-' || n, 'default', $2, 0, json_build_object('n', n, 'of', $1::text)::text from generate_series(1, $3::int) n`,
      [prefix, type, BATCH],
    );
  const update = (prefix: string, side = global, type: string = POLICY): Promise<unknown> =>
    side.psql.query(
      `update resources set spec = json_build_object('changed', name)::text where type = $2 and name like $1 || '-%'`,
      [prefix, type],
    );
  const remove = (prefix: string, side = global, type: string = POLICY): Promise<unknown> =>
    side.psql.query(`delete from resources where type = $2 and name like $1 || '-%'`, [prefix, type]);

  /** Kills the processes at a random moment of the batch, and starts them again. */
  async function killDuring(batch: Promise<unknown>, ...killed: readonly ControlPlane[]): Promise<string> {
    let moment = 0;
    for (const process of killed) {
      const wait = Math.random() * UNDER_WAY_MS;
      moment += wait;
      await delay(wait);
      await process.end('SIGKILL');
    }
    await batch;
    for (const process of killed) process.start();
    return `killed ${killed.map(({ command }) => command).join(', then ')} within ${moment.toFixed(0)} ms`;
  }

  beforeAll(async () => {
    fleet = await startFleet(inject('postgresUrl'), ['east', 'west'], { isQuiet: true });
    started.defer(fleet.stop);
    global = fleet.global;
    [east, west] = fleet.zones as [ControlPlane, ControlPlane];
    for (const zone of fleet.zones) await vi.waitFor(async () => expect(await hasMesh(zone)).toBe(true), WAIT);
    expect(await putService(east, 'of-east', 80)).toBe(201);
    expect(await putService(west, 'of-west', 81)).toBe(201);
    // A status goes to global and no further.
    for (const zone of fleet.zones)
      await zone.psql.query(
        `update resources set status = '{"vips":[{"ip":"241.0.0.1"}]}' where type = 'MeshService' and sync_version is null`,
      );
  });

  afterAll(() => started.disposeAsync());

  it('is dialled after pauses that do not grow, and has a new policy in every zone when it is back', async () => {
    await global.end('SIGKILL');
    await dials(fleet.kds, DIALS);
    global.start();
    await global.psql.query(
      `insert into resources (name, mesh, type, version, spec) values ('back', 'default', 'MeshTimeout', 0, '{}')`,
    );
    const copy = hashName({ mesh: 'default', name: 'back' });
    for (const zone of [east, west])
      await expect
        .poll(() => zone.psql.query('select from resources where name = $1', [copy]).then(({ rowCount }) => rowCount), WAIT)
        .toBe(1);
  });

  it('may be the zone: a batch of new rows arrives all the same', async () => {
    const about = await killDuring(insert('first'), east);
    await expectEqualStores(fleet, about);
  });

  it('may be the global: its zones hold the changed batch after it is back', async () => {
    const about = await killDuring(update('first'), global);
    await expectEqualStores(fleet, about);
  });

  it('may be the zone and then the global, while rows are removed and added', async () => {
    const batch = remove('first').then(() => insert('second'));
    const about = await killDuring(batch, east, global);
    await expectEqualStores(fleet, about);
  });

  it('may be the global twice, the second time while its zones come back', async () => {
    const batch = update('second');
    await killDuring(batch, global);
    await expect.poll(() => global.answers(), WAIT).toBe(true);
    const about = await killDuring(batch, global);
    await expectEqualStores(fleet, about);
  });

  it('may be the global that stores a batch of a zone', async () => {
    const about = await killDuring(insert('up', east, SERVICE), global);
    await expectEqualStores(fleet, about);
  });

  it('may be the zone whose changed batch global stores', async () => {
    const about = await killDuring(update('up', east, SERVICE), east);
    await expectEqualStores(fleet, about);
  });

  it('may be global and then the zone, while rows of the zone are removed and added', async () => {
    const batch = remove('up', east, SERVICE).then(() => insert('up-again', east, SERVICE));
    const about = await killDuring(batch, global, east);
    await expectEqualStores(fleet, about);
  });

  it('serves a new policy once the global is reachable again, and its return rewrites no row', async () => {
    await expectEqualStores(fleet);
    const stores = [global, east, west];
    const before = await Promise.all(stores.map(writesOf));
    await global.end('SIGKILL');
    await west.end('SIGKILL');
    global.start();
    west.start();
    await expect.poll(() => global.answers(), WAIT).toBe(true);
    await expect.poll(() => west.answers(), WAIT).toBe(true);
    expect(await putTimeout(global, 'after-the-crash', 1)).toBe(201);
    expect(await putService(west, 'after-the-crash', 82)).toBe(201);
    const policy = hashName({ mesh: 'default', name: 'after-the-crash' });
    const service = hashName({ mesh: 'default', name: 'after-the-crash', zone: 'west' });
    for (const zone of [east, west]) await expect.poll(async () => (await zone.rows('MeshTimeout')).has(policy), WAIT).toBe(true);
    for (const side of [global, east])
      await expect.poll(async () => (await side.rows('MeshService')).has(service), WAIT).toBe(true);
    await expectEqualStores(fleet);
    for (const [index, store] of stores.entries()) {
      const after = await writesOf(store);
      const rewritten = [...(before[index] ?? [])].filter(([key, written]) => after.get(key) !== written);
      expect(rewritten.slice(0, 10)).toEqual([]);
    }
  });
});
