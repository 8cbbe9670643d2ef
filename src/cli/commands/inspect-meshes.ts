// `meridian inspect meshes`: how many proxies of each mesh are online, and the resources in it.
import type { Command } from 'commander';
import { resourceTypes, SERVICE_TYPES } from '../../resource/type-registry.ts';
import type { JsonObject } from '../../resource/types.ts';
import type { Item } from '../client/api-client.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { addOutputOption, isForPrograms, type OutputOptions } from '../options.ts';
import { note, print, serialize, table } from '../output.ts';
import { objectOf } from '../../resource/read-json.ts';

const POLICIES = resourceTypes.filter(({ policy }) => policy !== null).map(({ name }) => name);

export function addInspectMeshes(inspect: Command): void {
  addConnectOptions(addOutputOption(inspect.command('meshes').description('how many proxies of each mesh are online')))
    .addHelpText('after', '\nExamples:\n  meridian inspect meshes\n  meridian inspect meshes -o wide')
    .action(inspectMeshes);
}

async function inspectMeshes({ output, ...connection }: ConnectOptions & OutputOptions): Promise<void> {
  const items = await (await connect(connection)).pages('/mesh-insights');
  if (isForPrograms(output)) print(serialize({ total: items.length, items }, output));
  else if (items.length === 0) note('no mesh; `meridian apply -f -` takes `{ type: Mesh, name: … }`');
  else {
    const wide = output === 'wide';
    print(
      table(
        ['MESH', 'DATAPLANES', 'SERVICES', 'POLICIES', ...(wide ? ['DEGRADED', 'RESOURCES'] : [])],
        items.map((item) => rowOf(item, wide)),
      ),
    );
  }
}

function rowOf(item: Item, wide: boolean): string[] {
  const dataplanes = objectOf(item['dataplanes']);
  const resources = objectOf(item['resources']);
  const count = (value: JsonObject[string] | undefined): string => String(Number(value ?? 0));
  return [
    item.name,
    `${count(dataplanes['online'])}/${count(dataplanes['total'])}`,
    String(totalOf(resources, SERVICE_TYPES)),
    String(totalOf(resources, POLICIES)),
    ...(wide ? [count(dataplanes['partiallyDegraded']), String(totalOf(resources, Object.keys(resources)))] : []),
  ];
}

function totalOf(resources: JsonObject, types: readonly string[]): number {
  return types.reduce((sum, type) => sum + Number(objectOf(resources[type])['total'] ?? 0), 0);
}
