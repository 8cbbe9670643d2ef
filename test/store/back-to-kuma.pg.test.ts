// The SQL of docs/kuma-migration.md for a database that goes back to Kuma, and to Meridian again.
import { afterEach, beforeEach, expect, inject, it } from 'vitest';
import { documentedBlocks } from '../support/documented-blocks.ts';
import { cloneDatabase } from '../support/postgres-database.ts';
import { Psql } from '../support/psql.ts';

let psql: Psql;

beforeEach(async () => {
  const { dbName, ...config } = await cloneDatabase(inject('postgresUrl'));
  psql = new Psql({ ...config, database: dbName });
});

afterEach(() => psql.end());

/** As Kuma writes: another program, one row a statement. @returns the actions that the history keeps of it */
async function kept(name: string): Promise<string[]> {
  const key = [name];
  await psql.query(
    `insert into resources (type, mesh, name, version, spec, creation_time, modification_time)
      values ('MeshTimeout', 'shop', $1, 0, '{}', now(), now())`,
    key,
  );
  await psql.query(`update resources set spec = '{"a":1}', version = 1 where name = $1`, key);
  await psql.query('delete from resources where name = $1', key);
  const { rows } = await psql.query<{ action: string }>('select action from meridian_history where name = $1 order by id', key);
  return rows.map(({ action }) => action);
}

it('the documented SQL ends the history of a database that goes back to Kuma, and begins it again', async () => {
  const [back, again] = documentedBlocks('kuma-migration.md', 'Back to Kuma', 'sql');
  const all = ['created', 'updated', 'deleted'];
  expect(await kept('before')).toEqual(all);
  await psql.query(back);
  expect(await kept('under-kuma')).toEqual([]);
  await psql.query(again ?? '');
  expect(await kept('afterwards')).toEqual(all);
});
