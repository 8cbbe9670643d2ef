// Databases that answer but cannot store: readiness reports it before a write is lost.
import pg from 'pg';
import { expect, inject, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { openStore } from '../../src/store/open-store.ts';
import { cloneDatabase } from '../support/postgres-database.ts';

const log = createLogger('silent');

it('the store is not ready on a database that opened read-only, and ready when the database accepts writes', async () => {
  const config = await cloneDatabase(inject('postgresUrl'));
  const admin = new pg.Client({ connectionString: inject('postgresUrl') });
  await admin.connect();
  await admin.query(`alter database ${config.dbName} set default_transaction_read_only = on`);
  const store = await openStore(config, { clock: systemClock, log });
  await expect(store.ping()).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringMatching(/read-only/) as string,
  });
  await admin.query(`alter database ${config.dbName} reset default_transaction_read_only`);
  // Connections keep what they began with.
  await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [config.dbName]);
  await expect.poll(() => store.ping().then(() => 'ready', () => 'not ready')).toBe('ready'); // oxfmt-ignore
  await store.close();
  await admin.end();
});

it('the store writes again when the database accepts writes, although its sessions keep their first mode', async () => {
  const config = await cloneDatabase(inject('postgresUrl'));
  const admin = new pg.Client({ connectionString: inject('postgresUrl') });
  await admin.connect();
  await admin.query(`alter database ${config.dbName} set default_transaction_read_only = on`);
  const store = await openStore(config, { clock: systemClock, log });
  const put = (name: string): Promise<string> =>
    store
      .writeBatch([{ op: 'put', key: { type: 'MeshTimeout', mesh: 'default', name }, labels: {}, spec: {} }])
      .then(() => 'stored', (error: unknown) => (error as { code: string }).code); // oxfmt-ignore
  expect(await Promise.all(['a', 'b', 'c'].map(put))).toEqual(['unavailable', 'unavailable', 'unavailable']);
  await admin.query(`alter database ${config.dbName} reset default_transaction_read_only`);
  await expect.poll(() => put('a')).toBe('stored');
  expect(await Promise.all(['a', 'b', 'c'].map(put))).toEqual(['stored', 'stored', 'stored']);
  await store.close();
  await admin.end();
});
