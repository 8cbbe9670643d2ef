// Builds the page of web/ into web/dist, which is committed. `--check` builds into a temporary folder and fails when a file differs.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';

const top = join(import.meta.dirname, '..');
const dist = join(top, 'web/dist');
const config = join(top, 'web/vite.config.ts');

/** Bytes after gzip that a browser loads: of scripts, and of all files. */
const BUDGET = { scripts: 60 * 1024, all: 120 * 1024 };

const isCheck = process.argv.includes('--check');
const folder = isCheck ? mkdtempSync(join(tmpdir(), 'meridian-web-')) : dist;
try {
  await build({ configFile: config, build: { outDir: folder } });
  const built = filesIn(folder);
  const faults = [...overBudget(built), ...(isCheck ? differences(built, filesIn(dist)) : [])];
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  process.exitCode = faults.length === 0 ? 0 : 1;
} finally {
  if (isCheck) rmSync(folder, { recursive: true });
}

/** Path below the folder → content. */
function filesIn(from: string): ReadonlyMap<string, Buffer> {
  const entries = readdirSync(from, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    entries.map(({ parentPath, name }) => [join(parentPath, name).slice(from.length + 1), readFileSync(join(parentPath, name))]),
  );
}

function overBudget(built: ReadonlyMap<string, Buffer>): string[] {
  const sizes = [...built].map(([name, bytes]) => ({ name, size: gzipSync(bytes).length }));
  const sum = (some: typeof sizes): number => some.reduce((total, { size }) => total + size, 0);
  const [scripts, all] = [sum(sizes.filter(({ name }) => name.endsWith('.js'))), sum(sizes)];
  return [
    ...(scripts > BUDGET.scripts ? [`the scripts of the page are ${String(scripts)} bytes, over ${String(BUDGET.scripts)}`] : []),
    ...(all > BUDGET.all ? [`the files of the page are ${String(all)} bytes, over ${String(BUDGET.all)}`] : []),
  ];
}

function differences(built: ReadonlyMap<string, Buffer>, present: ReadonlyMap<string, Buffer>): string[] {
  const names = new Set([...built.keys(), ...present.keys()]);
  const wrong = [...names].filter((name) => built.get(name)?.equals(present.get(name) ?? Buffer.alloc(0)) !== true);
  return wrong.map((name) => `web/dist/${name} is not what web/src gives: run \`npm run web\` and commit the result`);
}
