// Logs the warnings of Node. Node itself prints plain text, which a reader of JSON lines cannot parse.
import type { Logger } from './log.ts';

/**
 * Logs the warnings of this process from now on. Deprecated calls, such as those of a library, are for developers: `debug`.
 * @returns a function that ends it
 */
export function logWarnings(log: Logger): () => void {
  const write = (warning: Error & { readonly code?: string }): void => {
    const about = { warning: warning.name, ...(warning.code !== undefined && { code: warning.code }) };
    if (warning.name === 'DeprecationWarning') log.debug(about, warning.message);
    else log.warn(about, warning.message);
  };
  // Node's own listeners print the warnings.
  const before = process.listeners('warning');
  process.removeAllListeners('warning');
  process.on('warning', write);
  return () => {
    process.off('warning', write);
    for (const listener of before) process.on('warning', listener);
  };
}
