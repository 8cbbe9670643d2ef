// One call of the `meridian` command. Every failure prints a message on standard error.
import { CommanderError, type Command } from 'commander';
import { MeridianError, messageOf } from '../base/errors.ts';
import { EXIT, exitCodeOf } from './exit-codes.ts';
import { note, print } from './output.ts';
import { createProgram } from './program.ts';
import { problemText } from './views/problem-text.ts';

/**
 * Runs a command with the streams, the environment and the folder of this process.
 * @param words the arguments after `meridian`
 * @returns the exit code of a failure; undefined when the command did not fail and has set `process.exitCode` itself, or left it
 */
export async function runCommand(words: readonly string[]): Promise<number | undefined> {
  const program = await createProgram(words);
  const [word, ...typed] = words;
  if (word === '__complete') {
    const { completeWords } = await import('./commands/completion.ts');
    print(completeWords(program, typed).join('\n'));
    return undefined;
  }
  forgetEmptyVariables(program);
  try {
    await program.parseAsync(words, { from: 'user' });
    return undefined;
  } catch (error) {
    return fail(error);
  }
}

/** An empty variable counts as unset, for the option that reads it. */
function forgetEmptyVariables(command: Command): void {
  for (const { envVar } of command.options)
    if (envVar !== undefined && process.env[envVar] === '') Reflect.deleteProperty(process.env, envVar);
  command.commands.forEach(forgetEmptyVariables);
}

function fail(error: unknown): number {
  // Commander has already printed its message.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  const violations = error instanceof MeridianError && error.code !== 'config' ? error.violations : [];
  const lines = [`meridian: ${messageOf(error)}`, ...violations.map(({ field, reason }) => problemText(field, '', reason))];
  note(lines.join('\n'));
  return exitCodeOf(error);
}
