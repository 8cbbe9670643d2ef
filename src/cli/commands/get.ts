// `meridian get`: the resources of one or more types, or one resource, once or with their changes.
import { Option, type Command } from 'commander';
import type { TypeInfo } from '../../resource/type-registry.ts';
import type { JsonObject } from '../../resource/types.ts';
import type { ApiClient, Item } from '../client/api-client.ts';
import { columnsOf } from '../views/columns.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { UsageError } from '../exit-codes.ts';
import { findOne, requireTypes, targetOf, typeNames } from '../client/find.ts';
import { SELECTOR_HELP } from '../client/label-requirements.ts';
import { sortedBy } from '../views/sort-items.ts';
import { pagedTable } from '../views/table.ts';
import { watchTable } from '../views/watch-text.ts';
import { addMeshOption, addNamespaceOption, addOutputOption, collect, type MeshOptions } from '../options.ts';
import { isForPrograms, note, print, serialize, type Format } from '../output.ts';
import { resourceForms } from '../documents/resource-forms.ts';
import { reconnecting } from '../client/reconnecting-watch.ts';
import { selectionOf } from '../client/selector.ts';
import { rowsOf, type Row, type Watched } from '../client/watched-rows.ts';

type Options = ConnectOptions &
  MeshOptions & {
    readonly output: Format | 'name';
    readonly allMeshes?: boolean;
    readonly watch?: boolean;
    readonly selector?: readonly string[];
    readonly zone?: string;
    readonly namespace?: string;
    readonly sortBy?: string;
    readonly format: keyof typeof resourceForms;
  };

