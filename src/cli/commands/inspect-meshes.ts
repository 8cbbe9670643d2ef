// `meridian inspect meshes`: the number of online proxies and of resources of each mesh.
import type { Command } from 'commander';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { addOutputOption, type OutputOptions } from '../options.ts';
import { printList } from '../output.ts';
import { MESH_COLUMNS } from '../views/overview-columns.ts';
import { itemTable } from '../views/table.ts';

export function addInspectMeshes(inspect: Command): void {
  addConnectOptions(addOutputOption(inspect.command('meshes').description('the number of online proxies of each mesh')))
    .addHelpText('after', '\nExamples:\n  meridian inspect meshes\n  meridian inspect meshes -o wide')
    .action(inspectMeshes);
}

async function inspectMeshes({ output, ...connection }: ConnectOptions & OutputOptions): Promise<void> {
  printList(await (await connect(connection)).pages('/mesh-insights'), output, {
    nothing: 'no mesh; `meridian apply -f -` takes `{ type: Mesh, name: … }`',
    text: (items) => itemTable(MESH_COLUMNS, items, { wide: output === 'wide' }),
  });
}
