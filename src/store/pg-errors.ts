// The transient failures of a database. They become `unavailable`, and the caller may retry.
import { messageOf } from '../base/errors.ts';

/** invalid_password, invalid_authorization_specification (no such role, or no login), invalid_catalog_name (no such database). */
const LOGIN_REFUSED = ['28P01', '28000', '3D000'];

/** Codes of the socket, and SQLSTATEs (PostgreSQL documentation, appendix A). */
const NO_ANSWER = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'ETIMEDOUT', 'EPIPE', 'EHOSTUNREACH', 'ENETUNREACH', 'EAI_AGAIN'],
  // connection_failure and its kin
  ...['08000', '08001', '08003', '08004', '08006'],
  // admin_shutdown, crash_shutdown, cannot_connect_now, database_dropped
  ...['57P01', '57P02', '57P03', '57P04'],
  // object_not_in_prerequisite_state: a database that accepts no connections
  '55000',
  // insufficient_resources, out_of_memory, too_many_connections, configuration_limit_exceeded
  ...['53000', '53200', '53300', '53400'],
  ...LOGIN_REFUSED,
]);

/** Failures of an attempt to connect. */
const NO_CONNECTION = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH', 'EAI_AGAIN'],
  ...['08001', '08004', '53300', '55000', '57P03'],
  ...LOGIN_REFUSED,
]);

/** read_only_sql_transaction: the database is a standby or read-only. Reads still work. */
const READ_ONLY = '25006';
/** READ_ONLY, disk_full, and program_limit_exceeded (the NOTIFY queue is full, and every write notifies). */
const NO_WRITES = new Set([READ_ONLY, '53100', '54000']);

/** Errors of the driver have no code. These are parts of their texts: lib/client.js of pg, and index.js of pg-pool. */
export const driverText = {
  terminated: 'Connection terminated',
  unusable: 'not queryable',
  overdue: 'Query read timeout',
  noConnection: 'timeout exceeded when trying to connect',
} as const;

/**
 * Whether the database is unreachable, refuses connections, or has no plan for this session: the next attempt gets another
 * session.
 */
export function isNoAnswer(error: unknown): boolean {
  return (
    NO_ANSWER.has(codeOf(error)) ||
    Object.values(driverText).some((text) => messageOf(error).includes(text)) ||
    isStalePlan(error)
  );
}

/** Whether the server answers and refuses the role, its password or the name of the database. A person must correct it. */
export function isLoginRefused(error: unknown): boolean {
  return LOGIN_REFUSED.includes(codeOf(error));
}

/** Whether a statement timed out. Its connection still waits for the answer. */
export function isAnswerOverdue(error: unknown): boolean {
  return messageOf(error) === driverText.overdue;
}

/** Whether the statement was never sent, because no connection was free. */
export function isNeverSent(error: unknown): boolean {
  return NO_CONNECTION.has(codeOf(error)) || messageOf(error).includes(driverText.noConnection);
}

/** Whether the database answers, but cannot store anything. */
export function takesNoWrites(error: unknown): boolean {
  return NO_WRITES.has(codeOf(error));
}

/**
 * Whether the session is unusable, and a new one works: the session stays read-only, or its prepared statements no longer fit the
 * table.
 */
export function isSessionSpent(error: unknown): boolean {
  return codeOf(error) === READ_ONLY || isStalePlan(error);
}

/**
 * Whether the table has changed since the session planned a statement or a trigger (datatype_mismatch), or the prepared
 * statements were discarded (invalid_sql_statement_name). The language of the server decides the text of an error, but not its
 * origin.
 */
export function isStalePlan(error: unknown): boolean {
  const code = codeOf(error);
  return code === '26000' || code === '42804' || (code === '0A000' && originOf(error) === 'RevalidateCachedQuery');
}

export function isUnavailable(error: unknown): boolean {
  return isNoAnswer(error) || takesNoWrites(error);
}

/** deadlock_detected, serialization_failure, and foreign_key_violation (an owner was deleted during the write). */
const SERIALIZATION_FAILURES = new Set(['40P01', '40001', '23503']);

/** Whether another transaction was faster. Nothing was stored; a retry sees its result. */
export function isSerializationFailure(error: unknown): boolean {
  return SERIALIZATION_FAILURES.has(codeOf(error));
}

/** Whether an open transaction locks a row of the write (lock_not_available). */
export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === '55P03';
}

/** The function of the server that raised the error. */
function originOf(error: unknown): unknown {
  return ((error ?? {}) as { routine?: unknown }).routine;
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}
