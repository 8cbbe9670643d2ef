// Commands that talk to a running control plane about its resources.
import { Option, type Command } from 'commander';
import { MeridianError } from '../base/errors.ts';
import { label } from '../resource/labels.ts';
import type { TypeInfo } from '../resource/type-registry.ts';
import { ApiClient, type Item } from './api-client.ts';
import { applyDocuments } from './apply.ts';
import { readDocuments } from './documents.ts';
import { findOne, requireType } from './find.ts';
import { inspectZones } from './inspect-zones.ts';
import { ageOf, print, serialize, table, type Format } from './output.ts';

type Common = { address: string; mesh: string; output: Format };

export function addResourceCommands(program: Command): void {
  common(program.command('apply').description('create or change resources'))
    .requiredOption(
      '-f, --file <source>',
      'file, folder, URL, or - for standard input; may be given again',
      (value: string, before?: string[]) => [...(before ?? []), value],
    )
    .addHelpText(
      'after',
      '\nExamples:\n  meridian apply -f examples/shop/global\n  cat timeout.yaml | meridian apply -f - --address http://127.0.0.1:5691',
    )
    .action(async (options: Common & { file: string[] }) => apply(options));
  common(program.command('get').description('show the resources of a type, or one of them'))
    .argument('<type>', 'type, plural or short name: MeshTimeout, meshtimeouts, mt')
    .argument('[name]', 'display name or stored name')
    .option('-A, --all-meshes', 'of all meshes')
    .addHelpText(
      'after',
      '\nExamples:\n  meridian get meshes\n  meridian get mt --mesh shop\n  meridian get meshservice cart -o yaml',
    )
    .action(async (type: string, name: string | undefined, options: Common & { allMeshes?: boolean }) =>
      get(type, name, options),
    );
  common(program.command('delete').description('delete one resource'))
    .argument('<type>', 'type, plural or short name')
    .argument('<name>', 'display name or stored name')
    .action(async (type: string, name: string, options: Common) => {
      const client = new ApiClient(options.address);
      const info = requireType(type);
      const found = await findOne(client, info, options.mesh, name);
      await client.delete(info, found.mesh ?? '', found.name);
      print(`deleted ${info.name} ${found.name}`);
    });
  const inspect = program.command('inspect').description('how the parts of the system are doing');
  common(inspect.command('zones').description('which zones are connected, and since when')).action(inspectZones);
}

function common(command: Command): Command {
  return command
    .addOption(new Option('--address <url>', 'control plane to talk to').default('http://127.0.0.1:5681').env('MERIDIAN_ADDRESS'))
    .addOption(new Option('--mesh <mesh>', 'mesh of the resources').default('default').env('MERIDIAN_MESH'))
    .addOption(
      new Option('-o, --output <format>', 'form of the answer').choices(['table', 'wide', 'json', 'yaml']).default('table'),
    );
}

async function apply({ file, address, mesh, output }: Common & { file: string[] }): Promise<void> {
  const documents = await readDocuments(file, mesh);
  const all: { type: string; mesh: string; name: string; result: string; messages: readonly string[] }[] = [];
  for await (const { document, result, messages } of applyDocuments(new ApiClient(address), documents)) {
    const { info, mesh: inMesh, name, place } = document;
    all.push({ type: info.name, mesh: inMesh, name, result, messages });
    if (output === 'json' || output === 'yaml') continue;
    print(`${info.name} ${inMesh === '' ? '' : `${inMesh}/`}${name} ${result}`);
    for (const message of messages) print(`  ${result === 'failed' ? `${place}: ` : ''}${message}`);
  }
  if (output === 'json' || output === 'yaml') print(serialize(all, output));
  const failed = all.filter(({ result }) => result === 'failed').length;
  if (failed > 0) throw new MeridianError('invalid', `${String(failed)} of ${String(all.length)} resources could not be applied`);
}

async function get(
  typeName: string,
  name: string | undefined,
  { address, mesh, output, allMeshes = false }: Common & { allMeshes?: boolean },
): Promise<void> {
  const client = new ApiClient(address);
  const info = requireType(typeName);
  if (name !== undefined) {
    const item = await findOne(client, info, info.scope === 'Mesh' ? mesh : '', name);
    print(output === 'json' || output === 'yaml' ? serialize(item, output) : tableOf(info, [item], output === 'wide'));
    return;
  }
  const items = await client.list(info, allMeshes || info.scope === 'Global' ? undefined : mesh);
  if (output === 'json' || output === 'yaml') print(serialize({ total: items.length, items }, output));
  else if (items.length === 0)
    print(`no ${info.plural.toLowerCase()}${info.scope === 'Mesh' && !allMeshes ? ` in mesh ${mesh}; -A shows all meshes` : ''}`);
  else print(tableOf(info, items, output === 'wide'));
}

function tableOf(info: TypeInfo, items: readonly Item[], wide: boolean): string {
  const inMesh = info.scope === 'Mesh';
  const head = [...(inMesh ? ['MESH'] : []), 'NAME', 'ZONE', 'ORIGIN', 'STORED NAME', 'AGE', ...(wide ? ['LABELS'] : [])];
  const rows = items.map(({ name, mesh = '', labels = {}, modificationTime }) => [
    ...(inMesh ? [mesh] : []),
    labels[label.displayName] ?? name,
    labels[label.zone] ?? '-',
    labels[label.origin] ?? '-',
    name,
    ageOf(modificationTime),
    ...(wide
      ? [
          Object.entries(labels)
            .map(([key, value]) => `${key}=${value}`)
            .join(','),
        ]
      : []),
  ]);
  return table(head, rows);
}
