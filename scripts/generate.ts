// Writes src/wire/generated from proto/: the descriptors of KDS, and those of Envoy's API. `--check` fails when a file in the tree
// differs.
import { readdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import protobuf from 'protobufjs';

const top = join(import.meta.dirname, '..');
const generated = join(top, 'src/wire/generated');
const envoyApi = join(top, 'proto/envoy-api');

/**
 * What a proxy is configured with, and what it sends: the resources, the messages that carry them, and every extension, because a
 * MeshProxyPatch may add any.
 */
const ENVOY_ROOTS = [
  'envoy/config/listener/v3/listener.proto',
  'envoy/config/cluster/v3/cluster.proto',
  'envoy/config/endpoint/v3/endpoint.proto',
  'envoy/config/route/v3/route.proto',
  'envoy/config/rbac/v3/rbac.proto',
  'envoy/service/discovery/v3/discovery.proto',
  'envoy/service/health/v3/hds.proto',
  ...protoFilesIn('envoy/config/trace'),
  ...protoFilesIn('envoy/extensions'),
];

/** Options of fields for generators and documents, which say nothing of the wire. */
const ANNOTATIONS =
  /^(validate\/|udpa\/annotations|xds\/annotations|envoy\/annotations|google\/api\/annotations|google\/protobuf\/descriptor)/;

const UNREAD = new Set(['options', 'parsedOptions', 'valuesOptions', 'reserved', 'extensions', 'edition', 'comment', 'comments']);

const files = {
  'descriptor.json': `${JSON.stringify(load('proto', ['kuma/kds.proto', 'kuma/mesh.proto', 'kuma/system.proto']).toJSON(), null, 1)}\n`,
  'envoy.json': `${JSON.stringify(withoutOptions(load('proto/envoy-api', ENVOY_ROOTS).toJSON()))}\n`,
};

for (const [name, text] of Object.entries(files)) {
  const target = join(generated, name);
  if (!process.argv.includes('--check')) {
    await writeFile(target, text);
    continue;
  }
  const present = await readFile(target, 'utf8').catch(() => '');
  if (present === text) continue;
  process.stderr.write(`src/wire/generated/${name} is not what proto/ gives: run \`npm run gen\` and commit the result\n`);
  process.exit(1);
}

/** Paths below proto/envoy-api, in the order of their names. */
function protoFilesIn(folder: string): string[] {
  const found = readdirSync(join(envoyApi, folder), { recursive: true, encoding: 'utf8' });
  return found.flatMap((file) => (file.endsWith('.proto') ? [`${folder}/${file}`] : [])).sort();
}

/** `google/protobuf/*` comes with protobufjs; everything else stands in `folder`. */
function load(folder: string, roots: string[]): protobuf.Root {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, path) => {
    if (ANNOTATIONS.test(path)) return null;
    return path.startsWith('google/protobuf/') || path.startsWith(top) ? path : join(top, folder, path);
  };
  root.loadSync(roots, { keepCase: true });
  root.resolveAll();
  return root;
}

/** Options of fields and reserved names are most of the descriptors, and nothing here reads them. */
function withoutOptions(node: protobuf.INamespace): object {
  return JSON.parse(
    JSON.stringify(node, function (this: object, key, value: unknown) {
      // A field may be called `options`: its own parent is then a list of fields, which has no `fields` beside it.
      const isOfNode = 'fields' in this || 'nested' in this || 'values' in this || 'id' in this;
      return isOfNode && UNREAD.has(key) ? undefined : value;
    }),
  ) as object;
}
