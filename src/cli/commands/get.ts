// `meridian get`: the resources of a type, or one of them, once or with their changes.
import { Option, type Command } from 'commander';
import type { TypeInfo } from '../../resource/type-registry.ts';
import type { ApiClient, Item } from '../client/api-client.ts';
import { columnsOf } from '../views/columns.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { UsageError } from '../exit-codes.ts';
import { findOne, requireType, typeNames } from '../client/find.ts';
import { SELECTOR_HELP } from '../client/label-requirements.ts';
import { neededColumns, pagedTable, TableLayout } from '../views/table.ts';
import { addMeshOption, addNamespaceOption, addOutputOption, collect, type MeshOptions, type OutputOptions } from '../options.ts';
import { isForPrograms, note, print, serialize, type Format } from '../output.ts';
import { resourceForms } from '../documents/resource-forms.ts';
import { lasting } from '../client/lasting-watch.ts';
import { selectionOf } from '../client/selector.ts';
import { rowsOf, type Row, type Watched } from '../client/watched-rows.ts';

type Options = ConnectOptions &
  MeshOptions &
  OutputOptions & {
    readonly allMeshes?: boolean;
    readonly watch?: boolean;
    readonly selector?: readonly string[];
    readonly zone?: string;
    readonly namespace?: string;
    readonly format: keyof typeof resourceForms;
  };

export function addGetCommand(program: Command): void {
  const command = program
    .command('get')
    .description('show the resources of a type, or one of them')
    .argument('<type>', 'type, plural or short name: MeshTimeout, meshtimeouts, mt')
    .argument('[name]', 'display name or stored name');
  addNamespaceOption(addMeshOption(command))
    .option('-A, --all-meshes', 'of all meshes')
    .option('-l, --selector <labels>', 'only with these labels: team=a,tier!=db,!old; see below', collect)
    .option('--zone <zone>', 'only those of this zone')
    .option('-w, --watch', 'show changes as they happen, until Ctrl-C');
  addConnectOptions(addOutputOption(command))
    .addOption(
      new Option('--format <form>', 'form of the resources, with -o json or yaml')
        .choices(Object.keys(resourceForms))
        .default('universal'),
    )
    .addHelpText('after', help)
    .action(get);
}

function help(): string {
  return `
Examples:
  meridian get meshes
  meridian get mt --mesh shop -l team=storefront
  meridian get mt -A -l 'team in (storefront,cart),tier!=db,!old'
  meridian get meshservice cart --zone east -o yaml
  meridian get meshservices -A -w

${SELECTOR_HELP}
!= and notin also choose what has no such label. -l may be given again.

Types, with their short names:
${typeNames()}`;
}

async function get(typeName: string, name: string | undefined, options: Options): Promise<void> {
  const { mesh, output, allMeshes = false, watch = false, selector, zone, namespace, format, ...connection } = options;
  const info = requireType(typeName);
  const { filter, matches } = selectionOf({ selector, zone, namespace });
  if (name !== undefined && (allMeshes || selector !== undefined))
    throw new UsageError('NAME excludes --all-meshes and --selector');
  if (format !== 'universal' && (!isForPrograms(output) || watch))
    throw new UsageError(`--format ${format} needs -o yaml or -o json, without --watch`);
  const client = await connect(connection);
  const inMesh = info.scope === 'Global' || allMeshes ? undefined : mesh;
  if (name !== undefined) {
    const item = await findOne(client, info, mesh, name, { command: `get ${info.name}`, filter });
    if (watch) await watchResources(client, info, { mesh: item.mesh, name: item.name, filter: {}, matches: null }, output);
    else if (isForPrograms(output)) await printForm(client, info, [item], { format, output });
    else await printTable(info, [[item]], { wide: output === 'wide' });
    return;
  }
  if (watch) {
    await watchResources(client, info, { mesh: inMesh, filter, matches }, output);
    return;
  }
  const keeps = ({ labels = {} }: Item): boolean => matches?.(labels) ?? true;
  if (!isForPrograms(output)) {
    const isNarrowed = matches !== null || Object.keys(filter).length > 0;
    const pages = chosen(client.listPages(info, inMesh, filter), keeps);
    await printTable(info, pages, { wide: output === 'wide', nothing: nothingFound(info, inMesh, isNarrowed) });
    return;
  }
  const items = await client.list(info, inMesh, filter, keeps);
  if (format !== 'universal') await printForm(client, info, items, { format, output });
  else print(serialize({ total: items.length, items }, output));
}

