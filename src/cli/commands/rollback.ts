// `meridian rollback TYPE NAME --to VERSION`: writes an earlier version of a resource again.
import type { Command } from 'commander';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { requireType } from '../client/find.ts';
import { findVersioned } from '../client/find-versioned.ts';
import { addWaitOptions, rolloutsOf, waitOf, WAIT_HELP, type WaitOptions } from '../client/follow-rollouts.ts';
import { linesBetween } from '../documents/show-difference.ts';
import { exitCodeOfRollouts } from '../exit-codes.ts';
import { addMeshOption, addNamespaceOption, versionOf, type MeshOptions, type NamespaceOptions } from '../options.ts';
import { note, print, printPainted } from '../output.ts';
import { editable } from '../../document/universal-form.ts';
import { describeDocument } from '../views/problem-text.ts';
import { rolloutsText } from '../views/rollout-text.ts';

const HELP = `
The version is checked as any other write, and stored as a new version. It can
bring back a deleted resource. \`meridian history\` lists the versions.
${WAIT_HELP}

Examples:
  meridian rollback meshtimeout slow --mesh shop --to 3 --dry-run
  meridian rollback meshtimeout slow --mesh shop --to 3 --wait`;

type Options = ConnectOptions & MeshOptions & NamespaceOptions & WaitOptions & { readonly to: string; readonly dryRun?: boolean };

export function addRollbackCommand(program: Command): void {
  const command = program
    .command('rollback')
    .description('write an earlier version of a resource again')
    .argument('<type>', 'type, plural or short name: MeshTimeout, meshtimeouts, mt')
    .argument('<name>', 'display name or stored name')
    .requiredOption('--to <version>', 'the version, as `meridian history` names it', versionOf)
    .option('--dry-run', 'show what would change, and change nothing');
  addConnectOptions(addWaitOptions(addNamespaceOption(addMeshOption(command))))
    .addHelpText('after', HELP)
    .action(rollBack);
}

async function rollBack(type: string, name: string, options: Options): Promise<void> {
  const { mesh, namespace, to, dryRun = false, ...connection } = options;
  const waitMs = waitOf(connection);
  const client = await connect(connection);
  const info = requireType(type);
  const target = await findVersioned(client, info, { mesh, namespace, name, command: 'rollback' });
  const stored = dryRun ? await client.get(info, target.mesh, target.name) : undefined;
  const { result, warnings = [], resource } = await client.rollBack(info, target.mesh, target.name, Number(to), { dryRun });
  for (const warning of warnings) note(`warning: ${warning}`);
  const what = describeDocument(target);
  if (result === 'unchanged') print(`${what} is as in version ${to}`);
  else print(`${what} ${dryRun ? 'would be' : 'is'} rolled back to version ${to}`);
  if (dryRun && result !== 'unchanged' && resource !== undefined) {
    const before = stored === undefined ? null : editable(stored);
    for (const line of await linesBetween(before, editable(resource))) printPainted(`  ${line}`);
  }
  if (dryRun || result === 'unchanged') return;
  const rollouts = await rolloutsOf(client, [target], waitMs);
  if (rollouts !== null) print(rolloutsText(rollouts));
  process.exitCode = exitCodeOfRollouts(rollouts ?? []);
}
