// Two concurrent writers of the same rows: each write is stored or returns the reason; none fails because of the other.
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, inject, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import type { ResourceKey } from '../../src/resource/types.ts';
import type { PostgresConfig } from '../../src/store/database.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { ResourceStore, Write } from '../../src/store/resource-store.ts';
import { cloneDatabase } from '../support/postgres-database.ts';
import { waitingForLocks } from '../support/psql.ts';

const mesh: ResourceKey = { type: 'Mesh', mesh: '', name: 'default' };
const key = (name: string): ResourceKey => ({ type: 'MeshTimeout', mesh: 'default', name });
const put = (name: string, by = 'store'): Write => ({ op: 'put', key: key(name), labels: {}, spec: { by }, owner: mesh });

let stores: readonly [ResourceStore, ResourceStore];
let psql: pg.Client;
let config: PostgresConfig;

beforeAll(async () => {
  config = await cloneDatabase(inject('postgresUrl'));
  const open = async (): Promise<ResourceStore> => await openStore(config, { clock: systemClock, log: createLogger('silent') });
  stores = [await open(), await open()];
  psql = new pg.Client({ ...config, database: config.dbName });
  await psql.connect();
  // New statistics between two statements may give them different plans, and these lock in different orders. PostgreSQL then cancels one of
  // them, and it is tried again, as another test here shows.
  await psql.query('alter table resources set (autovacuum_enabled = off)');
});

afterAll(async () => {
  await psql.end();
  for (const store of stores) await store.close();
});

beforeEach(async () => {
  await stores[0].write({ op: 'put', key: mesh, labels: {}, spec: {} });
});

const waiting = async (): Promise<number> => await waitingForLocks(psql);
const isWaiting = async (): Promise<void> => await expect.poll(waiting).toBeGreaterThan(0);

async function deadlocks(): Promise<number> {
  const { rows } = await psql.query<{ deadlocks: string }>(
    'select deadlocks from pg_stat_database where datname = current_database()',
  );
  return Number(rows[0]?.deadlocks);
}

it('batches lock their rows in one order, so that two never deadlock', async () => {
  const names = Array.from({ length: 200 }, (_, index) => `row-${String(index)}`);
  const before = await deadlocks();
  for (let round = 0; round < 20; round += 1) {
    const [one, other] = stores;
    const outcomes = await Promise.all([
      one.writeBatch(names.map((name) => put(name, 'one'))),
      other.writeBatch(names.toReversed().map((name) => put(name, 'other'))),
    ]);
    expect(outcomes.flat().every(({ result }) => result === 'created' || result === 'updated')).toBe(true);
    const updates = (some: readonly string[]): Write[] => some.map((name) => ({ ...put(name), op: 'update' }) as Write);
    await Promise.all([one.writeBatch(updates(names)), other.writeBatch(updates(names.toReversed()))]);
  }
  const deletes = (some: readonly string[]): Write[] => some.map((name) => ({ op: 'delete', key: key(name) }));
  await Promise.all([stores[0].writeBatch(deletes(names)), stores[1].writeBatch(deletes(names.toReversed()))]);
  expect(await deadlocks()).toBe(before);
});

it.each([
  ['came by the sync', {}, 'v1'],
  ['is of a zone', { 'kuma.io/zone': 'east' }, null],
])('a write does not wait for a lock on a foreign row that %s', async (_, labels, syncVersion) => {
  const [store] = stores;
  await store.write({ op: 'put', key: key('copy'), labels, spec: {}, syncVersion });
  await psql.query('begin');
  await psql.query(`select from resources where name = 'copy' for update`);
  const own = (name: string): Write => ({ op: 'put', key: key(name), labels: {}, spec: {}, ownOnly: true });
  const [refused, stored] = await store.writeBatch([own('copy'), own('mine')]);
  expect(refused).toEqual({ result: 'conflict' });
  expect(stored).toHaveProperty('version');
  await psql.query('rollback');
});

it('a batch is stored although PostgreSQL cancelled it in a deadlock', async () => {
  const [store] = stores;
  const names = ['a', 'b', 'c'];
  for (const name of names) await store.write(put(name));
  const holder = new pg.Client({ ...config, database: config.dbName });
  await holder.connect();
  const byHand = (client: pg.Client, name: string): Promise<unknown> =>
    client.query(`update resources set spec = '{"by":"hand"}' where name = $1`, [name]);
  // It never gives way itself.
  await psql.query(`set deadlock_timeout = '10min'`);
  await psql.query('begin');
  await byHand(psql, 'c');
  await holder.query('begin');
  await byHand(holder, 'b');
  const before = await deadlocks();
  const writing = store.writeBatch(names.map((name) => put(name)));
  const waitingIn = async (): Promise<number> => await waitingForLocks(holder);
  await expect.poll(waitingIn).toBe(1);
  const waits = byHand(psql, 'a');
  await expect.poll(waitingIn).toBe(2);
  // PostgreSQL looks for a deadlock once, a second after a wait has begun. Now the batch begins its last wait, and both wait.
  await holder.end();
  await waits;
  await psql.query('commit');
  expect(await writing).toMatchObject(names.map(() => ({ result: 'updated' })));
  expect((await store.getMany(names.map(key))).map(({ spec }) => spec)).toEqual(names.map(() => ({ by: 'store' })));
  await expect.poll(deadlocks).toBeGreaterThan(before);
});

it.each(['create', 'put'] as const)('a write of a %s reports that its owner was deleted just before', async (op) => {
  const [store] = stores;
  await psql.query('begin');
  await psql.query(`delete from resources where type = 'Mesh'`);
  const writing = store.write({ ...put(`late-${op}`), op } as Write);
  await isWaiting();
  await psql.query('commit');
  expect(await writing).toEqual({ result: 'rejected', message: 'its owner Mesh "default" does not exist' });
});

it('a fenced batch commits before a newer fence opens, so that an older receiver stores nothing later', async () => {
  const peer = 'east';
  const held = put('held-in-batch');
  await stores[0].write(held);
  const epoch = await stores[0].acquireFencingToken(peer);
  await psql.query('begin');
  await psql.query(`update resources set spec = '{"by":"hand"}' where name = 'held-in-batch'`);
  const batch = stores[0].writeBatch([held], { peer, epoch });
  await expect.poll(waiting).toBe(1);
  const newer = stores[1].acquireFencingToken(peer);
  const opened = newer.then(() => 'opened');
  await expect.poll(async () => await Promise.race([opened, waiting()])).toBe(2);
  await psql.query('commit');
  expect(await batch).toMatchObject([{ result: 'updated' }]);
  expect(await newer).toBe(epoch + 1);
});
