// SQL expressions for the snapshot of a statement. Equal values mean that an earlier read is still true.
import { sql } from 'kysely';

/**
 * Identifies the run of the server. After a crash a server may reuse the ids of lost transactions, and a promoted standby has ids
 * of its own. Each recovery ends with a checkpoint, so the redo position differs.
 */
export const serverRun = sql`(select pg_postmaster_start_time()::text || ' ' || redo_lsn::text from pg_control_checkpoint())`;

/** The transactions that the statement sees. Null on a standby: the end of a transaction may show there before its changes. */
export const currentSnapshot = sql`case when pg_is_in_recovery() then null else pg_current_snapshot()::text || ' ' || ${serverRun} end`;