/** Prints the documents one after the other, as input for `apply` and kubectl. */
async function printForm(
  client: ApiClient,
  info: TypeInfo,
  items: readonly Item[],
  { format, output }: { format: Options['format']; output: 'json' | 'yaml' },
): Promise<void> {
  const documents = await resourceForms[format](info, items, client);
  if (documents.length > 0)
    print(documents.map((document) => serialize(document, output)).join(output === 'yaml' ? '\n---\n' : '\n'));
}

function nothingFound(info: TypeInfo, mesh: string | undefined, isChosen: boolean): string {
  const where = mesh === undefined || info.scope === 'Global' ? '' : ` in mesh ${mesh}; -A shows all meshes`;
  return `no ${info.plural.toLowerCase()}${isChosen ? ' with these labels' : ''}${where}`;
}

async function* chosen(pages: AsyncIterable<readonly Item[]>, keeps: (item: Item) => boolean): AsyncGenerator<Item[]> {
  for await (const page of pages) yield page.filter(keeps);
}

/** @param nothing the message for an empty result */
async function printTable(
  info: TypeInfo,
  pages: AsyncIterable<readonly Item[]> | Iterable<readonly Item[]>,
  { wide, nothing = '' }: { readonly wide: boolean; readonly nothing?: string },
): Promise<void> {
  let isEmpty = true;
  for await (const text of pagedTable(columnsOf(info, { wide }), pages)) {
    isEmpty = false;
    print(text);
  }
  if (isEmpty) note(nothing);
}

/** Watches until Ctrl-C, also across restarts of the control plane. @throws MeridianError if the control plane is unreachable or refuses */
async function watchResources(client: ApiClient, info: TypeInfo, what: Watched, output: Format): Promise<void> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  const show = isForPrograms(output) ? printerForPrograms(output) : printerOfTable(info, output === 'wide');
  for await (const rows of rowsOf(lasting(client), info, what, stop.signal)) show(rows);
}

function printerForPrograms(output: 'json' | 'yaml'): (rows: readonly Row[]) => void {
  return (rows) => {
    for (const { event, item } of rows)
      print(
        output === 'json' ? JSON.stringify({ event, resource: item }) : `---\n${serialize({ event, resource: item }, output)}`,
      );
  };
}

/** Rows of later events keep the columns of the first ones, and their widths while the cells fit. */
function printerOfTable(info: TypeInfo, wide: boolean): (rows: readonly Row[]) => void {
  let columns: { head: string; of: (row: Row) => string }[] | null = null;
  let layout = new TableLayout([]);
  return (rows) => {
    const isFirst = columns === null;
    if (columns === null) {
      const needed = neededColumns(
        columnsOf(info, { wide }),
        rows.map(({ item }) => item),
      );
      columns = [
        { head: 'EVENT', of: ({ event }) => event },
        ...needed.map(({ head, of }) => ({ head, of: ({ item }: Row) => of(item) })),
      ];
      layout = new TableLayout(columns.map(({ head }) => (head === 'EVENT' ? 'existing' : head)));
    }
    const shown = columns;
    const cells = rows.map((row) => shown.map(({ of }) => of(row)));
    const lines = layout.lines(isFirst ? [shown.map(({ head }) => head), ...cells] : cells);
    if (isFirst && rows.length === 0) note(`no ${info.plural.toLowerCase()} yet; waiting for changes`);
    for (const line of lines) print(line);
  };
}
