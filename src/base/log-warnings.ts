// What Node warns of, as lines of the log: it prints plain text otherwise, which no reader of JSON lines takes.
import type { Logger } from './log.ts';

/**
 * Logs the warnings of this process from now on. Deprecated calls, such as those of a library, are for developers: `debug`.
 * @returns how to end that
 */
export function logWarnings(log: Logger): () => void {
  const write = (warning: Error & { readonly code?: string }): void => {
    const about = { warning: warning.name, ...(warning.code !== undefined && { code: warning.code }) };
    if (warning.name === 'DeprecationWarning') log.debug(about, warning.message);
    else log.warn(about, warning.message);
  };
  // The listener of Node itself prints.
  const before = process.listeners('warning');
  process.removeAllListeners('warning');
  process.on('warning', write);
  return () => {
    process.off('warning', write);
    for (const listener of before) process.on('warning', listener);
  };
}
