// A database that ends connections or takes none: the process lives on, says that it is not ready, and loses no promise.
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { hashName } from '../../src/resource/hash-name.ts';
import { startFleet, WAIT, type ControlPlane, type Fleet } from '../support/control-plane.ts';
import { expectEqualStores, zoneName } from './compare-stores.ts';
import { hasMesh, isRunning, putService, putTimeout, QUIET, writeSteadily } from './steady-writes.ts';

const TERMINATIONS = 15;
const REFUSED_MS = 3_000;

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

  async function allowConnections({ database }: ControlPlane, isAllowed: boolean): Promise<void> {
    await admin.query(`ALTER DATABASE ${database.dbName} ALLOW_CONNECTIONS ${String(isAllowed)}`);
  }

  async function ready({ env }: ControlPlane): Promise<number> {
    const response = await fetch(`http://127.0.0.1:${env['MERIDIAN_DIAGNOSTICS_SERVER_PORT'] ?? ''}/ready`);
    return response.status;
  }

  /** Writes on both sides while `fault` runs: what was answered 2xx must be there, and all in step. */
  async function writeDuring(prefix: string, fault: () => Promise<void>): Promise<void> {
    const policies = writeSteadily(`policy-${prefix}`, (name, n) => putTimeout(global, name, n));
    const services = writeSteadily(`service-${prefix}`, (name, n) => putService(east, name, n));
    try {
      await fault();
      expect([global, ...fleet.zones].map(isRunning), 'global, east and west run').toEqual([true, true, true]);
      // Both take writes again: each has one more accepted than before.
      for (const writes of [policies, services]) {
        const before = writes.accepted();
        await expect.poll(() => writes.accepted(), WAIT).toBeGreaterThan(before);
      }
    } finally {
      await policies.stop();
      await services.stop();
    }
    await expectEqualStores(fleet);
    const { accepted, answers } = await policies.stop();
    const ofEast = await services.stop();
    for (const zone of fleet.zones) {
      const rows = await zone.rows('MeshTimeout');
      expect(accepted.filter((name) => !rows.has(hashName({ mesh: 'default', name })))).toEqual([]);
    }
    for (const side of [global, ...fleet.zones]) {
      const rows = await side.rows('MeshService');
      const nameOf = (name: string): string => (side === east ? name : hashName({ mesh: 'default', name, zone: zoneName(east) }));
      expect(ofEast.accepted.filter((name) => !rows.has(nameOf(name)))).toEqual([]);
    }
    // A write that a broken database undid may be tried again: the answer says so.
    for (const answer of [...answers, ...ofEast.answers]) expect([200, 201, 503]).toContain(answer);
  }

  beforeAll(async () => {
    admin = new pg.Client({ connectionString: inject('postgresUrl') });
    await admin.connect();
    started.defer(() => admin.end());
    fleet = await startFleet(inject('postgresUrl'), ['east', 'west'], { env: QUIET });
    started.defer(fleet.stop);
    global = fleet.global;
    [east] = fleet.zones as [ControlPlane, ControlPlane];
    for (const zone of fleet.zones) await vi.waitFor(async () => expect(await hasMesh(zone)).toBe(true), WAIT);
  });

  // What one case has ended must not fail the next.
  beforeEach(async () => {
    for (const process of [global, ...fleet.zones]) {
      if (!isRunning(process)) process.start();
      await vi.waitFor(async () => expect(await ready(process)).toBe(200), WAIT);
    }
  });

  afterAll(() => started.disposeAsync());

  it.each([
    ['global', () => global],
    ['a zone', () => east],
  ])('may end all connections of %s again and again', async (side, processOf) => {
    const process = processOf();
    await writeDuring(`${side.replace(' ', '-')}-ended`, async () => {
      for (let time = 1; time <= TERMINATIONS; time += 1) {
        await delay(Math.random() * 300);
        expect(isRunning(process), `after ${String(time - 1)} terminations`).toBe(true);
        await expect.poll(() => terminateAll(process), WAIT).toBeGreaterThan(0);
      }
    });
  });

  it.each([
    ['global', () => global],
    ['a zone', () => east],
  ])('may take no connection of %s for seconds: it is not ready as long', async (side, processOf) => {
    const process = processOf();
    await writeDuring(`${side.replace(' ', '-')}-refused`, async () => {
      try {
        await allowConnections(process, false);
        await terminateAll(process);
        await expect.poll(() => ready(process), WAIT).toBe(503);
        await delay(REFUSED_MS);
        expect(await ready(process)).toBe(503);
      } finally {
        await allowConnections(process, true);
      }
      await expect.poll(() => ready(process), WAIT).toBe(200);
    });
  });
});
