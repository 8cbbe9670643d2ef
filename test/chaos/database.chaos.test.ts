// A database that ends connections or takes none: the process lives on, says that it is not ready, and loses no promise.
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { startFleet, WAIT, type ControlPlane, type Fleet } from '../support/control-plane.ts';
import { sized } from '../support/test-size.ts';
import { expectEqualStores } from './compare-stores.ts';
import { hasMesh, putService, putTimeout } from './steady-writes.ts';
import { writeDuring } from './write-during.ts';

const TERMINATIONS = sized({ push: 30, full: 60 });
/** Between two looks for connections. Shorter than one takes to be made and set up, and longer: each of its steps is met in some round. */
const MAX_BETWEEN_MS = 60;
/** How often a write is tried while no connection is taken. */
const TRIES = 5;
const STARTS = sized({ push: 1, full: 2 });

describe('a database that fails', () => {
  const started = new AsyncDisposableStack();
  let fleet: Fleet;
  let global: ControlPlane;
  let east: ControlPlane;
  let admin: pg.Client;

  /** Ends every connection to a database but that through which the test reads it. */
  async function terminateAll({ psql, database }: ControlPlane): Promise<number> {
    const own = await psql.query<{ pid: number }>('select pg_backend_pid() as pid');
    const { rowCount } = await admin.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> $2',
      [database.dbName, own.rows[0]?.pid],
    );
    return rowCount ?? 0;
  }

  async function terminateAgainAndAgain(process: ControlPlane, times: number): Promise<void> {
    for (let time = 1; time <= times; time += 1) {
      const looks = { ...WAIT, interval: 1 + Math.random() * MAX_BETWEEN_MS };
      await expect.poll(() => terminateAll(process), looks).toBeGreaterThan(0);
      process.assertRunning(`after ${String(time)} terminations`);
    }
  }

  async function allowConnections({ database }: ControlPlane, isAllowed: boolean): Promise<void> {
    await admin.query(`ALTER DATABASE ${database.dbName} ALLOW_CONNECTIONS ${String(isAllowed)}`);
  }

  beforeAll(async () => {
    admin = new pg.Client({ connectionString: inject('postgresUrl') });
    await admin.connect();
    started.defer(() => admin.end());
    fleet = await startFleet(inject('postgresUrl'), ['east', 'west'], { isQuiet: true });
    started.defer(fleet.stop);
    global = fleet.global;
    [east] = fleet.zones as [ControlPlane, ControlPlane];
    for (const zone of fleet.zones) await vi.waitFor(async () => expect(await hasMesh(zone)).toBe(true), WAIT);
  });

  // Connections that one case ended must not fail the next.
  beforeEach(async () => {
    for (const process of [global, ...fleet.zones]) {
      if (!process.isRunning) process.start();
      await vi.waitFor(async () => expect(await process.ready()).toBe(200), WAIT);
    }
  });

  afterAll(() => started.disposeAsync());

  const sides = [
    ['global', () => global],
    ['a zone', () => east],
  ] as const;

  it.each(sides)('may end all connections of %s again and again', async (side, processOf) => {
    await writeDuring(fleet, `${side.replace(' ', '-')}-ended`, () => terminateAgainAndAgain(processOf(), TERMINATIONS));
  });

  it.each(sides)('may end all connections of %s while it starts', async (side, processOf) => {
    const process = processOf();
    for (let start = 1; start <= STARTS; start += 1) {
      await process.end('SIGKILL');
      process.start();
      await terminateAgainAndAgain(process, TERMINATIONS / 2);
      await expect.poll(() => process.answers(), { ...WAIT, message: `start ${String(start)} of ${side}` }).toBe(true);
      process.assertRunning(side);
      // A write right after a disturbed start arrives like every other one.
      const name = `${side.replace(' ', '-')}-start-${String(start)}`;
      await expect.poll(() => putTimeout(global, name, 1), WAIT).toBeLessThan(300);
      await expect.poll(() => putService(east, name, 80), WAIT).toBeLessThan(300);
      await expectEqualStores(fleet, `start ${String(start)} of ${side}`);
    }
  });

  it.each(sides)('may refuse the connections of %s, which is not ready meanwhile', async (side, processOf) => {
    const process = processOf();
    await writeDuring(fleet, `${side.replace(' ', '-')}-refused`, async () => {
      try {
        await allowConnections(process, false);
        await terminateAll(process);
        await expect.poll(() => process.ready(), WAIT).toBe(503);
        for (let time = 1; time <= TRIES; time += 1) {
          const name = `refused-${String(time)}`;
          expect(await (process === global ? putTimeout(process, name, 1) : putService(process, name, 80))).toBe(503);
          expect(await process.ready()).toBe(503);
        }
      } finally {
        await allowConnections(process, true);
      }
      await expect.poll(() => process.ready(), WAIT).toBe(200);
    });
    expect(process.lastWords()).toContain('the database does not answer');
  });
});
