// A pool whose connections prepare their statements: the same few texts run constantly, and parsing and planning costs the server
// about as much as execution. Invariants: one text has one name in this process, and names are bounded; a connection with a timed-out
// statement is not used again.
import type { PostgresPool, PostgresPoolClient } from 'kysely';
import type pg from 'pg';
import { isAnswerOverdue } from './pg-errors.ts';

/** The number of prepared texts, in order of their first use. Later texts are planned at each execution. */
const MAX_STATEMENTS = 500;

/** The names of prepared statements, shared by all users of a pool. */
export class StatementNames {
  readonly #names = new Map<string, string>();

  /** It is undefined if the limit is reached: the statement is then not prepared. */
  of(text: string): string | undefined {
    const known = this.#names.get(text);
    if (known !== undefined || this.#names.size >= MAX_STATEMENTS) return known;
    const name = `meridian_${String(this.#names.size + 1)}`;
    this.#names.set(text, name);
    return name;
  }
}

type PreparingOptions = {
  readonly names: StatementNames;
  /** The time limit of a statement in milliseconds. After it the statement fails and its connection is closed. */
  readonly limitMs: number;
  /** Whether a connection is unusable. The pool then closes it and takes another. */
  readonly isSpent: (client: pg.PoolClient) => boolean;
};

/** The interface of a pool for kysely. Statements without parameters, which begin and end transactions, are not prepared. */
export function preparing(pool: pg.Pool, { names, limitMs, isSpent }: PreparingOptions): PostgresPool {
  const clients = new WeakMap<pg.PoolClient, PostgresPoolClient>();

  const wrap = (client: pg.PoolClient): PostgresPoolClient => {
    /** The error of a statement that timed out. A rollback on this connection would wait behind it. */
    let overdue: Error | null = null;
    const query = async (text: string, values: readonly unknown[]): Promise<pg.QueryResult> => {
      if (overdue !== null) throw overdue;
      const name = values.length === 0 ? undefined : names.of(text);
      const statement: pg.QueryConfig & { readonly query_timeout: number } = {
        ...{ text, values: [...values], query_timeout: limitMs },
        ...(name !== undefined && { name }),
      };
      try {
        return await client.query(statement);
      } catch (error) {
        if (isAnswerOverdue(error)) overdue = error as Error;
        throw error;
      }
    };
    const release: PostgresPoolClient['release'] = (destroy) => client.release(overdue !== null || destroy);
    // kysely uses the other overload only for cursors, and none are configured.
    return { query: query as unknown as PostgresPoolClient['query'], release };
  };

  return {
    options: pool.options,
    async connect() {
      let client = await pool.connect();
      while (isSpent(client)) {
        client.release(true);
        client = await pool.connect();
      }
      // Return the same wrapper for a client: kysely identifies a connection by its client.
      const known = clients.get(client) ?? wrap(client);
      clients.set(client, known);
      return known;
    },
    // The pool is shared. Its creator ends it.
    end: () => Promise.resolve(),
  };
}
