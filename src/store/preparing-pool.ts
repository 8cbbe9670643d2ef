// A pool whose connections prepare their statements: the same few texts run all the time, and to parse and plan one costs the
// server about as much as to run it. Invariants: one text has one name in this process, and names are bounded; a connection that
// left a statement without its answer is not used again.
import type { PostgresPool, PostgresPoolClient } from 'kysely';
import type pg from 'pg';
import { isAnswerOverdue } from './pg-errors.ts';

/** Texts that are prepared, in order of their first use; later ones are planned each time. */
const MAX_STATEMENTS = 500;

/** The names of prepared statements, the same for all that share a pool. */
export class StatementNames {
  readonly #names = new Map<string, string>();

  /** Undefined: there are too many, and this one is not prepared. */
  of(text: string): string | undefined {
    const known = this.#names.get(text);
    if (known !== undefined || this.#names.size >= MAX_STATEMENTS) return known;
    const name = `meridian_${String(this.#names.size + 1)}`;
    this.#names.set(text, name);
    return name;
  }
}

export type PreparingOptions = {
  readonly names: StatementNames;
  /** Time limit of a statement in milliseconds. After it the statement fails and its connection is closed. */
  readonly limitMs: number;
  /** Whether a connection is unusable. The pool then closes it and takes another. */
  readonly isSpent: (client: pg.PoolClient) => boolean;
};

/** The interface of a pool for kysely. Statements without parameters, which begin and end transactions, are not prepared. */
export function preparing(pool: pg.Pool, { names, limitMs, isSpent }: PreparingOptions): PostgresPool {
  const clients = new WeakMap<pg.PoolClient, PostgresPoolClient>();

  const wrap = (client: pg.PoolClient): PostgresPoolClient => {
    /** The statement that was given up; the rollback after it would wait behind it. */
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
      // The same one again: kysely knows a connection by its client.
      const known = clients.get(client) ?? wrap(client);
      clients.set(client, known);
      return known;
    },
    // Others share the pool. Its creator ends it.
    end: () => Promise.resolve(),
  };
}
