// `meridian inspect dataplane NAME`: for each outbound and route the conf in force, and the policy of each value.
import type { Command } from 'commander';
import type { Answer } from '../../api/answers.ts';
import { typeOf } from '../../resource/type-registry.ts';
import { pathPart } from '../client/api-client.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { describeEffective } from '../views/effective-text.ts';
import { findOne } from '../client/find.ts';
import { addMeshOption, addOutputOption, type MeshOptions, type OutputOptions } from '../options.ts';
import { isForPrograms, print, serialize } from '../output.ts';

const HELP = `
Global and the zone of the proxy answer the same. Outbounds with one conf stand
together.

Examples:
  meridian inspect dataplane web-1 --mesh shop
  meridian inspect dataplane web-1 --mesh shop --outbound cart
  meridian inspect dataplane web-1 --mesh shop -o yaml`;

type Options = ConnectOptions & MeshOptions & OutputOptions & { outbound?: string };

export function addInspectDataplane(inspect: Command): void {
  const command = inspect
    .command('dataplane')
    .description('the effective policies of a proxy, and which policy set each value')
    .argument('<name>', 'display name or stored name of a Dataplane')
    .option('--outbound <text>', 'only outbounds whose KRI contains this');
  addConnectOptions(addOutputOption(addMeshOption(command)))
    .addHelpText('after', HELP)
    .action(inspectDataplane);
}

async function inspectDataplane(name: string, { mesh, output, outbound = '', ...connection }: Options): Promise<void> {
  const client = await connect(connection);
  const found = await findOne(client, typeOf('Dataplane'), mesh, name, { command: 'inspect dataplane' });
  const path = `/meshes/${pathPart(mesh)}/dataplanes/${pathPart(found.name)}/_effective`;
  const answer = (await client.readWhole(path, 'outbounds')) as unknown as Answer<'Effective'>;
  const outbounds = answer.outbounds.filter(({ kri }) => kri.includes(outbound));
  const asked = { ...answer, outbounds };
  print(isForPrograms(output) ? serialize(asked, output) : describeEffective(asked, mesh, { wide: output === 'wide' }));
}
