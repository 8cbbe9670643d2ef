// Logging: one pino root a process, one child per zone and stream. `error` means that a human must act.
// Invariants: a line has only the fields of an error that identify it, because details that a database adds may contain the caller's secrets; no
// line has a private key.
import { pino, type DestinationStream, type Logger } from 'pino';
import { messageOf } from './errors.ts';
import { withoutKeys } from './hidden-keys.ts';
import { groupLines } from './grouped-lines.ts';
import { visibleText } from './visible-text.ts';

export type { Logger };

/** The limit of the lines that wait while standard error is blocked, as on a full disk, in bytes. Further lines are lost. */
const MAX_WAITING = 4 * 1024 * 1024;

export type LogLevel = 'silent' | 'error' | 'warn' | 'info' | 'debug';

/** JSON lines on standard error: standard output is for the results of commands. */
export function createLogger(
  level: LogLevel,
  fields: Record<string, string> = {},
  destination: DestinationStream = standardError(),
): Logger {
  const options = { level, base: fields, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err: describeError } };
  return pino(options, { write: (line) => void destination.write(withoutKeys(line)) });
}

/** A process that cannot log must still serve. */
function standardError(): DestinationStream {
  const stream = pino.destination({ fd: 2, sync: true, maxLength: MAX_WAITING });
  stream.on('error', () => undefined);
  // A terminal may show the log, and messages repeat text of peers.
  return groupLines({ write: (lines) => stream.write(visibleText(lines)) });
}

/** Errors of databases carry statements, parameters and rows as fields of their own: these stay out. */
function describeError(error: unknown): Record<string, string> {
  if (!(error instanceof Error)) return { type: typeof error, message: messageOf(error) };
  const { code } = error as { code?: unknown };
  return {
    type: error.constructor.name,
    message: error.message,
    ...(typeof code === 'string' && { code }),
    ...(error.stack !== undefined && { stack: error.stack }),
  };
}
