// An SQL connection for tests that read tables. It reconnects after a failure of the database.
import pg from 'pg';

export class Psql {
  readonly #config: pg.ClientConfig;
  #client: Promise<pg.Client> | null = null;
  /** One query at a time: settles when the last one is answered. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(config: pg.ClientConfig) {
    this.#config = config;
  }

  async connect(): Promise<void> {
    await this.#connected();
  }

  async query<Row extends pg.QueryResultRow = pg.QueryResultRow>(text: string, values?: unknown[]): Promise<pg.QueryResult<Row>> {
    const answer = this.#last.then(async () => await (await this.#connected()).query<Row>(text, values));
    this.#last = answer.catch(() => undefined);
    return await answer;
  }

  async end(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    await (await client?.catch(() => null))?.end().catch(() => undefined);
  }

  #connected(): Promise<pg.Client> {
    if (this.#client !== null) return this.#client;
    const client = new pg.Client(this.#config);
    const connecting = client.connect().then(() => client);
    const forget = (): void => {
      if (this.#client === connecting) this.#client = null;
    };
    client.on('error', forget).on('end', forget);
    connecting.catch(forget);
    this.#client = connecting;
    return connecting;
  }
}

/** How many connections to the database wait for a lock. Other databases of the server have waiting connections too. */
export async function waitingForLocks(psql: Pick<pg.Client, 'query'>): Promise<number> {
  const { rowCount } = await psql.query(
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rowCount ?? 0;
}
