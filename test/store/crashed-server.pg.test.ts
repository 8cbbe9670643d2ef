// A server that crashed and recovered gives the ids of lost transactions to new ones: a list cached before is stale, although the ids
// are equal.
import { FairQueue } from '../../src/base/fair-queue.ts';
import pg from 'pg';
import { expect, it, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { ListPages } from '../../src/api/list-pages.ts';
import { createLogger } from '../../src/base/log.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import { openDatabase } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { SqlStore } from '../../src/store/sql-store.ts';
import { embeddedBinaries, installedBinaries, PostgresBinaries } from '../support/postgres-binaries.ts';
import { configOf } from '../support/postgres-database.ts';

const key = { type: 'MeshTimeout', mesh: 'default', name: 'a' };
const PATIENCE = { timeout: 90_000 };

it('the list cache is empty after a crash of the server', async () => {
  await using started = new AsyncDisposableStack();
  const binaries = embeddedBinaries() ?? installedBinaries();
  if (binaries === null) throw new Error('no binaries of PostgreSQL: run npm ci, or install PostgreSQL');
  // No other session takes a number, and what is rolled back is not on disk when the server crashes.
  const server = await PostgresBinaries.create(binaries, ['autovacuum=off', 'wal_writer_delay=10s']);
  started.defer(() => server.remove());
  const log = createLogger('silent');
  const database = await openDatabase(configOf(server.url, 'postgres'), { clock: systemClock, log });
  const store = new SqlStore(database, log);
  started.defer(() => store.close());
  await migrate(database, { log });
  const lists = new ListPages(store, new FairQueue());
  const valueInList = async (): Promise<unknown> => {
    const page = await lists.page(typeOf(key.type), { type: key.type }, { size: 10, offset: 0 }, () => Promise.resolve());
    return (JSON.parse(page.between('', '').toString()) as { spec: unknown }[])[0]?.spec;
  };
  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: server.url });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  };
  const [side, bystander] = [await connect(), await connect()];
  const hasCrashed = new Promise((resolve) => bystander.once('end', resolve));

  await store.write({ op: 'create', key, labels: {}, spec: { value: 'old' } });
  await side.query('checkpoint');
  await store.writeAll([{ op: 'create', key: { ...key, name: 'b' }, labels: {}, spec: {} }, { op: 'create', key, labels: {}, spec: {} }]); // oxfmt-ignore
  const numbersOf = async (): Promise<string | undefined> => (await store.snapshot())?.split(' ')[0];
  const before = await numbersOf();
  expect(await valueInList()).toEqual({ value: 'old' });
  const { rows } = await side.query<{ pid: number }>('select pg_backend_pid() as pid');
  process.kill(Number(rows[0]?.pid), 'SIGKILL');
  await hasCrashed;
  await vi.waitFor(() => store.write({ op: 'put', key, labels: {}, spec: { value: 'new' } }), PATIENCE);
  expect(await numbersOf()).toBe(before);
  expect(await valueInList()).toEqual({ value: 'new' });
}, 60_000);
