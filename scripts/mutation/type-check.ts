// Whether a changed file still compiles. One program for all changes: only the changed file is checked again.
import { resolve } from 'node:path';
import ts from 'typescript';

export class TypeCheck {
  readonly #service: ts.LanguageService;
  readonly #changed = new Map<string, string>();
  #version = 0;

  constructor(top: string) {
    const config = ts.getParsedCommandLineOfConfigFile(
      resolve(top, 'tsconfig.json'),
      {},
      {
        ...ts.sys,
        onUnRecoverableConfigFileDiagnostic: ({ messageText }) => {
          throw new Error(ts.flattenDiagnosticMessageText(messageText, '\n'));
        },
      },
    );
    if (config === undefined) throw new Error(`no tsconfig.json in ${top}`);
    this.#service = ts.createLanguageService({
      getCompilationSettings: () => config.options,
      getScriptFileNames: () => config.fileNames,
      getScriptVersion: (file) => (this.#changed.has(file) ? String(this.#version) : '0'),
      getScriptSnapshot: (file) => {
        const text = this.#changed.get(file) ?? ts.sys.readFile(file);
        return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
      },
      getCurrentDirectory: () => top,
      getDefaultLibFileName: (options) => ts.getDefaultLibFilePath(options),
      fileExists: (path) => ts.sys.fileExists(path),
      readFile: (path, encoding) => ts.sys.readFile(path, encoding),
      readDirectory: (...args) => ts.sys.readDirectory(...args),
      directoryExists: (path) => ts.sys.directoryExists(path),
      getDirectories: (path) => ts.sys.getDirectories(path),
    });
  }

  /** Whether the file compiles with this text. An absolute path. */
  accepts(file: string, text: string): boolean {
    this.#changed.clear();
    this.#changed.set(file, text);
    this.#version += 1;
    return [...this.#service.getSyntacticDiagnostics(file), ...this.#service.getSemanticDiagnostics(file)].length === 0;
  }
}
