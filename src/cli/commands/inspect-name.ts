// `meridian inspect name HOSTNAME --from DATAPLANE`: where a name leads that an application calls, part by part, with the broken part.
import type { Command } from 'commander';
import type { Answer } from '../../answers/answers.ts';
import { typeOf } from '../../resource/type-registry.ts';
import { itemPath, pathPart } from '../client/api-client.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { findOne } from '../client/find.ts';
import { addMeshOption, addNamespaceOption, addOutputOption, type LookupOptions } from '../options.ts';
import { isForPrograms, print, serialize } from '../output.ts';
import { describeNameWay } from '../views/name-way-text.ts';

const HELP = `
Names and addresses are those of a zone: ask the control plane of the zone of
the proxy.

Examples:
  meridian inspect name catalog.svc.mesh.local --from cart-1 --mesh shop
  meridian inspect name payments.extsvc.mesh.local --from cart-1 -o json`;

type Options = ConnectOptions & LookupOptions & { readonly from: string };

export function addInspectName(inspect: Command): void {
  const command = inspect
    .command('name')
    .description('where a name leads that an application calls, or why it leads nowhere')
    .argument('<hostname>', 'name that a HostnameGenerator gives a service')
    .requiredOption('--from <dataplane>', 'display name or stored name of the Dataplane of the application');
  addConnectOptions(addOutputOption(addNamespaceOption(addMeshOption(command)), ['table', 'json', 'yaml']))
    .addHelpText('after', HELP)
    .action(inspectName);
}

async function inspectName(hostname: string, { from, mesh, namespace, output, ...connection }: Options): Promise<void> {
  const client = await connect(connection);
  const dataplane = typeOf('Dataplane');
  const found = await findOne(client, dataplane, mesh, from, { command: 'inspect name', namespace });
  const answer = await client.read(`${itemPath(dataplane, mesh, found.name)}/_names/${pathPart(hostname)}`);
  const way = answer as Answer<'NameWay'>;
  print(isForPrograms(output) ? serialize(way, output) : describeNameWay(way));
}
