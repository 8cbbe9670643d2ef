// A pool whose connections prepare their statements: the same few texts run all the time, and to parse and plan one costs the
// server about as much as to run it. Invariant: one text has one name in this process, and names are bounded.
import type { PostgresPool, PostgresPoolClient } from 'kysely';
import type pg from 'pg';

/** Texts that are prepared, in order of their first use; later ones are planned each time. */
const MOST_STATEMENTS = 500;

/**
 * What kysely needs of a pool. Statements without parameters, which begin and end transactions, are not prepared.
 * @param isSpent whether a connection is of no more use; it is closed then, and another taken
 */
export function preparing(pool: pg.Pool, isSpent: (client: pg.PoolClient) => boolean): PostgresPool {
  const names = new Map<string, string>();
  const clients = new WeakMap<pg.PoolClient, PostgresPoolClient>();

  const nameOf = (text: string): string | undefined => {
    const known = names.get(text);
    if (known !== undefined || names.size >= MOST_STATEMENTS) return known;
    const name = `meridian_${String(names.size + 1)}`;
    names.set(text, name);
    return name;
  };

  const wrap = (client: pg.PoolClient): PostgresPoolClient => {
    const query = async (text: string, values: readonly unknown[]): Promise<pg.QueryResult> => {
      const name = values.length === 0 ? undefined : nameOf(text);
      return await client.query({ text, values: [...values], ...(name !== undefined && { name }) });
    };
    // Of the two ways to call it kysely takes the other for cursors, of which it was given none.
    return { query: query as unknown as PostgresPoolClient['query'], release: (destroy) => client.release(destroy) };
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
    end: () => pool.end(),
  };
}
