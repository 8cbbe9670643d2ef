// Finds the resource for the arguments of a command: a type by any of its names, an object by stored or display name (D3).
import { MeridianError } from '../../base/errors.ts';
import { label } from '../../resource/labels.ts';
import { nearestKey } from '../../resource/nearest-key.ts';
import { findTypeByAnyName, resourceTypes, type TypeInfo } from '../../resource/type-registry.ts';
import type { ApiClient, Item } from './api-client.ts';
import { UsageError } from '../exit-codes.ts';

const WIDTH = 78;

/** @throws UsageError that lists the types */
export function requireType(text: string): TypeInfo {
  const info = findTypeByAnyName(text);
  if (info !== undefined && info.path !== '') return info;
  const near = nearestKey(
    text,
    readableTypes().flatMap(({ name, path }) => [path, name]),
  );
  const hint = near === null ? '' : ` Did you mean ${near}?`;
  throw new UsageError(`${JSON.stringify(text)} is not a resource type.${hint}\nTypes, with their short names:\n${typeNames()}`);
}

/** The types of `mt,mr`, each once. @throws UsageError that lists the types */
export function requireTypes(text: string): TypeInfo[] {
  return [...new Set(text.split(',').map((one) => requireType(one.trim())))];
}

/** The type and the name of `TYPE NAME` or `TYPE/NAME`. @throws UsageError if there are two names */
export function targetOf(type: string, name?: string): { readonly type: string; readonly name: string | undefined } {
  const at = type.indexOf('/');
  if (at < 0) return { type, name };
  if (name !== undefined) throw new UsageError(`${JSON.stringify(type)} already has a name; give TYPE NAME or TYPE/NAME`);
  return { type: type.slice(0, at), name: type.slice(at + 1) };
}

/** Plural names of all types, with short names, in lines of 80 columns. */
export function typeNames(): string {
  const lines: string[] = [];
  for (const { path, shortName } of readableTypes()) {
    const name = shortName === null ? path : `${path} (${shortName})`;
    const last = lines.at(-1);
    if (last === undefined || last.length + name.length + 2 > WIDTH) lines.push(`  ${name}`);
    else lines[lines.length - 1] = `${last}, ${name}`;
  }
  return lines.join(',\n');
}

/**
 * The one object of that stored name, else of that display name.
 * @param command the asking command, without the name: `inspect dataplane`
 * @param filter a list filter, to choose among several with one display name: `filter[labels.kuma.io/zone]`
 * @param namespace only one of this Kubernetes namespace
 * @throws MeridianError `not_found`, or UsageError with a command for each if several have the display name
 */
export async function findOne(
  client: Pick<ApiClient, 'get' | 'list'>,
  info: TypeInfo,
  mesh: string,
  name: string,
  {
    command,
    filter: given = {},
    namespace,
  }: { command: string; filter?: Record<string, string>; namespace?: string | undefined },
): Promise<Item> {
  const inMesh = info.scope === 'Mesh' ? mesh : '';
  const filter = { ...given, ...(namespace !== undefined && { [`filter[labels.${label.namespace}]`]: namespace }) };
  const stored = await client.get(info, inMesh, name);
  if (stored !== undefined && hasLabels(stored, filter)) return stored;
  const byName = { ...filter, [`filter[labels.${label.displayName}]`]: name };
  const named = await client.list(info, info.scope === 'Mesh' ? mesh : undefined, byName);
  const [only, ...others] = named;
  if (only !== undefined && others.length === 0) return only;
  if (only === undefined) throw notFound(info, mesh, name);
  const choices = named.map(({ name: stored, labels = {} }) => {
    const { [label.zone]: zone = '-', [label.namespace]: namespace } = labels;
    const where = `zone ${zone}${namespace === undefined ? '' : `, namespace ${namespace}`}`;
    return `  meridian ${command} ${stored}${inMesh === '' ? '' : ` --mesh ${inMesh}`}   # ${where}`;
  });
  const said = `${String(named.length)} ${info.plural} have the display name ${JSON.stringify(name)}; use one of the stored names:`;
  throw new UsageError([said, ...choices].join('\n'));
}

/** Whether an item has the labels of a list filter. */
function hasLabels({ labels = {} }: Item, filter: Readonly<Record<string, string>>): boolean {
  return Object.entries(filter).every(([key, value]) => {
    const [, name] = /^filter\[labels\.(.*)\]$/.exec(key) ?? [];
    return name !== undefined && labels[name] === value;
  });
}

function notFound(info: TypeInfo, mesh: string, name: string): MeridianError {
  const where = info.scope === 'Mesh' ? ` in mesh ${JSON.stringify(mesh)}` : '';
  const list = info.scope === 'Mesh' ? `meridian get ${info.path} -A` : `meridian get ${info.path}`;
  return new MeridianError('not_found', `there is no ${info.name} ${JSON.stringify(name)}${where}; \`${list}\` lists them`);
}

/** The types that have a path in the REST API. */
export function readableTypes(): readonly TypeInfo[] {
  return resourceTypes.filter(({ path }) => path !== '');
}
