import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { createProgram } from './program.ts';

function all(command: Command): Command[] {
  return [command, ...command.commands.flatMap(all)];
}

/** What `--help` prints, with the examples below it. */
function helpOf(command: Command): string {
  let printed = '';
  command.configureOutput({ writeOut: (text) => void (printed += text), getOutHelpWidth: () => 80 });
  command.outputHelp();
  return printed;
}

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

const commands = all(createProgram()).filter((command) => command.name() !== 'help');

describe('help', () => {
  it.each(commands.map((command) => [pathOf(command), command] as const))('of %s fits 80 columns', (_path, command) => {
    expect(command.description()).not.toBe('');
    for (const line of helpOf(command).split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
  });

  it.each(commands.filter((command) => command.commands.length === 0).map((command) => [pathOf(command), command] as const))(
    'of %s has examples, which call it',
    (path, command) => {
      const [, examples = ''] = helpOf(command).split('\nExamples:\n');
      expect(examples).toContain(path);
    },
  );
});
