// A database ends connections or accepts none: the process stays up, reports that it is not ready, and loses no acknowledged write.
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { startFleet, WAIT, type ControlPlane, type Fleet } from '../support/control-plane.ts';
import { sized } from '../support/test-size.ts';
import { expectEqualStores } from './compare-stores.ts';
import { hasMesh, putService, putTimeout } from './steady-writes.ts';
import { writeDuring } from './write-during.ts';

const TERMINATIONS = sized({ push: 30, full: 60 });
/** Shorter than a connection takes to be made and set up, and longer: each of its steps is met in some round. */
const MAX_BETWEEN_MS = 60;
const REFUSED_MS = 1_000;
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
      await delay(Math.random() * MAX_BETWEEN_MS);
      process.assertRunning(`after ${String(time - 1)} terminations`);
      await terminateAll(process);
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

  // What one case has ended must not fail the next.
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
      // What is written right after a start that was disturbed arrives like everything else.
      const name = `${side.replace(' ', '-')}-start-${String(start)}`;
      await expect.poll(() => putTimeout(global, name, 1), WAIT).toBeLessThan(300);
      await expect.poll(() => putService(east, name, 80), WAIT).toBeLessThan(300);
      await expectEqualStores(fleet, `start ${String(start)} of ${side}`);
    }
  });

  it.each(sides)('may take no connection of %s for seconds: it is not ready as long', async (side, processOf) => {
    const process = processOf();
    await writeDuring(fleet, `${side.replace(' ', '-')}-refused`, async () => {
      try {
        await allowConnections(process, false);
        await terminateAll(process);
        await expect.poll(() => process.ready(), WAIT).toBe(503);
        await delay(REFUSED_MS);
        expect(await process.ready()).toBe(503);
      } finally {
        await allowConnections(process, true);
      }
      await expect.poll(() => process.ready(), WAIT).toBe(200);
    });
    expect(process.lastWords()).toContain('the database does not answer');
  });
});
