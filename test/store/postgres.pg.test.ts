import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { describe, expect, inject, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { openDatabase } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { openStore } from '../../src/store/open-store.ts';
import { settledVersion } from '../../src/store/settled-version.ts';
import { SqlStore } from '../../src/store/sql-store.ts';
import type { ResourceVersion } from '../../src/store/history-store.ts';
import type { StoreChange } from '../../src/store/resource-store.ts';
import { cloneDatabase } from '../support/postgres-database.ts';
import { sqlStoreContract } from './sql-contract.ts';

const log = createLogger('silent');

describe('the store on PostgreSQL', () => {
  sqlStoreContract(async () => {
    const database = await openDatabase(await cloneDatabase(inject('postgresUrl')), { clock: systemClock, log });
    const store = new SqlStore(database, log);
    return { store, db: database.bulk, close: () => store.close() };
  });

  it('misses nothing when its listening connection is killed', async () => {
    const config = await cloneDatabase(inject('postgresUrl'));
    const store = await openStore(config, { clock: systemClock, log });
    const psql = new pg.Client({
      host: config.host,
      port: config.port,
      user: config.user,
      password: config.password,
      database: config.dbName,
    });
    await psql.connect();
    const stop = new AbortController();
    const seen: StoreChange[] = [];
    const reading = (async () => {
      for await (const change of store.changes(stop.signal)) seen.push(change);
    })();
    await expect.poll(() => seen.length).toBe(1);
    await psql.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like 'LISTEN%'`,
    );
    await psql.query(
      `insert into resources (name, mesh, type, version, spec) values ('while-away', 'default', 'MeshTimeout', 0, '{}')`,
    );
    await expect.poll(() => seen.filter(({ kind }) => kind === 'all').length).toBeGreaterThan(1);
    expect(await store.get({ type: 'MeshTimeout', mesh: 'default', name: 'while-away' })).toBeDefined();
    stop.abort();
    await reading;
    await psql.end();
    await store.close();
  });

  it('upgrades a table from before labels, and names the command until then', async () => {
    const config = await cloneDatabase(inject('postgresUrl'), 'template1');
    const old = new pg.Client({
      host: config.host,
      port: config.port,
      user: config.user,
      password: config.password,
      database: config.dbName,
    });
    await old.connect();
    await old.query(await readFile(join(import.meta.dirname, '../../migrations/0001_resources.sql'), 'utf8'));
    await old.query(
      `insert into resources (name, mesh, type, version, spec) values ('old', 'default', 'MeshTimeout', 3, '{"a":1}')`,
    );
    await old.end();
    await expect(openStore(config, { clock: systemClock, log })).rejects.toMatchObject({
      code: 'schema_outdated',
      message: expect.stringContaining('meridian migrate up') as string,
    });
    const database = await openDatabase(config, { clock: systemClock, log });
    await migrate(database, { log });
    expect(await migrate(database, { log })).toEqual([]);
    await database.close();
    const store = await openStore(config, { clock: systemClock, log });
    expect(await store.get({ type: 'MeshTimeout', mesh: 'default', name: 'old' })).toMatchObject({
      version: 3,
      spec: { a: 1 },
      labels: {},
    });
    await store.close();
  });

  it.each(['0008', '0010'])(
    'upgrades a database with versions of resources to %s and later, and goes on counting them',
    async (first) => {
      const config = await cloneDatabase(inject('postgresUrl'), 'template1');
      const { host, port, user, password, dbName } = config;
      const old = new pg.Client({ host, port, user, password, database: dbName, application_name: 'meridian' });
      await old.connect();
      await old.query('create table meridian_migrations (name text primary key, applied_at timestamp not null default now())');
      const folder = join(import.meta.dirname, '../../migrations');
      for (const name of (await readdir(folder)).filter((file) => file < first).toSorted()) {
        await old.query(await readFile(join(folder, name), 'utf8'));
        await old.query('insert into meridian_migrations (name) values ($1)', [name]);
      }
      await old.query(`begin; set local meridian.authors = '=alice';
      insert into resources (name, mesh, type, version, spec) values ('old', 'default', 'MeshTimeout', 0, '{"n":0}'),
        ('gone', 'default', 'MeshTimeout', 0, '{"n":0}');
      update resources set version = 1, spec = '{"n":1}' where name = 'old'; commit`);
      const before = (await old.query('select * from meridian_history order by id')).rows as { readonly name: string }[];
      const database = await openDatabase(config, { clock: systemClock, log });
      expect(await migrate(database, { log })).not.toEqual([]);
      expect((await old.query('select * from meridian_history order by id')).rows).toEqual(before);
      await old.end();
      await database.close();
      const store = await openStore(config, { clock: systemClock, log });
      const key = { type: 'MeshTimeout', mesh: 'default', name: 'old' };
      await store.write({ op: 'put', key, labels: {}, spec: { n: 2 }, by: { user: 'bob' } });
      await store.write({ op: 'delete', key: { ...key, name: 'gone' }, by: { user: 'bob' } });
      const both = ['old', 'new'].map((name) => ({ op: 'put', key: { ...key, name }, labels: {}, spec: { n: 3 } }) as const);
      await store.writeBatch(both.map((write) => ({ ...write, by: { user: 'carol' } })));
      await store.writeBatch(both.map((write) => ({ ...write, spec: { n: 4 } })));
      const kept = async (name: string): Promise<string[]> =>
        (await store.versions({ key: { ...key, name }, limit: 9 })).map(
          ({ version, action, author, spec }) => `${String(version)} ${action} ${String(author)} ${JSON.stringify(spec)}`,
        );
      const ofAlice = ['1 updated alice {"n":1}', '0 created alice {"n":0}'];
      expect(await kept('old')).toEqual(['3 updated carol {"n":3}', '2 updated bob {"n":2}', ...ofAlice]);
      expect(await kept('new')).toEqual(['0 created carol {"n":3}']);
      expect(await kept('gone')).toEqual(['1 deleted bob null', '0 created alice {"n":0}']);
      await store.close();
    },
  );

  describe('versions of transactions that commit out of order', () => {
    /** Two transactions have written a version, and the second has committed. */
    async function outOfOrder() {
      const config = await cloneDatabase(inject('postgresUrl'));
      const database = await openDatabase(config, { clock: systemClock, log });
      const store = new SqlStore(database, log);
      const { host, port, user, password, dbName } = config;
      const [first, second] = [1, 2].map(() => new pg.Client({ host, port, user, password, database: dbName }));
      const pids: number[] = [];
      for (const [index, psql] of [first, second].entries()) {
        await psql?.connect();
        pids.push((await psql?.query<{ pid: number }>('select pg_backend_pid() as pid'))?.rows[0]?.pid ?? 0);
        await psql?.query('begin');
        await psql?.query(
          `insert into resources (name, mesh, type, version, spec) values ('n${String(index + 1)}', 'default', 'MeshTimeout', 0, '{}')`,
        );
      }
      await second?.query('commit');
      const close = async (): Promise<void> => {
        await Promise.all([first?.end(), second?.end()]);
        await store.close();
      };
      return { store, db: database.db, commit: async () => void (await first?.query('commit')), pid: pids[0], close };
    }

    it('are all in an export', async () => {
      const { store, commit, close } = await outOfOrder();
      const exported = async (after: number): Promise<ResourceVersion[]> =>
        store.versionsAfter({ after, upTo: await store.settledVersion(), limit: 10, types: ['MeshTimeout'] });
      const asked = exported(0);
      for (let trip = 0; trip < 5; trip += 1) await store.ping();
      await commit();
      const page = await asked;
      const rest = await exported(page.at(-1)?.id ?? 0);
      expect([...page, ...rest].map(({ name }) => name)).toEqual(['n1', 'n2']);
      await close();
    });

    it('make an export fail with the process id of one that stays open', async () => {
      const { store, db, commit, pid, close } = await outOfOrder();
      await expect(settledVersion(db, systemClock, 0)).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining(`(pid ${String(pid)} in`) as string,
      });
      await commit();
      expect(await store.settledVersion()).toBe(2);
      await close();
    });
  });

  it('lets one process lead at a time', async () => {
    const config = await cloneDatabase(inject('postgresUrl'));
    const stores = [await openStore(config, { clock: systemClock, log }), await openStore(config, { clock: systemClock, log })];
    const stop = new AbortController();
    let leading = 0;
    let most = 0;
    let terms = 0;
    const done = stores.map((store) =>
      store.lead(
        'test',
        async () => {
          most = Math.max(most, ++leading);
          terms += 1;
          await new Promise((resolve) => setImmediate(resolve));
          leading -= 1;
        },
        stop.signal,
      ),
    );
    await expect.poll(() => terms).toBeGreaterThan(2);
    stop.abort();
    await Promise.all(done);
    expect(most).toBe(1);
    await Promise.all(stores.map((store) => store.close()));
  });
});
