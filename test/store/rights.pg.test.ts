// A control plane that does not own its tables, with the documented rights (docs/running.md, Rights).
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { expect, inject, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Write } from '../../src/store/resource-store.ts';
import { cloneDatabase } from '../support/postgres-database.ts';
import { WAIT } from '../support/wait.ts';

const log = createLogger('silent');

/** The grants of the documentation for another role. */
async function grantsTo(role: string): Promise<string> {
  const page = await readFile(join(import.meta.dirname, '../../docs/running.md'), 'utf8');
  return page
    .split('\n')
    .filter((line) => /^grant .* to meridian;$/.test(line))
    .join('\n')
    .replaceAll('to meridian;', `to ${role};`);
}

it('a control plane with the documented rights analyzes the table that has grown', async () => {
  const config = await cloneDatabase(inject('postgresUrl'));
  const owner = new pg.Client({ ...config, database: config.dbName });
  await owner.connect();
  const role = `role_of_${config.dbName}`;
  await owner.query(`create role ${role} login password 'secret'; ${await grantsTo(role)}`);
  const store = await openStore({ ...config, user: role, password: 'secret' }, { clock: systemClock, log });
  onTestFinished(async () => {
    await store.close();
    await owner.query(`drop owned by ${role}; drop role ${role}`);
    await owner.end();
  });
  await owner.query(`alter table resources set (autovacuum_enabled = off)`);
  const writes = Array.from({ length: 500 }, (_, n): Write => {
    const key = { type: 'MeshTimeout', mesh: 'default', name: `n${String(n)}` };
    return { op: 'put', key, labels: {}, spec: {} };
  });
  await store.writeBatch(writes);
  const rows = async (): Promise<unknown> =>
    (await owner.query<{ rows: number }>(`select reltuples as rows from pg_class where oid = 'resources'::regclass`)).rows[0]
      ?.rows;
  await expect.poll(rows, WAIT).toBe(500);
});
