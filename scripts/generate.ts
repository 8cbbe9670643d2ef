// Writes src/wire/generated/descriptor.json from proto/. `--check` fails when the file in the tree differs.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import protobuf from 'protobufjs';

const top = join(import.meta.dirname, '..');
const target = join(top, 'src/wire/generated/descriptor.json');

const root = new protobuf.Root();
// `google/protobuf/*` comes with protobufjs; everything else stands in proto/.
root.resolvePath = (_origin, path) =>
  path.startsWith('google/protobuf/') || path.startsWith(top) ? path : join(top, 'proto', path);
root.loadSync(['kuma/kds.proto', 'kuma/mesh.proto', 'kuma/system.proto'], { keepCase: true });
root.resolveAll();
const text = `${JSON.stringify(root.toJSON(), null, 1)}\n`;

if (process.argv.includes('--check')) {
  const present = await readFile(target, 'utf8').catch(() => '');
  if (present !== text) {
    process.stderr.write(
      'src/wire/generated/descriptor.json is not what proto/ gives: run `npm run gen` and commit the result\n',
    );
    process.exit(1);
  }
} else await writeFile(target, text);
