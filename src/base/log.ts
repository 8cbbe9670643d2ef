// Logging: one pino root a process, one child per zone and stream. `error` means that a human must act.
// Invariant: of an error a line holds what names the fault; what a database adds may be the caller's secrets.
import { pino, type DestinationStream, type Logger } from 'pino';
import { messageOf } from './errors.ts';
import { groupLines } from './grouped-lines.ts';
import { visibleText } from './visible-text.ts';

export type { Logger };

/** Bytes of lines that wait where standard error takes none, as on a full disk; what comes then is lost. */
const MAX_WAITING = 4 * 1024 * 1024;

export type LogLevel = 'silent' | 'error' | 'warn' | 'info' | 'debug';

/** JSON lines on standard error, so that standard output stays for what a command answers. */
export function createLogger(
  level: LogLevel,
  fields: Record<string, string> = {},
  destination: DestinationStream = standardError(),
): Logger {
  const options = { level, base: fields, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err: describeError } };
  return pino(options, destination);
}

/** Whoever cannot log must still serve. */
function standardError(): DestinationStream {
  const stream = pino.destination({ fd: 2, sync: true, maxLength: MAX_WAITING });
  stream.on('error', () => undefined);
  // A terminal may show the log, and messages repeat what peers say.
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
