// The cost of a write or a read by key does not depend on the number of rows: none scans the table.
import { sql } from 'kysely';
import { expect, inject, it, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { openDatabase } from '../../src/store/database.ts';
import type { Write } from '../../src/store/resource-store.ts';
import { SqlStore } from '../../src/store/sql-store.ts';
import { cloneDatabase } from '../support/postgres-database.ts';

/** After five runs PostgreSQL plans a prepared statement for all parameters. */
const RUNS = 8;
/** Rows that a statement reads at most, on average: its own, their owner, and those of its types in a small table. */
const FEW = 10;
const owner = { type: 'Mesh', mesh: '', name: 'default' };
const owned = { type: 'MeshTimeout', mesh: 'default' };
const content = { labels: { 'kuma.io/origin': 'global' }, spec: { n: 1 } };

/** The rows of one zone, as a receiver of global asks for them. */
const ofZone = {
  types: ['Dataplane', 'MeshService', 'MeshTimeout'],
  ...{ labels: { 'kuma.io/zone': 'east' }, namePrefix: 'east.', owner: { type: 'Zone', mesh: '', name: 'east' } },
};

it.each([
  ['in a table with many rows', 20_000, 0],
  ['in a table that has grown since its statements were planned', 0, 20_000],
])('every write, every read by key and the rows of a zone use an index %s', async (_, before, after) => {
  const log = createLogger('silent');
  const database = await openDatabase(
    { ...(await cloneDatabase(inject('postgresUrl'))), maxOpenConnections: 1 },
    { clock: systemClock, log },
  );
  const store = new SqlStore(database, log);
  await store.write({ op: 'create', key: owner, labels: {}, spec: {} });
  const grow = async (rows: number): Promise<void> => {
    for (let from = 0; from < rows; from += 1_000) {
      const keys = Array.from({ length: 1_000 }, (_, n) => ({ ...owned, name: `timeout-${String(from + n)}` }));
      await store.writeBatch(keys.map((key) => ({ op: 'create', key, ...content, owner })));
    }
  };
  await sql`alter table resources set (autovacuum_enabled = off)`.execute(database.bulk);
  await grow(before);
  const rowsRead = async (): Promise<number> => {
    await sql`select pg_stat_force_next_flush()`.execute(database.db);
    const { rows } = await sql<{
      n: string;
    }>`select seq_tup_read + idx_tup_fetch as n from pg_stat_user_tables where relname = 'resources'`.execute(database.db);
    return Number(rows[0]?.n);
  };
  const writesOf = (run: string, names: readonly string[]): Write[][] => {
    const keys = names.map((name) => ({ ...owned, name: `${name}-${run}` }));
    return [
      keys.map((key) => ({ op: 'create', key, ...content, owner })),
      keys.map((key) => ({ op: 'put', key, ...content, owner, ownOnly: true })),
      keys.map((key) => ({ op: 'put', key, ...content, owner, status: {} })),
      keys.map((key) => ({ op: 'update', key, ...content, expectVersion: 2 })),
      keys.map((key) => ({ op: 'status', key, status: { ready: true }, expectVersion: 3 })),
      keys.map((key) => ({ op: 'delete', key, expectVersion: 4 })),
    ];
  };
  /** @returns how many statements it took */
  const work = async (time: string): Promise<number> => {
    let statements = 0;
    for (let run = 0; run < RUNS; run += 1)
      for (const writes of [
        ...writesOf(`${time}-${String(run)}`, ['one', 'other']),
        ...writesOf(`${time}-${String(run)}`, ['alone']),
      ]) {
        const outcomes = await store.writeBatch(writes);
        expect(outcomes.every((outcome) => 'version' in outcome)).toBe(true);
        const [first] = writes;
        if (first !== undefined) await Promise.all([store.get(first.key), store.getMeta(first.key)]);
        expect(await store.listMeta(ofZone)).toEqual([]);
        statements += 4;
      }
    return statements;
  };
  await work('first');
  await grow(after);
  // The process has the table analyzed that has grown, and does not wait for it.
  await vi.waitFor(
    async () => {
      const earlier = await rowsRead();
      await store.get({ ...owned, name: 'missing' });
      expect((await rowsRead()) - earlier).toBeLessThan(FEW);
    },
    { timeout: 20_000, interval: 50 },
  );
  const read = await rowsRead();
  const statements = await work('again');
  expect(((await rowsRead()) - read) / statements).toBeLessThan(FEW);
  await store.close();
});
