// The `meridian` command: its entry point.
import { EXIT } from './exit-codes.ts';
import { runCommand } from './run-command.ts';

// The reader of the output may close the pipe early: `meridian get … | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.done);
  throw error;
});

const code = await runCommand(process.argv.slice(2));
if (code !== undefined) process.exitCode = code;
