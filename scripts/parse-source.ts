// Syntax trees of TypeScript, for the tests and the tools that read sources. The parser is the native compiler, in a process of its own
// that ends with this one.
import type { SourceFile } from 'typescript/unstable/ast';
import { API, type Snapshot } from 'typescript/unstable/sync';

/** The one file that the parser sees, beside the configuration of its project. */
const FILE = '/source.ts';
const CONFIG = '/tsconfig.json';
const CONFIG_TEXT = JSON.stringify({ compilerOptions: { noLib: true, noResolve: true, types: [] }, files: [FILE] });

let text = '';
const readFile = (path: string): string | null => (path === FILE ? text : path === CONFIG ? CONFIG_TEXT : null);
const fileExists = (path: string): boolean => readFile(path) !== null;
let parser: API | undefined;
/** Lives until the next one: the parser takes a change of a file of a project that is open. */
let snapshot: Snapshot | undefined;

/** The tree of a source. A text with faults gives a tree too. */
export function parseSource(source: string): SourceFile {
  text = source;
  parser ??= new API({ cwd: '/', fs: { readFile, fileExists } });
  const next = parser.updateSnapshot({ openProjects: [CONFIG], fileChanges: { changed: [FILE] } });
  snapshot?.dispose();
  snapshot = next;
  const file = next.getProject(CONFIG)?.program.getSourceFile(FILE);
  if (file === undefined) throw new Error('the parser has not read the source');
  return file;
}