export function addGetCommand(program: Command): void {
  const command = program
    .command('get')
    .description('show the resources of one or more types, or one resource')
    .argument('<type>', 'type, plural or short name: MeshTimeout, meshtimeouts, mt; several as mt,mr; or TYPE/NAME')
    .argument('[name]', 'display name or stored name');
  addNamespaceOption(addMeshOption(command))
    .option('-A, --all-meshes', 'of all meshes')
    .option('-l, --selector <labels>', 'only with these labels: team=a,tier!=db,!old; see below', collect)
    .option('--zone <zone>', 'only those of this zone')
    .option('--sort-by <field>', 'order by a field, as -o json prints it: creationTime')
    .option('-w, --watch', 'show changes as they happen, until Ctrl-C');
  addConnectOptions(addOutputOption(command, ['table', 'wide', 'json', 'yaml', 'name']))
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
  meridian get mt,mr,mcb -m shop               several types
  meridian get mt -A --sort-by modificationTime
  meridian get mt -m shop -o name | xargs -n1 meridian delete -m shop
  meridian get mt -A -o json | jq -r '.items[].spec.targetRef.kind'

-o name prints TYPE/NAME, which get, describe and delete take as one argument.
-o jsonpath does not exist: jq selects fields of -o json.

${SELECTOR_HELP}
!= and notin also choose what has no such label. -l may be given again.

Types, with their short names:
${typeNames()}`;
}

async function get(typeText: string, nameText: string | undefined, options: Options): Promise<void> {
  const { mesh, output, allMeshes = false, watch = false, selector, zone, namespace, format, sortBy, ...connection } = options;
  const { type, name } = targetOf(typeText, nameText);
  const [info, ...others] = requireTypes(type) as [TypeInfo, ...TypeInfo[]];
  const { filter, matches } = selectionOf({ selector, zone, namespace });
  if (name !== undefined && (allMeshes || selector !== undefined))
    throw new UsageError('NAME excludes --all-meshes and --selector');
  if (others.length > 0 && (watch || name !== undefined))
    throw new UsageError(`${watch ? '--watch' : 'NAME'} needs one type, not ${JSON.stringify(type)}`);
  if (watch && (sortBy !== undefined || output === 'name'))
    throw new UsageError(`--watch excludes ${sortBy === undefined ? '-o name' : '--sort-by'}`);
  if (format !== 'universal' && (!isForPrograms(output) || watch))
    throw new UsageError(`--format ${format} needs -o yaml or -o json, without --watch`);
  const client = await connect(connection);
  const meshOf = ({ scope }: TypeInfo): string | undefined => (scope === 'Global' || allMeshes ? undefined : mesh);
  if (name !== undefined) {
    const item = await findOne(client, info, mesh, name, { command: `get ${info.name}`, filter });
    if (watch) await watchResources(client, info, { mesh: item.mesh, name: item.name, filter: {}, matches: null }, output);
    else if (isForPrograms(output)) await printForm(client, [{ info, items: [item] }], { format, output, isList: false });
    else await printForPeople([{ info, pages: [[item]] }], output);
    return;
  }
  if (watch) {
    await watchResources(client, info, { mesh: meshOf(info), filter, matches }, output);
    return;
  }
  const keeps = ({ labels = {} }: Item): boolean => matches?.(labels) ?? true;
  const listed = async (one: TypeInfo): Promise<Item[]> => {
    const items = await client.list(one, meshOf(one), filter, keeps);
    return sortBy === undefined ? items : sortedBy(items, sortBy);
  };
  if (isForPrograms(output)) {
    const found: Listed[] = [];
    for (const one of [info, ...others]) found.push({ info: one, items: await listed(one) });
    const items = found.flatMap((one) => one.items);
    if (format !== 'universal') await printForm(client, found, { format, output, isList: true });
    else print(serialize({ total: items.length, items }, output));
    return;
  }
  const chosenBy = [
    ...(selector === undefined ? [] : ['with these labels']),
    ...(zone === undefined ? [] : [`of zone ${zone}`]),
    ...(namespace === undefined ? [] : [`of namespace ${namespace}`]),
  ];
  const sections = [info, ...others].map((one) => ({
    info: one,
    nothing: nothingFound(one, meshOf(one), chosenBy),
    // The order, and each name once, need the whole list.
    pages:
      sortBy !== undefined || output === 'name'
        ? onePage(() => listed(one))
        : chosen(client.listPages(one, meshOf(one), filter), keeps),
  }));
  await printForPeople(sections, output);
}

type Listed = { readonly info: TypeInfo; readonly items: readonly Item[] };

/** Prints the documents as input for `apply` and kubectl: YAML has one after the other, JSON a List. */
async function printForm(
  client: ApiClient,
  found: readonly Listed[],
  { format, output, isList }: { format: Options['format']; output: 'json' | 'yaml'; isList: boolean },
): Promise<void> {
  const documents: JsonObject[] = [];
  for (const { info, items } of found) documents.push(...(await resourceForms[format](info, items, client)));
  if (isList && output === 'json') print(serialize({ apiVersion: 'v1', kind: 'List', items: documents }, output));
  else if (documents.length > 0) print(documents.map((document) => serialize(document, output)).join('\n---\n'));
}

function nothingFound(info: TypeInfo, mesh: string | undefined, chosenBy: readonly string[]): string {
  const where = mesh === undefined || info.scope === 'Global' ? '' : ` in mesh ${mesh}; -A shows all meshes`;
  return `${[`no ${info.plural.toLowerCase()}`, ...chosenBy].join(' ')}${where}`;
}

async function* onePage(items: () => Promise<Item[]>): AsyncGenerator<Item[]> {
  yield await items();
}

async function* chosen(pages: AsyncIterable<readonly Item[]>, keeps: (item: Item) => boolean): AsyncGenerator<Item[]> {
  for await (const page of pages) yield page.filter(keeps);
}

/** @property nothing the message for an empty result */
type Section = {
  readonly info: TypeInfo;
  readonly pages: AsyncIterable<readonly Item[]> | Iterable<readonly Item[]>;
  readonly nothing?: string;
};

/** A table for each type, under its name if there are several; or a line for each resource with `-o name`. */
async function printForPeople(sections: readonly Section[], output: 'table' | 'wide' | 'name'): Promise<void> {
  let isFirst = true;
  for (const { info, pages, nothing = '' } of sections) {
    let isEmpty = true;
    const texts = output === 'name' ? namesOf(info, pages) : pagedTable(columnsOf(info, { wide: output === 'wide' }), pages);
    for await (const text of texts) {
      if (isEmpty && sections.length > 1 && output !== 'name') print(`${isFirst ? '' : '\n'}${info.name}`);
      isEmpty = false;
      isFirst = false;
      print(text);
    }
    if (isEmpty) note(nothing);
  }
}

/** `meshtimeout/slow`, as `get`, `describe` and `delete` take it. */
async function* namesOf(info: TypeInfo, pages: Section['pages']): AsyncGenerator<string> {
  for await (const page of pages)
    if (page.length > 0) yield page.map(({ name }) => `${info.name.toLowerCase()}/${name}`).join('\n');
}

/** Watches until Ctrl-C, also across restarts of the control plane. @throws MeridianError if the control plane is unreachable or refuses */
async function watchResources(client: ApiClient, info: TypeInfo, what: Watched, output: string): Promise<void> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  const show = isForPrograms(output) ? printerForPrograms(output) : printerOfTable(info, output === 'wide');
  for await (const rows of rowsOf(reconnecting(client), info, what, stop.signal)) show(rows);
}

function printerForPrograms(output: 'json' | 'yaml'): (rows: readonly Row[]) => void {
  return (rows) => {
    for (const { event, item } of rows)
      print(
        output === 'json' ? JSON.stringify({ event, resource: item }) : `---\n${serialize({ event, resource: item }, output)}`,
      );
  };
}

function printerOfTable(info: TypeInfo, wide: boolean): (rows: readonly Row[]) => void {
  const lines = watchTable(info, { wide });
  let isFirst = true;
  return (rows) => {
    if (isFirst && rows.length === 0) note(`no ${info.plural.toLowerCase()} yet; waiting for changes`);
    isFirst = false;
    for (const line of lines(rows)) print(line);
  };
}
