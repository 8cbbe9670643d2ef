// `meridian inspect dataplanes`: the proxies of a mesh and their connections.
import type { Command } from 'commander';
import { pathPart } from '../client/api-client.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { SELECTOR_HELP } from '../client/label-requirements.ts';
import { selectionOf } from '../client/selector.ts';
import { addMeshOption, addNamespaceOption, addOutputOption, collect, type MeshOptions, type OutputOptions } from '../options.ts';
import { printList } from '../output.ts';
import { DATAPLANE_COLUMNS, unknownLines } from '../views/overview-columns.ts';
import { itemTable } from '../views/table.ts';

type Options = ConnectOptions &
  MeshOptions &
  OutputOptions & {
    allMeshes?: boolean;
    selector?: readonly string[];
    zone?: string;
    namespace?: string;
    gateway?: boolean;
    tag?: readonly string[];
  };

const HELP = `
Status: Online, Offline, Partially degraded where some inbound is not ready, or
Unknown where global keeps only counts: ask a control plane of the zone.
-o wide adds certificates, versions and labels.

Examples:
  meridian inspect dataplanes --mesh shop
  meridian inspect dataplanes -A --zone east
  meridian inspect dataplanes -l 'app in (cart,web)'

${SELECTOR_HELP}`;

export function addInspectDataplanes(inspect: Command): void {
  const command = addNamespaceOption(
    addMeshOption(inspect.command('dataplanes').description('the proxies of a mesh and their connections')),
  )
    .option('-A, --all-meshes', 'of all meshes')
    .option('-l, --selector <labels>', 'only with these labels: team=a,tier!=db,!old; see below', collect)
    .option('--zone <zone>', 'only those of this zone')
    .option('--gateway', 'only gateways');
  addConnectOptions(addOutputOption(command)).addHelpText('after', HELP).action(inspectDataplanes);
}

async function inspectDataplanes(options: Options): Promise<void> {
  const { mesh, allMeshes = false, output, selector, zone, namespace, gateway = false, ...connection } = options;
  const prefix = allMeshes ? '' : `/meshes/${pathPart(mesh)}`;
  const { filter, matches } = selectionOf({ selector, zone, namespace });
  const client = await connect(connection);
  const query = { ...filter, ...(gateway && { gateway: 'true' }) };
  const items = await client.pages(`${prefix}/dataplanes/_overview`, query, ({ labels = {} }) => matches?.(labels) ?? true);
  printList(items, output, {
    nothing: `no dataplanes${allMeshes ? '' : ` in mesh ${mesh}; -A shows all meshes`}`,
    text: () => [itemTable(DATAPLANE_COLUMNS, items, { wide: output === 'wide' }), ...unknownLines(items)].join('\n'),
  });
}
