// `meridian help inspect dataplane`: prints the same as `meridian inspect dataplane --help`.
import type { Command } from 'commander';
import { UsageError } from '../exit-codes.ts';

const HELP = `
Examples:
  meridian help apply
  meridian help inspect dataplane`;

export function addHelpCommand(program: Command): void {
  program.helpCommand(false);
  program
    .command('help')
    .description('the help of a command')
    .argument('[command...]', 'its words')
    .addHelpText('after', HELP)
    .action((words: readonly string[]) => commandOf(program, words).outputHelp());
}

/** @throws UsageError that lists the commands, for words that are not a command */
function commandOf(program: Command, words: readonly string[]): Command {
  let found = program;
  for (const [index, word] of words.entries()) {
    const next = found.commands.find((command) => command.name() === word || command.aliases().includes(word));
    if (next === undefined) {
      const names = found.commands.map((command) => command.name());
      const given = words.slice(0, index + 1).join(' ');
      const known =
        names.length === 0 ? `${words.slice(0, index).join(' ')} has none of its own` : `there are ${names.join(', ')}`;
      throw new UsageError(`there is no command ${JSON.stringify(given)}; ${known}`);
    }
    found = next;
  }
  return found;
}
