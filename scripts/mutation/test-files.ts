// Which test files import a file, by how many steps. Only relative imports count, as the text names them.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const FOLDERS = ['src', 'test'];
/** `unit` alone: the others start databases and processes of their own. */
const UNIT = /(?<!\.(?:pg|e2e|peers|isolated))\.test\.ts$/;
/** They read the sources as text, and would notice every change or none. */
const NOT_UNIT = ['test/architecture.test.ts', 'test/citations.test.ts', 'test/matched-text.test.ts', 'test/docs.test.ts'];

/** As prettier writes them: `from './a.ts'`, `import './a.ts'`, `import('./a.ts')`. */
const RELATIVE_IMPORT = /\b(?:from |import |import\()'(\.[^'\n]+)'/g;

export class TestFiles {
  /** File → files that import it, relative to the top. */
  readonly #importers = new Map<string, string[]>();

  constructor(top: string) {
    for (const folder of FOLDERS)
      for (const name of readdirSync(join(top, folder), { recursive: true, encoding: 'utf8' })) {
        if (!name.endsWith('.ts')) continue;
        const file = join(folder, name);
        for (const [, imported = ''] of readFileSync(join(top, file), 'utf8').matchAll(RELATIVE_IMPORT)) {
          const target = join(dirname(file), imported);
          this.#importers.set(target, [...(this.#importers.get(target) ?? []), file]);
        }
      }
  }

  /**
   * Test files that import the file → over how many files. The nearest first.
   * @param withPostgres those of the project `postgres` too
   */
  related(file: string, withPostgres: boolean): Map<string, number> {
    const isRelated = (name: string): boolean =>
      (UNIT.test(name) && !NOT_UNIT.includes(name)) || (withPostgres && isOfPostgres(name));
    return new Map([...this.#importing(file)].filter(([name]) => isRelated(name)));
  }

  #importing(file: string): Map<string, number> {
    const steps = new Map([[file, 0]]);
    for (const [at, far] of steps)
      for (const importer of this.#importers.get(at) ?? []) if (!steps.has(importer)) steps.set(importer, far + 1);
    return steps;
  }
}

export function isOfPostgres(file: string): boolean {
  return file.endsWith('.pg.test.ts');
}
