// The `meridian` command: its entry point.
import { EXIT } from './exit-codes.ts';
import { note } from './output.ts';
import { runCommand } from './run-command.ts';

/** Commands that change one resource after the other, and the one that stops its processes. */
const WRITERS: ReadonlySet<string> = new Set(['apply', 'delete', 'edit', 'rollback', 'demo']);
/** Codes of a write after the reader has closed the pipe. */
const CLOSED: ReadonlySet<string | undefined> = new Set(['EPIPE', 'ERR_STREAM_DESTROYED']);

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader of the output may close the pipe early: `meridian get … | head`. These commands go on to their end.
  if (CLOSED.has(error.code) && WRITERS.has(process.argv[2] ?? '')) return;
  if (CLOSED.has(error.code)) process.exit(EXIT.done);
  note(`meridian: cannot write the output: ${error.message}`);
  process.exit(EXIT.failed);
});

const code = await runCommand(process.argv.slice(2));
if (code !== undefined) process.exitCode = code;
