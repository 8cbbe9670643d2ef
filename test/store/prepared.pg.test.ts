// Statements are prepared once for each connection, their number is bounded, and they work after the table is altered.
import { sql } from 'kysely';
import pg from 'pg';
import { expect, inject, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import type { ResourceKey } from '../../src/resource/types.ts';
import { openDatabase } from '../../src/store/database.ts';
import { SqlStore } from '../../src/store/sql-store.ts';
import { cloneDatabase } from '../support/postgres-database.ts';

it('the store prepares each statement with parameters once', async () => {
  const log = createLogger('silent');
  const database = await openDatabase(
    { ...(await cloneDatabase(inject('postgresUrl'))), maxOpenConnections: 1 },
    { clock: systemClock, log },
  );
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
  await store.close();
});

it('a running replica continues when a migration alters the table, in any language of the server', async () => {
  const log = createLogger('silent');
  const config = await cloneDatabase(inject('postgresUrl'));
  const store = new SqlStore(await openDatabase(config, { clock: systemClock, log }), log);
  const key = (n: number): ResourceKey => ({ type: 'MeshTimeout', mesh: 'default', name: `row-${String(n)}` });
  const psql = new pg.Client({ ...config, database: config.dbName });
  await psql.connect();
  // In every session of the pool all is planned for good.
  const work = async (value: number): Promise<void> => {
    const all = Array.from({ length: config.maxOpenConnections }, async (_, n) => {
      await store.writeBatch([{ op: 'put', key: key(n), labels: {}, spec: { value } }]);
      const [row] = await store.getMany([key(n)]);
      return row?.spec;
    });
    expect(await Promise.all(all)).toEqual(all.map(() => ({ value })));
  };
  for (let value = 0; value < 8; value += 1) await work(value);
  await psql.query('alter table resources alter column name type text');
  await work(8);
  await psql.query('alter table resources alter column sync_version type varchar(500)');
  await work(9);
  await psql.end();
  await store.close();
});
