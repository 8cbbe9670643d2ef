// The PostgreSQL server itself fails, under either side: it crashes, hangs, moves, has no connection left or no room on its disk.
// The process lives on, is not ready as long and says why; what was answered 2xx survives.
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { openDatabase, type PostgresConfig } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { startFleet, WAIT, type ControlPlane, type Fleet } from '../support/control-plane.ts';
import { embeddedBinaries, installedBinaries, PostgresBinaries } from '../support/postgres-binaries.ts';
import { configOf } from '../support/postgres-database.ts';
import { sized } from '../support/test-size.ts';
import { hasMesh, putService, putTimeout } from './steady-writes.ts';
import { TcpProxy } from './tcp-proxy.ts';
import { writeDuring } from './write-during.ts';

const CRASHES = sized({ push: 1, full: 2 });
/** The connection limit of the servers in this file; the processes use fewer. */
const MAX_CONNECTIONS = 30;
/** A moment of the writes: this many of them at most. */
const MAX_WRITES = 40;
/** How often a write is tried while the disk is full. */
const TRIES = 5;

/** A server of one control plane behind an address that outlives it. */
type Site = { server: PostgresBinaries; readonly proxy: TcpProxy };

async function statusOf(process: ControlPlane, path: string): Promise<number> {
  return (await fetch(`http://127.0.0.1:${String(process.api)}${path}`)).status;
}

