// Leader election on a real PostgreSQL: each waiting replica needs one connection, and the next leads when the lock is free.
import pg from 'pg';
import { expect, inject, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { openDatabase, type Database } from '../../src/store/database.ts';
import { SqlStore } from '../../src/store/sql-store.ts';
import { cloneDatabase } from '../support/postgres-database.ts';

const log = createLogger('silent');

/** A store that counts its sessions, and the times it has asked for the lock. */
async function candidate(config: Awaited<ReturnType<typeof cloneDatabase>>) {
  const database = await openDatabase(config, { clock: systemClock, log });
  const count = { sessions: 0, attempts: 0 };
  const session: Database['session'] = async () => {
    const client = await (database.session as NonNullable<Database['session']>)();
    count.sessions += 1;
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    client.query = ((...args: unknown[]) => {
      if (JSON.stringify(args[0]).includes('pg_try_advisory_lock')) count.attempts += 1;
      return query(...args);
    }) as typeof client.query;
    return client;
  };
  return { store: new SqlStore({ ...database, session }, log), count };
}

it('a candidate tries on one connection while another process leads, and leads after it', async () => {
  const config = await cloneDatabase(inject('postgresUrl'));
  const [first, second] = await Promise.all([candidate(config), candidate(config)]);
  const stops = [new AbortController(), new AbortController()] as const;
  const leading: string[] = [];
  const lead = (name: string, { store }: typeof first, { signal }: AbortController): Promise<void> =>
    store.lead(
      'test',
      async (lease) => {
        leading.push(name);
        await new Promise((resolve) => lease.addEventListener('abort', resolve, { once: true }));
      },
      signal,
    );
  const firstDone = lead('first', first, stops[0]);
  await expect.poll(() => leading).toEqual(['first']);
  const secondDone = lead('second', second, stops[1]);
  await expect.poll(() => second.count.attempts).toBeGreaterThan(2);
  expect(second.count.sessions).toBe(1);
  stops[0].abort();
  await firstDone;
  await expect.poll(() => leading).toEqual(['first', 'second']);
  expect(second.count.sessions).toBe(1);
  // A session that ended is replaced.
  const psql = new pg.Client({ ...config, database: config.dbName });
  await psql.connect();
  await psql.query(
    `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`,
  );
  await expect.poll(() => leading).toEqual(['first', 'second', 'second']);
  stops[1].abort();
  await secondDone;
  await psql.end();
  await Promise.all([first.store.close(), second.store.close()]);
});
