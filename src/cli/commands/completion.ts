// `meridian completion`: a script for a shell, which calls `meridian __complete` for the possible next words.
import { Argument, type Command, type Option } from 'commander';
import { resourceTypes } from '../../resource/type-registry.ts';
import { print } from '../output.ts';

const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_meridian() {
  local IFS=$'\\n'
  COMPREPLY=($(meridian __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _meridian meridian`,
  zsh: `#compdef meridian
_meridian() {
  local -a found
  found=("\${(@f)$(meridian __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${found[1]}" ]]; then compadd -- "\${found[@]}"; else _files; fi
}
compdef _meridian meridian`,
  fish: `function __meridian_complete
  set -l words (commandline -opc) (commandline -ct)
  meridian __complete $words[2..-1] 2>/dev/null
end
complete -c meridian -f -a '(__meridian_complete)'
complete -c meridian -s f -l file -r -F`,
};

const HELP = `
Examples:
  source <(meridian completion bash)                    this shell
  meridian completion zsh > "\${fpath[1]}/_meridian"     every zsh
  meridian completion fish > ~/.config/fish/completions/meridian.fish`;

export function addCompletionCommand(program: Command): void {
  program
    .command('completion')
    .description('a script that lets your shell complete commands')
    .addArgument(new Argument('<shell>', 'which shell').choices(Object.keys(SCRIPTS)))
    .addHelpText('after', HELP)
    .action((shell: string) => print(SCRIPTS[shell] ?? ''));
}

/**
 * The words that may come next, from the tree of commands itself: subcommands, options, their choices, resource types.
 * @param words after `meridian`; the last is the current word, `''` for a new one
 */
export function completeWords(program: Command, words: readonly string[]): string[] {
  const typed = words.at(-1) ?? '';
  const { command, positionals, pending } = readWords(program, words.slice(0, -1));
  const candidates =
    pending !== undefined
      ? (pending.argChoices ?? [])
      : typed.startsWith('-')
        ? optionNames(command)
        : [...subcommandNames(command), ...argumentValues(command, positionals, typed)];
  return [...new Set(candidates)].filter((candidate) => candidate.startsWith(typed));
}

/** Parses the words: the command, the number of its arguments, and an option without its value yet. */
function readWords(
  program: Command,
  words: readonly string[],
): { command: Command; positionals: number; pending: Option | undefined } {
  let command = program;
  let positionals = 0;
  let pending: Option | undefined;
  for (const word of words) {
    if (pending !== undefined) pending = undefined;
    else if (word.startsWith('-')) {
      const option = command.options.find(({ long, short }) => long === word || short === word);
      pending = option?.required === true ? option : undefined;
    } else {
      const below = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
      if (below === undefined) positionals += 1;
      else [command, positionals] = [below, 0];
    }
  }
  return { command, positionals, pending };
}

function optionNames(command: Command): string[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ long }) => long ?? []);
}

function subcommandNames(command: Command): string[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .map((one) => one.name());
}

/** Plural names of types for an argument that is a type, also after the comma of `mt,mr`. */
function argumentValues(command: Command, positionals: number, typed: string): readonly string[] {
  const argument = command.registeredArguments[positionals];
  if (argument === undefined) return [];
  if (!/^type\b/.test(argument.name())) return argument.argChoices ?? [];
  const before = command.name() === 'get' ? typed.slice(0, typed.lastIndexOf(',') + 1) : '';
  return resourceTypes.flatMap(({ path }) => (path === '' ? [] : [before + path]));
}
