// `meridian inspect routes [NAME]`: the accepted Gateway API routes with their mesh routes, and the reasons for rejected rules.
import type { Command } from 'commander';
import { MeridianError } from '../../base/errors.ts';
import { displayNameOf } from '../../resource/labels.ts';
import { typeOf } from '../../resource/type-registry.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { addMeshOption, addOutputOption, type MeshOptions, type OutputOptions } from '../options.ts';
import { isForPrograms, print, serialize } from '../output.ts';
import { routeText, routeView } from '../views/gateway-route.ts';

const HELP = `
Ask the control plane that the routes were written on: routes and their
conditions stay there, the mesh routes made of them go everywhere.

Examples:
  meridian inspect routes --mesh shop
  meridian inspect routes cart-route --mesh shop --address http://127.0.0.1:5691`;

type Options = ConnectOptions & MeshOptions & OutputOptions;

export function addInspectRoutes(inspect: Command): void {
  const command = inspect
    .command('routes')
    .description('the accepted Gateway API routes with their mesh routes, and the reasons for rejected rules')
    .argument('[name]', 'display name or stored name of an HTTPRoute or TCPRoute');
  addConnectOptions(addOutputOption(addMeshOption(command), ['table', 'json', 'yaml']))
    .addHelpText('after', HELP)
    .action(inspectRoutes);
}

/** @throws MeridianError `not_found` for a name that no route has */
async function inspectRoutes(name: string | undefined, { mesh, output, ...connection }: Options): Promise<void> {
  const client = await connect(connection);
  const all = [...(await client.list(typeOf('HTTPRoute'), mesh)), ...(await client.list(typeOf('TCPRoute'), mesh))];
  const routes = name === undefined ? all : all.filter((item) => item.name === name || displayNameOf(item) === name);
  if (name !== undefined && routes.length === 0) {
    const hint = `\`meridian inspect routes --mesh ${mesh}\` lists those of this control plane`;
    throw new MeridianError('not_found', `there is no route ${JSON.stringify(name)} in mesh ${JSON.stringify(mesh)}; ${hint}`);
  }
  if (isForPrograms(output)) print(serialize({ total: routes.length, items: routes.map(routeView) }, output));
  else if (routes.length === 0) print(`mesh ${mesh} has no HTTPRoutes and TCPRoutes on this control plane`);
  else print(routes.map(routeText).join('\n\n'));
}
