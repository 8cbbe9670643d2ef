// `meridian explain-sync TYPE NAME`: for each zone whether a resource goes there, under which name, and the rule that decided.
import { visibleLine } from '../../base/visible-text.ts';
import type { Command } from 'commander';
import { pathPart } from '../client/api-client.ts';
import { displayNameOf } from '../../resource/labels.ts';
import type { Labels } from '../../resource/types.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { findOne, requireType } from '../client/find.ts';
import { addMeshOption, addOutputOption, isForPrograms, type MeshOptions, type OutputOptions } from '../options.ts';
import { print, serialize, table } from '../output.ts';

const HELP = `
Ask a global for the view of every zone; a zone says what it sends up, and what
global does with it.

Examples:
  meridian explain-sync meshtimeout slow --mesh shop
  meridian explain-sync mesh shop`;

type Target = {
  readonly to: string;
  readonly isSent: boolean;
  readonly name: string | null;
  readonly reason: string;
  readonly needs?: string;
  readonly problem?: { readonly kind: string; readonly message: string };
};
/** The answer of `GET …/{name}/_sync`. */
export type Sync = {
  readonly resource: { readonly type: string; readonly name: string; readonly labels: Labels };
  readonly storedName: string;
  readonly from: string;
  readonly role?: { readonly label: string; readonly computed: string | null };
  readonly targets: readonly Target[];
};

type Options = ConnectOptions & MeshOptions & OutputOptions;

export function addExplainSync(program: Command): void {
  const command = program
    .command('explain-sync')
    .description('which zones a resource goes to, and why')
    .argument('<type>', 'type, plural or short name: MeshTimeout, meshtimeouts, mt')
    .argument('<name>', 'display name or stored name');
  addConnectOptions(addOutputOption(addMeshOption(command)))
    .addHelpText('after', HELP)
    .action(explainSync);
}

async function explainSync(typeName: string, name: string, { mesh, output, ...connection }: Options): Promise<void> {
  const info = requireType(typeName);
  const client = await connect(connection);
  const found = await findOne(client, info, mesh, name, { command: `explain-sync ${info.name}` });
  const prefix = info.scope === 'Mesh' ? `/meshes/${pathPart(mesh)}` : '';
  const sync = (await client.read(`${prefix}/${info.path}/${pathPart(found.name)}/_sync`)) as Sync;
  print(isForPrograms(output) ? serialize(sync, output) : describeSync(sync));
}

export function describeSync({ resource, storedName, from, role, targets }: Sync): string {
  const name = displayNameOf(resource);
  const stored = storedName === name ? '' : ` (stored as ${storedName})`;
  const lines = [`${resource.type} ${name}${stored}, as ${from === 'global' ? 'global' : `zone ${from}`} sees it`];
  if (role !== undefined) lines.push(roleText(role));
  if (targets.length === 0) return [...lines, '', 'no zone has joined yet'].join('\n');
  const rows = targets.map(({ to, isSent, name }) => [to, isSent ? 'yes' : 'no', name ?? '-']);
  lines.push('', table(['TO', 'SENT', 'NAME THERE'], rows), '');
  for (const { to, reason, needs, problem } of targets) {
    lines.push(visibleLine(`${to}: ${reason}`));
    if (needs !== undefined) lines.push(visibleLine(`  needs ${needs}`));
    if (problem !== undefined) lines.push(`  ${problem.kind}: ${problem.message.replaceAll('\n', '\n    ')}`);
  }
  return lines.join('\n');
}

function roleText({ label, computed }: NonNullable<Sync['role']>): string {
  if (label === computed) return `role ${label}`;
  return `role ${label} by its label, ${computed ?? 'none (its to[] mixes roles)'} by its spec`;
}
