// `meridian inspect transparent-proxy`: what redirects the connections of this machine, and whether that fits the settings.
import type { Command } from 'commander';
import { MeridianError } from '../../base/errors.ts';
import type { FamilyState } from '../../redirect/redirection.ts';
import { addOutputOption, type OutputOptions } from '../options.ts';
import { isForPrograms, print, serialize } from '../output.ts';
import { addRedirectOptions, redirectSettings, type RedirectOptions } from '../documents/redirect-options.ts';

const HELP = `
It compares the rules of this machine, or of the network namespace of this
process, with the settings. Lines with - are missing, lines with + are not of
the settings, such as those of kumactl. Exit code 1 if they differ.

Examples:
  meridian inspect transparent-proxy
  meridian inspect transparent-proxy --transparent-proxy-config redirect.yaml`;

export function addInspectTransparentProxy(inspect: Command): void {
  const command = inspect.command('transparent-proxy').description('what redirects the connections of this machine');
  addOutputOption(addRedirectOptions(command), ['table', 'json', 'yaml']).addHelpText('after', HELP).action(inspectHere);
}

async function inspectHere(options: RedirectOptions & OutputOptions, command: Command): Promise<void> {
  const settings = await redirectSettings(options, command);
  const { redirectionState } = await import('../../redirect/redirection.ts');
  const states = await redirectionState(settings);
  if (isForPrograms(options.output)) print(serialize({ items: states }, options.output));
  else print(states.flatMap(stateLines).join('\n'));
  if (states.some(({ missing, unexpected }) => missing.length + unexpected.length > 0))
    throw new MeridianError('config', 'the rules differ from the settings; `meridian install transparent-proxy` installs them');
}

function stateLines({ family, firewalls, missing, unexpected }: FamilyState): string[] {
  const name = `IPv${String(family)}`;
  const fits = missing.length + unexpected.length === 0;
  const installed = firewalls.length === 0 ? 'nothing is redirected' : `redirected by ${firewalls.join(' and ')}`;
  return [
    `${name}: ${installed}${fits ? ', as the settings say' : ''}`,
    ...missing.map((line) => `  - ${line}`),
    ...unexpected.map((line) => `  + ${line}`),
  ];
}
