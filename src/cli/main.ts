// The `meridian` command: its entry point. Every failure prints a message on standard error and sets an exit code.
import { CommanderError } from 'commander';
import { MeridianError, messageOf } from '../base/errors.ts';
import { completeWords } from './commands/completion.ts';
import { EXIT, exitCodeOf } from './exit-codes.ts';
import { note, print } from './output.ts';
import { problemText } from './views/problem-text.ts';
import { createProgram } from './program.ts';

// The reader of the output may close the pipe early: `meridian get … | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.done);
  throw error;
});

const program = createProgram();
const [word, ...words] = process.argv.slice(2);
if (word === '__complete') print(completeWords(program, words).join('\n'));
else {
  try {
    await program.parseAsync();
  } catch (error) {
    process.exitCode = fail(error);
  }
}

function fail(error: unknown): number {
  // Commander has already printed its message.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  const violations = error instanceof MeridianError && error.code !== 'config' ? error.violations : [];
  const lines = [`meridian: ${messageOf(error)}`, ...violations.map(({ field, reason }) => problemText(field, '', reason))];
  note(lines.join('\n'));
  return exitCodeOf(error);
}
