// Builds the program into few files, for the processes of tests. A control plane loads 1,700 modules, which costs more CPU than the rest
// of its start. Its own files are read where they are in the sources; so are its worker threads and the processes of a demo.
import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'vite';

const TOP = join(import.meta.dirname, '../..');

/** The `meridian` of a folder of `buildProgram`. */
export const programIn = (folder: string): string => join(folder, 'bin/meridian');

/** @param folder an empty folder, outside of which nothing is written */
export async function buildProgram(folder: string): Promise<void> {
  await build({
    root: TOP,
    configFile: false,
    logLevel: 'error',
    plugins: [pathsOfSources],
    // The embedded database finds its files beside its module, and few processes need it.
    ssr: { noExternal: true, external: ['@electric-sql/pglite'] },
    build: {
      ssr: join(TOP, 'src/cli/main.ts'),
      outDir: folder,
      target: 'node24',
      minify: false,
      copyPublicDir: false,
      // A polyfill is evaluated before the package that needs it. All other modules stay as they are, which start faster.
      rolldownOptions: { output: { strictExecutionOrder: true }, experimental: { onDemandWrapping: true } },
    },
  });
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  await symlink(join(TOP, 'node_modules'), join(folder, 'node_modules'));
  await mkdir(join(folder, 'bin'));
  await writeFile(programIn(folder), await commandOf(folder));
  await chmod(programIn(folder), 0o755);
}

/** What a module asks about its own place is answered as for its source. */
const pathsOfSources: Plugin = {
  name: 'paths-of-sources',
  transform: {
    filter: { id: /\/src\/.*\.ts$/, code: /import\.meta\.(dirname|url)/ },
    handler: (code, id) =>
      code
        .replaceAll('import.meta.dirname', JSON.stringify(dirname(id)))
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)),
  },
};

/** `bin/meridian` with the built program, whose compiled code is kept in its folder: it goes with the run. */
async function commandOf(folder: string): Promise<string> {
  const script = await readFile(join(TOP, 'bin/meridian'), 'utf8');
  const replace = (text: string, before: string, after: string): string => {
    if (!text.includes(before)) throw new Error(`bin/meridian has no ${before}`);
    return text.replace(before, after);
  };
  const built = replace(script, '$top/src/cli/main.ts', '$top/main.js');
  return replace(built, 'set -eu\n', `set -eu\nexport NODE_COMPILE_CACHE='${join(folder, 'compiled')}'\n`);
}
