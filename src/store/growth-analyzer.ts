// Analyzes the table when it has grown, so that PostgreSQL plans again. After five runs a session keeps a generic plan of a prepared
// statement. In a new database that plan reads the whole table, and stays until the table is analyzed; autovacuum does so only after a
// minute. With 20,000 rows each read took 20 ms until then (decision 86).
import { sql } from 'kysely';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Database } from './database.ts';

/** A table is analyzed after this many new rows, and after this part of its earlier rows. */
const MIN_ROWS = 500;
const MIN_GROWTH = 0.5;

export class GrowthAnalyzer {
  readonly #database: Pick<Database, 'kind' | 'bulk'>;
  readonly #log: Pick<Logger, 'debug'>;
  #created = 0;
  #due = MIN_ROWS;
  #isRunning = false;

  constructor(database: Pick<Database, 'kind' | 'bulk'>, log: Pick<Logger, 'debug'>) {
    this.#database = database;
    this.#log = log;
  }

  /** Counts rows that this process has created. It never waits and never throws. */
  created(rows: number): void {
    // The embedded database plans each statement for its parameters.
    if (this.#database.kind !== 'postgres') return;
    this.#created += rows;
    if (this.#created < this.#due || this.#isRunning) return;
    this.#created = 0;
    this.#isRunning = true;
    void this.#analyze().finally(() => (this.#isRunning = false));
  }

  async #analyze(): Promise<void> {
    const { bulk } = this.#database;
    try {
      // The function runs as the owner of the table, unless another replica is analyzing it (migrations/0011_analyze.sql).
      await sql`select meridian_analyze()`.execute(bulk);
      const { rows } = await sql<{
        rows: number;
      }>`select reltuples as rows from pg_class where oid = 'resources'::regclass`.execute(bulk);
      this.#due = Math.max(MIN_ROWS, (rows[0]?.rows ?? 0) * MIN_GROWTH);
    } catch (error) {
      this.#log.debug({ reason: messageOf(error) }, 'the grown table could not be analyzed');
    }
  }
}
