// `meridian inspect meshes`: the number of online proxies and of resources of each mesh, and whether its services take plain text.
import type { Command } from 'commander';
import type { Answer } from '../../answers/answers.ts';
import type { ApiClient, Item } from '../client/api-client.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { addOutputOption, type OutputOptions } from '../options.ts';
import { printList } from '../output.ts';
import { MESH_COLUMNS } from '../views/overview-columns.ts';
import { plaintextLines } from '../views/mesh-tls-text.ts';
import { itemTable } from '../views/table.ts';

const HELP = `
TLS tells how many services demand a certificate of the mesh. Below the table
are the services that take plain text, if the mesh has a MeshIdentity, a
MeshTLS or a MeshTrafficPermission.

Examples:
  meridian inspect meshes
  meridian inspect meshes -o json`;

/** The number of services that the text names. */
const MAX_NAMED = 5;

export function addInspectMeshes(inspect: Command): void {
  const command = inspect.command('meshes').description('online proxies of each mesh, and the services that take plain text');
  addConnectOptions(addOutputOption(command)).addHelpText('after', HELP).action(inspectMeshes);
}

async function inspectMeshes({ output, ...connection }: ConnectOptions & OutputOptions): Promise<void> {
  const client = await connect(connection);
  const meshes = await withTls(client, await client.pages('/mesh-insights'));
  printList(meshes, output, {
    nothing: 'no mesh; `meridian apply -f -` takes `{ type: Mesh, name: … }`',
    text: (items) => [itemTable(MESH_COLUMNS, items, { wide: output === 'wide' }), ...items.flatMap(plaintextLines)].join('\n'),
  });
}

/** Adds `tls`, the answer about the services of the mesh. */
async function withTls(client: ApiClient, meshes: readonly Item[]): Promise<Item[]> {
  const all: Item[] = [];
  for (const mesh of meshes) {
    const tls = (await client.read(
      `/meshes/${encodeURIComponent(mesh.name)}/_tls?size=${String(MAX_NAMED)}`,
    )) as Answer<'MeshTls'>;
    all.push({ ...mesh, tls: tls as unknown as Item['tls'] });
  }
  return all;
}
