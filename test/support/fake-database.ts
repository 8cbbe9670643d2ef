// A database whose answers a test writes, for what the store does around its statements.
import { Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely';
import type { Tables } from '../../src/store/database.ts';

/** @param answer the rows of a statement, or an error */
export function fakeDatabase(answer: (sql: string, parameters: readonly unknown[]) => readonly object[]): Kysely<Tables> {
  const nothing = (): Promise<void> => Promise.resolve();
  const connection = {
    executeQuery: async ({ sql, parameters }: { sql: string; parameters: readonly unknown[] }): Promise<{ rows: never[] }> => {
      return { rows: [...answer(sql, parameters)] as never[] };
    },
    async *streamQuery() {
      // No statement of the store is streamed.
    },
  };
  const driver = {
    ...{ init: nothing, acquireConnection: async () => connection, releaseConnection: nothing, destroy: nothing },
    ...{ beginTransaction: nothing, commitTransaction: nothing, rollbackTransaction: nothing },
  };
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => driver,
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
}
