// The change feed for writes without key notifications: TRUNCATE, and disabled triggers.
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { ChangeFeed } from '../../src/store/change-feed.ts';
import { openDatabase, type Database } from '../../src/store/database.ts';
import type { StoreChange } from '../../src/store/resource-store.ts';
import { cloneDatabase } from '../support/postgres-database.ts';
import { Psql } from '../support/psql.ts';

const WAIT = { timeout: 90_000, interval: 10 };
const log = createLogger('silent');
const INSERT = `insert into resources (name, mesh, type, version, spec) values ('by-hand', 'default', $1, 0, '{}')`;

describe('the change feed', () => {
  let database: Database;
  let psql: Psql;
  let feed: ChangeFeed;
  let seen: StoreChange[];
  let reading: Promise<void>;
  const stop = { now: () => undefined as void };

  beforeEach(async () => {
    const config = await cloneDatabase(inject('postgresUrl'));
    database = await openDatabase(config, { clock: systemClock, log });
    const { host, port, user, password, dbName } = config;
    psql = new Psql({ host, port, user, password, database: dbName });
    await psql.connect();
    seen = [];
  });

  afterEach(async () => {
    stop.now();
    await reading;
    await feed.close();
    await psql.end();
    await database.close();
  });

  function follow(netMs?: number): void {
    const signal = new AbortController();
    stop.now = () => signal.abort();
    feed = new ChangeFeed(database, log, netMs);
    reading = (async () => {
      for await (const change of feed.changes(signal.signal)) seen.push(change);
    })();
  }

  it('reports with its first look that it has no connection, while it cannot listen', async () => {
    database = { ...database, listen: () => Promise.reject(new Error('no connection is free')) };
    follow(20);
    await expect.poll(() => seen, WAIT).toEqual([{ kind: 'all' }, { kind: 'lost' }]);
    await psql.query(INSERT, ['MeshTimeout']);
    await expect.poll(() => seen.slice(2), WAIT).toEqual([{ kind: 'type', type: 'MeshTimeout' }]);
  });

  it('finds insights without a notification, as a replica of an older version must', async () => {
    follow(20);
    await expect.poll(alls, WAIT).toBe(2);
    await psql.query(INSERT, ['ZoneInsight']);
    await expect.poll(afterFirstLook, WAIT).toEqual([{ kind: 'type', type: 'ZoneInsight' }]);
  });

  const alls = (): number => seen.filter(({ kind }) => kind === 'all').length;
  /** A look may find that the feed does not listen yet. */
  const afterFirstLook = (): StoreChange[] => seen.filter(({ kind }) => kind !== 'lost').slice(2);

  it('reports that all rows may have changed after TRUNCATE (engine 8)', async () => {
    await psql.query(INSERT, ['MeshTimeout']);
    follow();
    await expect.poll(alls, WAIT).toBe(1);
    await psql.query('truncate resources');
    await expect.poll(() => seen, WAIT).toEqual([{ kind: 'all' }, { kind: 'all' }]);
  });

  it.each([
    ['makes', INSERT, []],
    ['changes', `update resources set spec = '{"a":1}' where type = $1`, ['MeshTimeout']],
    ['removes', `delete from resources where type = $1`, ['MeshTimeout']],
    ['renames', `update resources set name = 'renamed' where type = $1`, ['MeshTimeout']],
  ])(
    'finds the type of a row that another writer %s while the triggers are disabled (engine 9)',
    async (_, statement, before) => {
      for (const type of [...before, 'MeshRetry']) await psql.query(INSERT, [type]);
      await psql.query('alter table resources disable trigger user');
      follow(20);
      // One for the connection, one for the first look, which has nothing to compare with.
      await expect.poll(alls, WAIT).toBe(2);
      await psql.query(statement, ['MeshTimeout']);
      await expect.poll(afterFirstLook, WAIT).toEqual([{ kind: 'type', type: 'MeshTimeout' }]);
    },
  );
});
