// What a statement can say of the moment that it sees, so that what was read then is known to be still true.
import { sql } from 'kysely';

/**
 * Which run of which server answers. One that crashed may give numbers of transactions that it lost to others, and one that takes
 * over counts its own; each recovery ends with a checkpoint.
 */
export const serverRun = sql`(select pg_postmaster_start_time()::text || ' ' || redo_lsn::text from pg_control_checkpoint())`;

/** Which transactions the statement sees. Null on a standby: that one is over may show there before what it did. */
export const currentSnapshot = sql`case when pg_is_in_recovery() then null else pg_current_snapshot()::text || ' ' || ${serverRun} end`;
