// A migration waits for other transactions without a limit, and says for which.
import pg from 'pg';
import { afterEach, expect, inject, it, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { openDatabase } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { cloneDatabase } from '../support/postgres-database.ts';
import { waitingForLocks } from '../support/psql.ts';
import { WAIT } from '../support/wait.ts';

afterEach(() => void vi.useRealTimers());

it('a migration waits longer than two minutes for another transaction, and names its process', async () => {
  const config = await cloneDatabase(inject('postgresUrl'));
  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({ ...config, database: config.dbName, application_name: 'by-hand' });
    await client.connect();
    return client;
  };
  // A transaction sees one state of pg_stat_activity.
  const [psql, observer] = [await connect(), await connect()];
  const log = createLogger('silent');
  const warn = vi.spyOn(log, 'warn');
  const database = await openDatabase(config, { clock: systemClock, log });
  await psql.query('begin; lock table meridian_migrations in access exclusive mode');
  const { rows } = await psql.query<{ pid: number }>('select pg_backend_pid() as pid');
  // The limits of the driver; the pauses of the clock use another timer.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const migrated = migrate(database, { log }).then(() => 'migrated', String); // oxfmt-ignore
  await vi.waitFor(async () => expect(await waitingForLocks(observer)).toBe(1), WAIT);
  vi.advanceTimersByTime(600_000);
  vi.useRealTimers();
  await expect.poll(() => warn.mock.calls, WAIT).toEqual([[expect.stringContaining('waits for process')]]);
  expect(warn.mock.calls[0]?.[0]).toContain(`process ${String(rows[0]?.pid)} (by-hand, idle in transaction)`);
  await psql.query('rollback');
  expect(await migrated).toBe('migrated');
  await Promise.all([psql.end(), observer.end()]);
  await database.close();
});
