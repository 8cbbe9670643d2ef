// The `meridian` command: its entry point.
import { EXIT } from './exit-codes.ts';
import { note } from './output.ts';
import { runCommand } from './run-command.ts';

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader of the output may close the pipe early: `meridian get … | head`.
  if (error.code === 'EPIPE') process.exit(EXIT.done);
  note(`meridian: cannot write the output: ${error.message}`);
  process.exit(EXIT.failed);
});

const code = await runCommand(process.argv.slice(2));
if (code !== undefined) process.exitCode = code;
