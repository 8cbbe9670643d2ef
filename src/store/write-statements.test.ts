// A batch in which a statement fails. The tests of the statements are in test/store.
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely';
import { expect, it } from 'vitest';
import type { Tables } from './database.ts';
import type { Write } from './resource-store.ts';
import { runWrites } from './write-statements.ts';

/** A database in which every statement fails at once. */
function brokenDatabase(): Kysely<Tables> {
  const driver = new DummyDriver();
  driver.acquireConnection = async () => ({
    executeQuery: () => Promise.reject(new Error('the connection is gone')),
    async *streamQuery() {
      yield* [];
    },
  });
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => driver,
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
}

it('a batch fails with its first statement while the next is prepared, without an unhandled rejection', async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  process.on('unhandledRejection', note);
  const key = { type: 'MeshTimeout', mesh: 'default', name: 'a' };
  const content = { labels: {}, spec: {} };
  const writes: Write[] = [
    { op: 'put', key, ...content },
    { op: 'put', key: { ...key, name: 'b' }, ...content, status: {} },
  ];
  await expect(runWrites(brokenDatabase(), writes)).rejects.toThrow('the connection is gone');
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});
