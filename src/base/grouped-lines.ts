// Lines of a log that are written without a pause between them go out in one write: a call to the kernel costs as much as to make
// a line. Invariant: they are out before anything that was not due already happens, as the answer to a request that a line tells of.
import type { DestinationStream } from 'pino';

/** Characters that wait for the pause; more go out at once. */
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
