// Another transaction holds a row: a write of that row fails after the lock timeout, and no other write waits for it.
import pg from 'pg';
import { expect, inject, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import type { ResourceKey } from '../../src/resource/types.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Write } from '../../src/store/resource-store.ts';
import { cloneDatabase } from '../support/postgres-database.ts';
import { waitingForLocks } from '../support/psql.ts';

const key = (name: string): ResourceKey => ({ type: 'MeshTimeout', mesh: 'default', name });
const put = (name: string): Write => ({ op: 'put', key: key(name), labels: {}, spec: { by: 'store' } });

it('a locked row fails only its own write, which can be retried', async () => {
  const config = await cloneDatabase(inject('postgresUrl'));
  const store = await openStore(config, { clock: systemClock, log: createLogger('silent') });
  const psql = new pg.Client({ ...config, database: config.dbName });
  await psql.connect();
  for (const name of ['held', 'free']) await store.write(put(name));
  await psql.query('begin');
  await psql.query(`update resources set spec = '{"by":"hand"}' where name = 'held'`);
  const held = store.write(put('held')).then(() => 'stored', (error: unknown) => error); // oxfmt-ignore
  await expect.poll(() => waitingForLocks(psql)).toBeGreaterThan(0);
  expect(await store.write(put('free'))).toMatchObject({ result: 'updated' });
  expect(await held).toMatchObject({ code: 'conflict', message: expect.stringMatching(/another transaction/) as string });
  // It was held a moment ago: now the others do not even wait for it to be found held again.
  let isHeld = true;
  const again = store.write(put('held')).then(() => (isHeld = false), () => (isHeld = false)); // oxfmt-ignore
  expect(await Promise.all(['free', 'other'].map((name) => store.write(put(name))))).toHaveLength(2);
  expect(isHeld).toBe(true);
  await psql.query('commit');
  await again;
  expect(await store.write(put('held'))).toMatchObject({ result: 'updated' });
  await psql.end();
  await store.close();
});
