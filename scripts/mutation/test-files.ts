// Which test files import a file, by how many steps. Only relative imports count, as the text names them.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const FOLDERS = ['src', 'test'];
/** The tests of a push, by the ends of their names; the others are of `unit`. `peers` runs only where its programs are. */
const PROJECTS = new Map([
  ['.isolated.test.ts', 'isolated'],
  ['.pg.test.ts', 'postgres'],
  ['.envoy.test.ts', 'envoy'],
  ['.e2e.test.ts', 'e2e'],
  ['.gui.test.ts', 'gui'],
  ['.chaos.test.ts', 'chaos'],
  ['.peers.test.ts', 'peers'],
  ['.test.ts', 'unit'],
]);
/** They read the sources as text, and would notice every change or none. */
const OF_SOURCES = ['test/architecture.test.ts', 'test/citations.test.ts', 'test/matched-text.test.ts', 'test/docs.test.ts'];

/** As the formatter writes them: `from './a.ts'`, `import './a.ts'`, `import('./a.ts')`. */
const RELATIVE_IMPORT = /\b(?:from |import |import\()'(\.[^'\n]+)'/g;

export class TestFiles {
  /** File → files that import it, relative to the top. */
  readonly #importers = new Map<string, string[]>();
  readonly #tests: string[] = [];

  constructor(top: string) {
    for (const folder of FOLDERS)
      for (const name of readdirSync(join(top, folder), { recursive: true, encoding: 'utf8' })) {
        if (!name.endsWith('.ts')) continue;
        const file = join(folder, name);
        if (projectOf(file) !== null) this.#tests.push(file);
        for (const [, imported = ''] of readFileSync(join(top, file), 'utf8').matchAll(RELATIVE_IMPORT)) {
          const target = join(dirname(file), imported);
          this.#importers.set(target, [...(this.#importers.get(target) ?? []), file]);
        }
      }
  }

  /** Test files of the project `unit` that import the file → over how many files. The nearest first. */
  related(file: string): Map<string, number> {
    return new Map([...this.#importing(file)].filter(([name]) => projectOf(name) === 'unit'));
  }

  /** The test files that start databases or processes, the short ones first. */
  ofOtherProjects(): string[] {
    const order = ['isolated', 'postgres', 'envoy', 'gui', 'e2e', 'chaos'];
    const rank = (name: string): number => order.indexOf(projectOf(name) ?? '');
    return this.#tests.filter((name) => rank(name) >= 0).sort((a, b) => rank(a) - rank(b));
  }

  #importing(file: string): Map<string, number> {
    const steps = new Map([[file, 0]]);
    for (const [at, far] of steps)
      for (const importer of this.#importers.get(at) ?? []) if (!steps.has(importer)) steps.set(importer, far + 1);
    return steps;
  }
}

/** The project of vitest that has a file; null where it is no test file, or reads the sources as text. */
export function projectOf(file: string): string | null {
  if (OF_SOURCES.includes(file)) return null;
  for (const [end, project] of PROJECTS) if (file.endsWith(end)) return project;
  return null;
}
