// Which failures of a database are its own and pass by themselves: they become `unavailable`, and the caller may try again.
import { messageOf } from '../base/errors.ts';

/** Codes of the socket, and SQLSTATEs (PostgreSQL documentation, appendix A). */
const NO_ANSWER = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'ETIMEDOUT', 'EPIPE', 'EHOSTUNREACH', 'ENETUNREACH', 'EAI_AGAIN'],
  // connection_failure and its kin
  ...['08000', '08001', '08003', '08004', '08006'],
  // admin_shutdown, crash_shutdown, cannot_connect_now, database_dropped
  ...['57P01', '57P02', '57P03', '57P04'],
  // object_not_in_prerequisite_state: a database that takes no connections
  '55000',
  // insufficient_resources, out_of_memory, too_many_connections, configuration_limit_exceeded
  ...['53000', '53200', '53300', '53400'],
]);

/** disk_full, and read_only_sql_transaction: this is a standby, or was made read-only. Reads work on. */
const NO_WRITES = new Set(['53100', '25006']);

const NO_ANSWER_TEXT =
  /connection terminated|connection ended|not queryable|(timeout exceeded when trying to connect)|(query read timeout)/i;

/** The database cannot be reached, or takes nobody in. */
export function isNoAnswer(error: unknown): boolean {
  return NO_ANSWER.has(codeOf(error)) || NO_ANSWER_TEXT.test(messageOf(error));
}

/** The database answers, and can store nothing. */
export function takesNoWrites(error: unknown): boolean {
  return NO_WRITES.has(codeOf(error));
}

export function isUnavailable(error: unknown): boolean {
  return isNoAnswer(error) || takesNoWrites(error);
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}
