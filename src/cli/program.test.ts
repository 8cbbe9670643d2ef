import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { createProgram } from './program.ts';

function all(command: Command): Command[] {
  return [command, ...command.commands.flatMap(all)];
}

/** The output of `--help`, with the examples below it. */
function helpOf(command: Command): string {
  let printed = '';
  command.configureOutput({ writeOut: (text) => void (printed += text), getOutHelpWidth: () => 80 });
  command.outputHelp();
  return printed;
}

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

const isBuiltIn = (command: Command): boolean => command.name() === 'help' && command.parent?.parent !== null;
const commands = all(await createProgram()).filter((command) => !isBuiltIn(command));

describe('help', () => {
  it.each(commands.map((command) => [pathOf(command), command] as const))('of %s fits 80 columns', (_path, command) => {
    expect(command.description()).not.toBe('');
    for (const line of helpOf(command).split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
  });

  it.each(commands.filter((command) => command.parent !== null).map((command) => [pathOf(command), command] as const))(
    'of %s has examples that call the command',
    (path, command) => {
      const [, examples = ''] = helpOf(command).split('\nExamples:\n');
      expect(examples).toContain(path);
    },
  );
});

describe('the program of some words', () => {
  const named = commands.filter((command) => command.parent !== null);

  it.each(named.map((command) => [pathOf(command), command] as const))(
    'has %s as the whole program has it',
    async (path, command) => {
      const words = path.split(' ').slice(1);
      const found = all(await createProgram(words)).find((other) => pathOf(other) === path);
      expect(found === undefined ? '' : helpOf(found)).toBe(helpOf(command));
    },
  );

  it.each([
    ['zone run --name east', ['meridian', 'meridian zone', 'meridian zone run']],
    ['get meshes', ['meridian', 'meridian get']],
    ['takeover', ['meridian', 'meridian takeover', 'meridian takeover check', 'meridian takeover return']],
    ['--version', ['meridian']],
  ])('loads no other command: %s', async (words, expected) => {
    expect(
      all(await createProgram(words.split(' ')))
        .filter((command) => !isBuiltIn(command))
        .map(pathOf),
    ).toEqual(expected);
  });

  it.each(['--help', 'help', 'nonsense', '__complete get'])('has all commands, as none is named: %s', async (words) => {
    expect(all(await createProgram(words.split(' '))).map(pathOf)).toEqual(all(await createProgram()).map(pathOf));
  });
});

describe('the command help', () => {
  const run = async (...words: string[]): Promise<string> => {
    const program = await createProgram(['help', ...words]);
    let printed = '';
    for (const command of all(program)) command.configureOutput({ writeOut: (text) => void (printed += text) });
    await program.parseAsync(['help', ...words], { from: 'user' });
    return printed;
  };

  it('prints the same as --help of a command or subcommand', async () => {
    expect(await run()).toContain('First steps:');
    expect(await run('inspect')).toContain('Usage: meridian inspect ');
    expect(await run('inspect', 'dataplane')).toContain('Usage: meridian inspect dataplane ');
  });

  it('lists the existing commands after an unknown one', async () => {
    await expect(run('nosuch')).rejects.toThrow(/^there is no command "nosuch"; there are get, describe, apply/);
    await expect(run('inspect', 'nosuch')).rejects.toThrow(/^there is no command "inspect nosuch"; there are zones/);
    await expect(run('get', 'more')).rejects.toThrow('there is no command "get more"; get has none of its own');
  });
});
