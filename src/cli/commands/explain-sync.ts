// `meridian explain-sync TYPE NAME`: for each zone whether a resource goes there, under which name, and the rule that decided.
import type { Command } from 'commander';
import type { Answer } from '../../answers/answers.ts';
import { itemPath } from '../client/api-client.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { findOne, requireType } from '../client/find.ts';
import { addLookupOptions, type LookupOptions } from '../options.ts';
import { isForPrograms, print, serialize } from '../output.ts';
import { describeSync } from '../views/sync-text.ts';

const HELP = `
A global answers for every zone. A zone answers whether it sends the resource,
and what global does with it.

Examples:
  meridian explain-sync meshtimeout slow --mesh shop
  meridian explain-sync mesh shop`;

type Options = ConnectOptions & LookupOptions;

export function addExplainSync(program: Command): void {
  const command = program
    .command('explain-sync')
    .description('the zones that get a resource, and the reason')
    .argument('<type>', 'type, plural or short name: MeshTimeout, meshtimeouts, mt')
    .argument('<name>', 'display name or stored name');
  addConnectOptions(addLookupOptions(command)).addHelpText('after', HELP).action(explainSync);
}

async function explainSync(typeName: string, name: string, { mesh, namespace, output, ...connection }: Options): Promise<void> {
  const info = requireType(typeName);
  const client = await connect(connection);
  const found = await findOne(client, info, mesh, name, { command: `explain-sync ${info.name}`, namespace });
  const sync = (await client.read(`${itemPath(info, mesh, found.name)}/_sync`)) as Answer<'SyncExplanation'>;
  print(isForPrograms(output) ? serialize(sync, output) : describeSync(sync));
}
