// `meridian describe TYPE NAME`: all about one resource, for people: its content, the zones that have it, and its last versions.
import type { Command } from 'commander';
import { MeridianError } from '../../base/errors.ts';
import type { Item } from '../client/api-client.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { findOne, requireType, targetOf } from '../client/find.ts';
import { hidden } from '../documents/show-difference.ts';
import { UsageError } from '../exit-codes.ts';
import { addMeshOption, addNamespaceOption, type MeshOptions, type NamespaceOptions } from '../options.ts';
import { ageOf, print } from '../output.ts';
import { describeText } from '../views/describe-text.ts';

const HELP = `
The data of a secret is not shown. The form of the text can change: programs
read \`meridian get\`, \`meridian rollout status\` and \`meridian history\`, with
-o json.

Examples:
  meridian describe meshtimeout slow --mesh shop
  meridian describe mt/slow --mesh shop
  meridian describe zone east`;

type Options = ConnectOptions & MeshOptions & NamespaceOptions;

export function addDescribeCommand(program: Command): void {
  const command = program
    .command('describe')
    .description('all about a resource: its content, the zones that have it, its last versions')
    .argument('<type>', 'type, plural or short name: MeshTimeout, meshtimeouts, mt; or TYPE/NAME')
    .argument('[name]', 'display name or stored name');
  addConnectOptions(addNamespaceOption(addMeshOption(command)))
    .addHelpText('after', HELP)
    .action(describe);
}

async function describe(
  typeText: string,
  nameText: string | undefined,
  { mesh, namespace, ...connection }: Options,
): Promise<void> {
  const { type, name } = targetOf(typeText, nameText);
  if (name === undefined) throw new UsageError('give a type and a name; `meridian get` lists the names');
  const info = requireType(type);
  const client = await connect(connection);
  const found = await findOne(client, info, mesh, name, { command: `describe ${info.name}`, namespace });
  const item = info.adminOnly ? (hidden(found, '(hidden)') as Item) : found;
  const inMesh = found.mesh ?? '';
  const [rollout, history] = await Promise.all([
    orNull(client.rollout(info, inMesh, found.name, 0)),
    orNull(client.history(info, inMesh, found.name)),
  ]);
  print(describeText({ info, item, rollout, history }, (time) => ageOf(time)));
}

/** Returns null for what this control plane does not have, or does not show to this user. @throws MeridianError `unavailable` */
async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  return await answer.catch((error: unknown) => {
    if (error instanceof MeridianError && error.code !== 'unavailable') return null;
    throw error;
  });
}
