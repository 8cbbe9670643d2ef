// A listening session with an open transaction fills the NOTIFY queue of the server: then no write commits.
import pg from 'pg';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { openDatabase } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { SqlStore } from '../../src/store/sql-store.ts';
import { embeddedBinaries, installedBinaries, PostgresBinaries } from '../support/postgres-binaries.ts';
import { configOf } from '../support/postgres-database.ts';

const log = createLogger('silent');

/** The smallest queue that a server can have: 64 pages of 8 kB. */
async function smallServer(): Promise<PostgresBinaries> {
  const binaries = embeddedBinaries() ?? installedBinaries();
  if (binaries === null) throw new Error('no PostgreSQL binaries: run npm ci, or install PostgreSQL 17 or later');
  return await PostgresBinaries.create(binaries, ['max_notify_queue_pages=64']);
}

it('a full NOTIFY queue makes the store not ready, and writes succeed again after it', async () => {
  const server = await smallServer();
  const database = await openDatabase(configOf(server.url, 'postgres'), { clock: systemClock, log });
  const store = new SqlStore(database, log);
  const clients = [new pg.Client({ connectionString: server.url }), new pg.Client({ connectionString: server.url })] as const;
  const [sleeper, filler] = clients;
  try {
    await migrate(database, { log });
    await Promise.all(clients.map((client) => client.connect()));
    for (const text of ['listen elsewhere', 'begin', 'select 1']) await sleeper.query(text);
    await expect(
      filler.query(`do $$ begin for i in 1..200 loop perform pg_notify('elsewhere', repeat('x', 7000) || i); end loop; end $$`),
    ).rejects.toThrow(/NOTIFY queue/);
    const put = (): Promise<unknown> =>
      store
        .write({ op: 'put', key: { type: 'MeshTimeout', mesh: 'default', name: 'a' }, labels: {}, spec: {} })
        .then(({ result }) => result, (error: unknown) => (error as { code: string }).code); // oxfmt-ignore
    const ready = (): Promise<boolean> => store.ping().then(() => true, () => false); // oxfmt-ignore
    expect([await put(), await ready(), await ready()]).toEqual(['unavailable', false, false]);
    await sleeper.end();
    await expect.poll(ready).toBe(true);
    expect(await put()).toBe('created');
  } finally {
    await Promise.allSettled(clients.map((client) => client.end()));
    await store.close();
    await server.remove();
  }
});
