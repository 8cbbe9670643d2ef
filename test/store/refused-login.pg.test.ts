// A database that refuses the login of a control plane: the role, the password or the name of the database has changed.
import pg from 'pg';
import { expect, inject, it, onTestFinished } from 'vitest';
import { systemClock, type Clock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import type { PostgresConfig } from '../../src/store/database.ts';
import { openStore } from '../../src/store/open-store.ts';
import { cloneDatabase } from '../support/postgres-database.ts';

const log = createLogger('silent');

/** A database with a role of its own, and a connection of a superuser. */
async function ownRole(): Promise<{ admin: pg.Client; config: PostgresConfig; role: string }> {
  const config = await cloneDatabase(inject('postgresUrl'));
  const admin = new pg.Client({ connectionString: inject('postgresUrl') });
  await admin.connect();
  const role = `role_of_${config.dbName}`;
  await admin.query(`create role ${role} superuser login password 'secret'`);
  onTestFinished(async () => {
    await admin.query(`drop role ${role}`);
    await admin.end();
  });
  return { admin, config: { ...config, user: role, password: 'secret' }, role };
}

it('the store is unavailable while the database refuses the login, and works again afterwards', async () => {
  const { admin, config, role } = await ownRole();
  const store = await openStore(config, { clock: systemClock, log });
  await admin.query(`alter role ${role} nologin`);
  await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [role]);
  const get = (): Promise<unknown> => store.get({ type: 'Mesh', mesh: '', name: 'default' });
  await expect.poll(() => get().catch(String)).toContain('refuses the login');
  await expect(get()).rejects.toMatchObject({ code: 'unavailable', message: expect.not.stringContaining(role) as string });
  await expect(store.write({ op: 'delete', key: { type: 'Mesh', mesh: '', name: 'x' } })).rejects.toThrow(/^(?!.*may have been)/);
  await admin.query(`alter role ${role} login`);
  await expect(get()).resolves.toBeUndefined();
  await store.close();
});

it('a start does not wait for a database that refuses the login', async () => {
  const { admin, config, role } = await ownRole();
  await admin.query(`alter role ${role} nologin`);
  const clock: Clock = { ...systemClock, sleep: () => Promise.reject(new Error('waited')) };
  await expect(openStore(config, { clock, log })).rejects.toMatchObject({ cause: { code: '28000' } });
});
