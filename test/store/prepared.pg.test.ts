// Statements are prepared once a connection, stay few, and go on working when the table is altered under them.
import { sql } from 'kysely';
import { expect, inject, it } from 'vitest';
import { createLogger } from '../../src/base/log.ts';
import { openDatabase } from '../../src/store/database.ts';
import { SqlStore } from '../../src/store/sql-store.ts';
import { cloneDatabase } from '../support/postgres-database.ts';

it('prepares each statement with parameters once, and survives a change of the table', async () => {
  const log = createLogger('silent');
  const database = await openDatabase({ ...(await cloneDatabase(inject('postgresUrl'))), maxOpenConnections: 1 }, log);
  const store = new SqlStore(database, log);
  const key = { type: 'MeshTimeout', mesh: 'default', name: 'a' };
  const prepared = async (): Promise<number> =>
    Number((await sql<{ n: string }>`select count(*) as n from pg_prepared_statements`.execute(database.db)).rows[0]?.n);
  expect(await prepared()).toBe(0);
  const work = async (value: number): Promise<void> => {
    await store.write({ op: 'put', key, labels: {}, spec: { value } });
    expect((await store.get(key))?.spec).toEqual({ value });
  };
  await work(0);
  await work(1);
  const few = await prepared();
  expect(few).toBeGreaterThan(1);
  for (let value = 2; value < 12; value += 1) await work(value);
  expect(await prepared()).toBe(few);
  // What a migration does beside a replica that runs: no plan fits any more, and the next attempt makes new ones.
  await sql`alter table resources alter column name type text`.execute(database.db);
  await expect(work(12)).rejects.toMatchObject({ code: 'unavailable' });
  await work(13);
  await store.close();
});
