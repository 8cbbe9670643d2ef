// kill -9 while a large batch is stored: the process that comes back, and its peers, end with equal stores.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { hashName } from '../../src/resource/hash-name.ts';
import { startFleet, WAIT, type ControlPlane, type Fleet } from '../support/control-plane.ts';
import { sized } from '../support/test-size.ts';
import { expectEqualStores, writesOf } from './compare-stores.ts';
import { hasMesh, putService, putTimeout } from './steady-writes.ts';

const BATCH = sized({ push: 1_000, full: 5_000 });
/** Written on global, and in a zone. */
const [POLICY, SERVICE] = ['MeshTimeout', 'MeshService'] as const;
/** A batch may have arrived before the kill; then another is written. */
const MAX_BATCHES = 10;
/** Often enough to see a transaction that stores a batch. */
const OFTEN = { ...WAIT, interval: 1 };
/** The rows that are under way are counted at every so many looks: this reads all of them. */
const LOOKS = 50;
/** How often two zones dial a global that is away. With pauses that grew by half each time this would take an hour. */
const DIALS = 40;

/** Rows of a type on their way from the store where they are written to the stores that get them. */
type Way = { readonly from: ControlPlane; readonly to: readonly ControlPlane[]; readonly type: string };

/** The synced part of the batches in a store. */
async function contents({ psql }: ControlPlane, type: string): Promise<Set<string>> {
  const { rows } = await psql.query<{ content: string }>(
    `select coalesce(labels ->> 'kuma.io/display-name', name) || ' ' || (spec::jsonb - 'state')::text as content
     from resources where type = $1 and coalesce(labels ->> 'kuma.io/display-name', name) ~ '^(first|second|up)-'`,
    [type],
  );
  return new Set(rows.map(({ content }) => content));
}

/** How many rows are not yet in the others as they are in the first: missing, outdated or not yet removed. */
async function underWay({ from, to, type }: Way): Promise<number> {
  const written = await contents(from, type);
  const arrived = await Promise.all(to.map((store) => contents(store, type)));
  const without = (these: Set<string>, others: Set<string>): number =>
    [...these].filter((content) => !others.has(content)).length;
  return arrived.reduce((sum, there) => sum + without(written, there) + without(there, written), 0);
}

/** Whether a transaction of the control plane changes rows now. */
async function isStoring({ psql }: ControlPlane): Promise<boolean> {
  const { rowCount } = await psql.query(
    `select from pg_locks where relation = 'resources'::regclass and mode = 'RowExclusiveLock' and pid <> pg_backend_pid()
     and database = (select oid from pg_database where datname = current_database())`,
  );
  return rowCount !== 0;
}

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

  const insert = (prefix: string, { from, type }: Way): Promise<unknown> =>
    from.psql.query(
      `insert into resources (name, mesh, type, version, spec)
       select $1 || '-' || n, 'default', $2, 0, json_build_object('n', n, 'of', $1::text)::text from generate_series(1, $3::int) n`,
      [prefix, type, BATCH],
    );
  const update = (prefix: string, { from, type }: Way): Promise<unknown> =>
    from.psql.query(
      `update resources set spec = json_build_object('changed', name, 'at', clock_timestamp())::text
       where type = $2 and name like $1 || '-%'`,
      [prefix, type],
    );
  const remove = (prefix: string, { from, type }: Way): Promise<unknown> =>
    from.psql.query(`delete from resources where type = $2 and name like $1 || '-%'`, [prefix, type]);
  const down = (): Way => ({ from: global, to: [east, west], type: POLICY });
  const up = (): Way => ({ from: east, to: [global], type: SERVICE });

  /**
   * Kills the processes one after the other, the first while a batch is stored, and starts them again when they are all gone.
   * @param write writes a batch; called again where all of it had arrived before the kill
   * @returns what was killed, and how much was under way
   * @throws Error when no kill hit a batch
   */
  async function killDuring(way: Way, write: (batch: number) => Promise<unknown>, ...killed: ControlPlane[]): Promise<string> {
    for (let batch = 1; batch <= MAX_BATCHES; batch += 1) {
      let isWritten = false;
      const writing = write(batch).then(() => (isWritten = true));
      const isHit = async (): Promise<boolean> => (await Promise.all(way.to.map(isStoring))).includes(true);
      let looks = 0;
      const hasArrived = async (): Promise<boolean> => isWritten && ++looks % LOOKS === 0 && (await underWay(way)) === 0;
      await expect.poll(async () => (await isHit()) || (await hasArrived()), OFTEN).toBe(true);
      for (const process of killed) await process.end('SIGKILL');
      await writing;
      const rows = await underWay(way);
      for (const process of killed) process.start();
      if (rows > 0) return `killed ${killed.map(({ command }) => command).join(', then ')} with ${String(rows)} rows under way`;
      for (const process of killed) await expect.poll(() => process.answers(), WAIT).toBe(true);
    }
    throw new Error(`${String(MAX_BATCHES)} batches had arrived before the kill`);
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

  it('is reconnected after bounded pauses, and syncs a new policy to every zone', async () => {
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

  it('may be the zone: a batch of new rows still arrives', async () => {
    const about = await killDuring(down(), (batch) => insert(`first-${String(batch)}`, down()), east);
    await expectEqualStores(fleet, about);
  });

  it('may be the global: its zones have the changed batch after its restart', async () => {
    const about = await killDuring(down(), () => update('first', down()), global);
    await expectEqualStores(fleet, about);
  });

  it('may be the zone and then the global, while rows are removed and added', async () => {
    const write = async (batch: number): Promise<void> => {
      await remove('first', down());
      await insert(`second-${String(batch)}`, down());
    };
    const about = await killDuring(down(), write, east, global);
    await expectEqualStores(fleet, about);
  });

  it('may be the global twice, the second time while its zones reconnect', async () => {
    await killDuring(down(), () => update('second', down()), global);
    await expect.poll(() => global.answers(), WAIT).toBe(true);
    const about = await killDuring(down(), () => update('second', down()), global);
    await expectEqualStores(fleet, about);
  });

  it('may be the global that stores a batch of a zone', async () => {
    const about = await killDuring(up(), (batch) => insert(`up-${String(batch)}`, up()), global);
    await expectEqualStores(fleet, about);
  });

  it('may be the zone whose changed batch global stores', async () => {
    const about = await killDuring(up(), () => update('up', up()), east);
    await expectEqualStores(fleet, about);
  });

  it('may be global and then the zone, while rows of the zone are removed and added', async () => {
    const write = async (batch: number): Promise<void> => {
      await remove('up', up());
      await insert(`up-again-${String(batch)}`, up());
    };
    const about = await killDuring(up(), write, global, east);
    await expectEqualStores(fleet, about);
  });

  it('may be the global and a zone: after their restart new resources are synced, and no row is rewritten', async () => {
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
