// The end of the history up to which it is complete. The id of a version is given before its transaction commits, so a version with a
// smaller id may become visible later, and a reader who continues after the last id would never see it.
import { sql, type Kysely } from 'kysely';
import type { Clock } from '../base/clock.ts';
import { MeridianError } from '../base/errors.ts';
import type { Tables } from './database.ts';

/** The milliseconds that open transactions may take; less than the limit of an answer. */
const LIMIT_MS = 5_000;
const PAUSE_MS = 20;

type Writer = { readonly id: string; readonly pid: number | null };

/** A transaction that has inserted a version holds this lock to its end, from a moment before it took an id. Everyone may read pg_locks. */
const writers = sql`from pg_locks where locktype = 'relation' and relation = 'meridian_history'::regclass and mode = 'RowExclusiveLock'
  and database = (select oid from pg_database where datname = current_database())`;

/**
 * The largest id of a version, once each transaction with a smaller one has ended.
 * @throws MeridianError `conflict` with the process ids of the transactions that stay open
 */
export async function settledVersion(db: Kysely<Tables>, clock: Clock, limitMs = LIMIT_MS): Promise<number> {
  // The locks are read after the snapshot was taken: a transaction that has none by then is visible to later statements.
  const { rows } = await sql<{ last: string; open: readonly Writer[] }>`
    select coalesce((select max(id) from meridian_history), 0)::text as last,
      coalesce((select jsonb_agg(jsonb_build_object('id', virtualtransaction, 'pid', pid)) ${writers}), '[]') as open`.execute(
    db,
  );
  const [{ last, open: first } = { last: '0', open: [] }] = rows;
  for (let open = first, began = clock.elapsed(); open.length > 0; open = await stillOpen(db, open)) {
    if (clock.elapsed() - began >= limitMs) throw staysOpen(open);
    await clock.sleep(PAUSE_MS);
  }
  return Number(last);
}

async function stillOpen(db: Kysely<Tables>, open: readonly Writer[]): Promise<readonly Writer[]> {
  const ids = open.map(({ id }) => id);
  const { rows } = await sql<Writer>`select virtualtransaction as id, pid ${writers}
    and virtualtransaction = any(${ids}::text[])`.execute(db);
  return rows;
}

function staysOpen(open: readonly Writer[]): MeridianError {
  const pids = [...new Set(open.map(({ pid }) => String(pid)))].join(', ');
  return new MeridianError(
    'conflict',
    `a transaction that has written resources is still open (pid ${pids} in pg_stat_activity), and its versions come before later ones; end it, or ask again later`,
  );
}
