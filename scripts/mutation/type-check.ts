// Whether a changed file still compiles. One program for all changes: only the changed file is checked again.
import { resolve } from 'node:path';
import { API, type Snapshot } from 'typescript/unstable/sync';

export class TypeCheck {
  readonly #config: string;
  readonly #compiler: API;
  #changed = { file: '', text: '' };
  #snapshot: Snapshot;

  constructor(top: string) {
    this.#config = resolve(top, 'tsconfig.json');
    this.#compiler = new API({
      cwd: top,
      // What is not changed is read from the disk.
      fs: { readFile: (path) => (path === this.#changed.file ? this.#changed.text : undefined) },
    });
    this.#snapshot = this.#compiler.updateSnapshot({ openProjects: [this.#config] });
  }

  /** Whether the file compiles with this text. An absolute path. */
  accepts(file: string, text: string): boolean {
    const before = this.#changed.file;
    this.#changed = { file, text };
    const changed = [...new Set([before, file])].filter((path) => path !== '');
    const next = this.#compiler.updateSnapshot({ fileChanges: { changed } });
    this.#snapshot.dispose();
    this.#snapshot = next;
    const program = next.getProject(this.#config)?.program;
    if (program === undefined) throw new Error(`no project of ${this.#config}`);
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].length === 0;
  }
}
