// Logging: one pino root a process, one child per zone and stream. `error` means that a human must act.
import { pino, type Logger } from 'pino';

export type { Logger };

export type LogLevel = 'silent' | 'error' | 'warn' | 'info' | 'debug';

/** JSON lines on standard error, so that standard output stays for what a command answers. */
export function createLogger(level: LogLevel, fields: Record<string, string> = {}): Logger {
  return pino({ level, base: fields, timestamp: pino.stdTimeFunctions.isoTime }, pino.destination({ fd: 2, sync: true }));
}
