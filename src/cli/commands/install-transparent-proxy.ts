// `meridian install transparent-proxy` and `meridian uninstall transparent-proxy`: the rules that redirect connections to a proxy.
import type { Command } from 'commander';
import type { Script } from '../../redirect/redirection.ts';
import { note, print } from '../output.ts';
import { addRedirectOptions, redirectSettings, type RedirectOptions } from '../documents/redirect-options.ts';

const INSTALL_HELP = `
It redirects the TCP connections of this machine, or of the network namespace
or container of this process, to its proxy; UDP stays, but for DNS. Connections
of the user of the proxy are its own, and go straight. \`meridian dataplane run
--transparent-proxy\` runs the proxy as this user, by the same settings.

It replaces rules of an earlier call and those of kumactl, and leaves all
others. A second call with the same settings changes nothing. It needs root, or
the capability NET_ADMIN. Rules go with a restart of the machine.

Examples:
  meridian install transparent-proxy --user meridian --redirect-dns
  meridian install transparent-proxy --exclude-inbound-ports 22 --dry-run
  meridian install transparent-proxy --transparent-proxy-config redirect.yaml`;

const UNINSTALL_HELP = `
It removes the rules of \`meridian install transparent-proxy\` and of kumactl, and
leaves all others.

Examples:
  meridian uninstall transparent-proxy`;

export function addInstallTransparentProxy(install: Command): void {
  const command = install.command('transparent-proxy').description('redirect the connections of this machine to its proxy');
  addRedirectOptions(command)
    .option('--dry-run', 'print the rules, and change nothing')
    .addHelpText('after', INSTALL_HELP)
    .action(installHere);
}

export function addUninstallTransparentProxy(uninstall: Command): void {
  uninstall
    .command('transparent-proxy')
    .description('redirect no connection of this machine any more')
    .addHelpText('after', UNINSTALL_HELP)
    .action(uninstallHere);
}

async function installHere(options: RedirectOptions & { readonly dryRun?: boolean }, command: Command): Promise<void> {
  const settings = await redirectSettings(options, command);
  const { installRedirection, plannedScripts } = await import('../../redirect/redirection.ts');
  if (options.dryRun === true) {
    const scripts = await plannedScripts(settings, options.firewall);
    if (scripts.length === 0) note('there is nothing to change');
    for (const script of scripts) print(scriptText(script));
    return;
  }
  const firewall = await installRedirection(settings, options.firewall);
  note(`connections are redirected by ${firewall}`);
}

function scriptText({ family, command, text }: Script): string {
  return `# IPv${String(family)}: ${command.join(' ')}\n${text.trimEnd()}\n`;
}

async function uninstallHere(): Promise<void> {
  const { removeRedirection } = await import('../../redirect/redirection.ts');
  const had = await removeRedirection();
  note(had.length === 0 ? 'nothing was redirected' : `the rules of ${had.join(' and ')} are removed`);
}
