// The reaction of a command when its output can no longer be written: the reader has closed the pipe, as in `meridian get … |
// head`, the terminal is gone, or the disk is full. Invariant: a command that may change something runs to its end, and its exit
// code is that of its work.
import { EXIT } from './exit-codes.ts';
import { note } from './output.ts';

/** Commands that only read, some of them without an end. Every other command finishes its work. */
const READERS: ReadonlySet<string | undefined> = new Set([
  ...['get', 'describe', 'export', 'history', 'explain', 'explain-sync', 'inspect', 'events'],
  ...['help', 'version', 'completion', '__complete'],
]);

/** The error codes of a write after the reader has closed the pipe. */
const CLOSED: ReadonlySet<string | undefined> = new Set(['EPIPE', 'ERR_STREAM_DESTROYED']);

/** Handles failed writes of this process. @param command the first word after `meridian` */
export function surviveBrokenOutput(command: string | undefined): void {
  // Nothing can be reported.
  process.stderr.on('error', () => undefined);
  let hasFailed = false;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    const isClosed = CLOSED.has(error.code);
    if (!isClosed && !hasFailed) note(`meridian: cannot write the output: ${error.message}`);
    hasFailed ||= !isClosed;
    if (READERS.has(command)) process.exit(isClosed ? EXIT.done : EXIT.failed);
  });
  process.on('exit', () => {
    if (hasFailed && (process.exitCode ?? EXIT.done) === EXIT.done) process.exitCode = EXIT.failed;
  });
}
