// A batch in which a statement fails. The tests of the statements are in test/store.
import { setImmediate } from 'node:timers/promises';
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely';
import { expect, it } from 'vitest';
import type { Tables } from './database.ts';
import type { JsonObject } from '../resource/types.ts';
import type { Write } from './resource-store.ts';
import { runWrites } from './write-statements.ts';

/** A database for statements. @param answer answers each of them */
function databaseOf(answer: (sql: string) => Promise<{ rows: never[] }>): Kysely<Tables> {
  const driver = new DummyDriver();
  driver.acquireConnection = async () => ({
    executeQuery: async ({ sql }) => await answer(sql),
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
  const broken = databaseOf(() => Promise.reject(new Error('the connection is gone')));
  await expect(runWrites(broken, writes)).rejects.toThrow('the connection is gone');
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

it('a batch prepares its next statement while the one before runs, and sends it after that has ended', async () => {
  const steps: string[] = [];
  const answers: (() => void)[] = [];
  const database = databaseOf(async () => {
    steps.push('sent');
    await new Promise<void>((resolve) => answers.push(resolve));
    steps.push('answered');
    return { rows: [] };
  });
  const key = { type: 'MeshTimeout', mesh: 'default', name: 'a' };
  /** A spec that notes when it becomes a part of a statement. */
  const specOf = (name: string): JsonObject => ({
    get to() {
      const step = `prepares ${name}`;
      // The spec is looked at before it is printed.
      if (steps.at(-1) !== step) steps.push(step);
      return [];
    },
  });
  const running = runWrites(database, [
    { op: 'create', key, labels: {}, spec: specOf('first') },
    { op: 'put', key: { ...key, name: 'b' }, labels: {}, spec: specOf('second') },
  ]);
  const settle = async (): Promise<string[]> => {
    for (let turn = 0; turn < 10; turn += 1) await setImmediate();
    return steps.splice(0);
  };
  expect(await settle()).toEqual(['prepares first', 'sent', 'prepares second']);
  answers.shift()?.();
  expect(await settle()).toEqual(['answered', 'sent']);
  answers.shift()?.();
  await settle();
  expect(await running).toHaveLength(2);
});
