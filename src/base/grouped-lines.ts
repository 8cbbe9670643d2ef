// Writes the log lines of one turn of the event loop together: a system call costs as much as making a line. Invariant: lines are
// written before any later event, such as the answer to their request.
import type { DestinationStream } from 'pino';

/** The limit of buffered characters; more are written at once. */
const MAX_WAITING = 64 * 1024;

/** @param destination writes synchronously; remaining lines are written when the process exits */
export function groupLines(destination: DestinationStream): DestinationStream {
  let lines = '';
  let isFirst = true;
  let isExiting = false;
  const flush = (): void => {
    const written = lines;
    lines = '';
    if (written !== '') destination.write(written);
  };
  const flushAtExit = (): void => {
    isExiting = true;
    flush();
  };
  return {
    write(line) {
      if (isFirst) process.once('exit', flushAtExit);
      isFirst = false;
      if (lines === '' && !isExiting) queueMicrotask(flush);
      lines += line;
      if (isExiting || lines.length > MAX_WAITING) flush();
    },
  };
}
