// `meridian inspect routes [NAME]`: which Gateway API routes are in force, as which mesh routes, and what keeps rules out.
// Invariant: it only prints the status of the routes, which their control plane wrote. It decides nothing itself.
import { visibleLine } from '../../base/visible-text.ts';
import type { Command } from 'commander';
import { MeridianError } from '../../base/errors.ts';
import { label } from '../../resource/labels.ts';
import { at, items } from '../../resource/schema/json-access.ts';
import { typeOf } from '../../resource/type-registry.ts';
import type { Json, JsonObject } from '../../resource/types.ts';
import type { Item } from '../client/api-client.ts';
import { displayName } from '../views/columns.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { addMeshOption, addOutputOption, isForPrograms, type MeshOptions, type OutputOptions } from '../options.ts';
import { print, serialize } from '../output.ts';

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
    .description('which Gateway API routes are in force, as which mesh routes, and why rules are left out')
    .argument('[name]', 'display name or stored name of an HTTPRoute or TCPRoute');
  addConnectOptions(addOutputOption(addMeshOption(command), ['table', 'json', 'yaml']))
    .addHelpText('after', HELP)
    .action(inspectRoutes);
}

/** @throws MeridianError `not_found` for a name that no route has */
async function inspectRoutes(name: string | undefined, { mesh, output, ...connection }: Options): Promise<void> {
  const client = await connect(connection);
  const all = [...(await client.list(typeOf('HTTPRoute'), mesh)), ...(await client.list(typeOf('TCPRoute'), mesh))];
  const routes = name === undefined ? all : all.filter((item) => item.name === name || displayName(item) === name);
  if (name !== undefined && routes.length === 0) {
    const hint = `\`meridian inspect routes --mesh ${mesh}\` lists those of this control plane`;
    throw new MeridianError('not_found', `there is no route ${JSON.stringify(name)} in mesh ${JSON.stringify(mesh)}; ${hint}`);
  }
  if (isForPrograms(output)) print(serialize({ total: routes.length, items: routes.map(routeView) }, output));
  else if (routes.length === 0) print(`mesh ${mesh} has no HTTPRoutes and TCPRoutes on this control plane`);
  else print(routes.map(routeText).join('\n\n'));
}

/** A route with its status, for programs. */
export function routeView(item: Item): JsonObject {
  const { type, mesh = '', labels = {} } = item;
  return {
    kind: type,
    mesh,
    name: displayName(item),
    namespace: labels[label.namespace] ?? null,
    storedName: item.name,
    parents: [...items(at(item.status, 'parents'))],
  };
}

/** A route with its status, for people: one line for each condition. */
export function routeText(item: Item): string {
  const { type, mesh = '', labels = {} } = item;
  const parents = items(at(item.status, 'parents'));
  const lines = parents.flatMap((parent) => [
    `  for the clients of ${parentText(at(parent, 'parentRef'))}`,
    ...items(at(parent, 'conditions')).map(conditionText),
  ]);
  return [
    `${type} ${mesh}/${displayName(item)}${placeText(labels[label.namespace])}`,
    ...(parents.length === 0 ? ['  not looked at yet: the leader of its control plane does that'] : lines),
  ].join('\n');
}

/** `    ResolvedRefs False (DegradedRoutes)` and below it the message. */
function conditionText(condition: Json): string {
  const [type, status, reason] = [textAt(condition, 'type'), textAt(condition, 'status'), textAt(condition, 'reason')];
  return `    ${type} ${status}${reason === type || reason === '' ? '' : ` (${reason})`}\n      ${visibleLine(textAt(condition, 'message'))}`;
}

/** `Service cart in namespace shop, port 80`. */
function parentText(ref: Json | undefined): string {
  const port = textAt(ref, 'sectionName') || textAt(ref, 'port');
  return `${textAt(ref, 'kind')} ${textAt(ref, 'name')}${placeText(textAt(ref, 'namespace'))}${port === '' ? '' : `, port ${port}`}`;
}

function placeText(namespace: string | undefined): string {
  return namespace ? ` in namespace ${namespace}` : '';
}

function textAt(value: Json | undefined, path: string): string {
  const found = at(value, path);
  return typeof found === 'string' || typeof found === 'number' ? String(found) : '';
}
