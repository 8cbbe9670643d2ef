// `meridian completion`: a script for a shell that asks this command for the possible next words.
import { Argument, type Command } from 'commander';
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