describe('a PostgreSQL server', () => {
  const started = new AsyncDisposableStack();
  const sites = new Map<string, Site>();
  let fleet: Fleet;

  async function databaseOf(member: string): Promise<PostgresConfig> {
    const binaries = embeddedBinaries() ?? installedBinaries();
    if (binaries === null) throw new Error('no binaries of PostgreSQL: run npm ci, or install PostgreSQL');
    const server = await PostgresBinaries.create(binaries, [
      `max_connections=${String(MAX_CONNECTIONS)}`,
      'wal_level=replica',
      // A commit is answered when the standby has it, once there is one.
      'synchronous_commit=on',
    ]);
    const proxy = await TcpProxy.start(server.port);
    const site = { server, proxy };
    started.defer(() => server.remove());
    started.defer(() => proxy.close());
    sites.set(member, site);
    const config = configOf(`postgres://postgres@${proxy.address}/postgres`, 'postgres');
    const database = await openDatabase(config, { clock: systemClock, log: createLogger('warn') });
    await migrate(database, { log: createLogger('warn') });
    await database.close();
    return config;
  }

  beforeAll(async () => {
    fleet = await startFleet(inject('postgresUrl'), ['east'], { isQuiet: true, databaseOf });
    started.defer(fleet.stop);
    for (const zone of fleet.zones) await vi.waitFor(async () => expect(await hasMesh(zone)).toBe(true), WAIT);
  });

  beforeEach(async () => {
    for (const process of [fleet.global, ...fleet.zones]) {
      if (!process.isRunning) process.start();
      await vi.waitFor(async () => expect(await process.ready()).toBe(200), WAIT);
    }
  });

  afterAll(() => started.disposeAsync());

  const memberOf = (name: string): { process: ControlPlane; site: Site } => {
    const process = name === 'global' ? fleet.global : fleet.zones[0];
    const site = sites.get(name);
    if (process === undefined || site === undefined) throw new Error(`${name} was not started`);
    return { process, site };
  };

  it.each(['global', 'east'])('may crash under %s again and again (immediate mode)', async (name) => {
    const { process, site } = memberOf(name);
    await writeDuring(fleet, `${name}-crash`, async (moreWrites) => {
      for (let crash = 1; crash <= CRASHES; crash += 1) {
        await moreWrites(Math.random() * MAX_WRITES);
        await site.server.stop('immediate');
        await expect.poll(() => process.ready(), WAIT).toBe(503);
        await site.server.start();
        await expect.poll(() => process.ready(), WAIT).toBe(200);
        process.assertRunning(`after ${String(crash)} crashes`);
      }
    });
    expect(process.lastWords()).toContain('the database does not answer');
  });

  // Its address swallows everything, as a machine that stands still does: no answer, no end, and new connections hang.
  it.each(['global', 'east'])('may hang under %s', async (name) => {
    const { process, site } = memberOf(name);
    await writeDuring(fleet, `${name}-hangs`, async () => {
      site.proxy.blackHole();
      try {
        // Each request has an answer while nothing comes from the database.
        const put = name === 'global' ? putTimeout(process, 'unknown', 1) : putService(process, 'unknown', 80);
        const paths = ['/meshes/default/meshtimeouts', '/meshes/default/meshtimeouts/x', '/meshes'];
        const answers = await Promise.all([put, ...paths.map((path) => statusOf(process, path))]);
        expect(new Set(answers)).toEqual(new Set([503]));
        await expect.poll(() => process.ready(), WAIT).toBe(503);
      } finally {
        site.proxy.resume();
      }
      await expect.poll(() => process.ready(), WAIT).toBe(200);
    });
  });

  it.each(['global', 'east'])('may have no free connection for %s', async (name) => {
    const { process, site } = memberOf(name);
    const hogs: pg.Client[] = [];
    const take = async (): Promise<void> => {
      const hog = new pg.Client({ connectionString: site.server.url });
      hog.on('error', () => undefined);
      await hog.connect();
      hogs.push(hog);
    };
    const takeAll = async (): Promise<void> => {
      for (;;)
        try {
          await take();
        } catch (error) {
          if ((error as { code?: unknown }).code !== '53300') throw error;
          return;
        }
    };
    const clients = async (): Promise<number | undefined> => {
      const text = `select count(*)::int as n from pg_stat_activity where backend_type = 'client backend'`;
      return (await hogs[0]?.query<{ n: number }>(text))?.rows[0]?.n;
    };
    await writeDuring(fleet, `${name}-connections`, async () => {
      try {
        await take();
        // The process is kept away until others have taken every connection; then it asks, and gets none.
        site.proxy.target = 1;
        site.proxy.cut();
        await expect.poll(clients, WAIT).toBe(1);
        await takeAll();
        site.proxy.target = site.server.port;
        await expect.poll(() => process.lastWords(), WAIT).toContain('too many clients');
        expect(await process.ready()).toBe(503);
      } finally {
        site.proxy.target = site.server.port;
        for (const hog of hogs) await hog.end();
      }
      await expect.poll(() => process.ready(), WAIT).toBe(200);
    });
  });

  // A trigger raises the error as a full disk does (SQLSTATE 53100): a file system of its own would need root.
  it.each(['global', 'east'])('may have no disk space for a row of %s', async (name) => {
    const { process } = memberOf(name);
    await writeDuring(fleet, `${name}-full`, async () => {
      try {
        await process.psql.query(`
          create function full_disk() returns trigger language plpgsql as $$ begin
            raise exception 'could not extend file "base/1/1": No space left on device' using errcode = 'disk_full';
          end $$;
          create trigger full_disk before insert or update on resources for each row execute function full_disk()`);
        await putTimeout(fleet.global, `${name}-while-full`, 1);
        await expect.poll(() => process.ready(), WAIT).toBe(503);
        for (let time = 1; time <= TRIES; time += 1) {
          const put = name === 'global' ? putTimeout(process, 'no-room', time) : putService(process, 'no-room', 80);
          expect(await put).toBe(503);
          expect(await process.ready()).toBe(503);
        }
        expect(await process.answers(), 'what is stored can be read').toBe(true);
      } finally {
        await process.psql.query('drop trigger full_disk on resources; drop function full_disk');
      }
      await expect.poll(() => process.ready(), WAIT).toBe(200);
    });
    expect(process.lastWords()).toContain('No space left on device');
  });

  it.each(['global', 'east'])('may move to another machine under %s', async (name) => {
    const { process, site } = memberOf(name);
    const before = site.server;
    const standby = await before.standby();
    started.defer(() => standby.remove());
    const primary = new pg.Client({ connectionString: before.url });
    await primary.connect();
    await primary.query(`alter system set synchronous_standby_names = 'standby'`);
    await primary.query('select pg_reload_conf()');
    await expect
      .poll(async () => (await primary.query<{ sync_state: string }>('select sync_state from pg_stat_replication')).rows, WAIT)
      .toEqual([{ sync_state: 'sync' }]);
    await primary.end();
    await writeDuring(fleet, `${name}-moved`, async (moreWrites) => {
      await moreWrites(Math.random() * MAX_WRITES);
      await before.stop('immediate');
      // The address leads to the standby before that is a primary: it reads, and stores nothing.
      site.proxy.target = standby.port;
      await expect.poll(() => process.ready(), WAIT).toBe(503);
      const admin = new pg.Client({ connectionString: standby.url });
      await admin.connect();
      await admin.query(`alter system reset synchronous_standby_names`);
      await admin.query('select pg_reload_conf()');
      await admin.query('select pg_promote()');
      await admin.end();
      await expect.poll(() => process.ready(), WAIT).toBe(200);
    });
    site.server = standby;
  });
});
