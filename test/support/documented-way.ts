// A way of docs/flow.md: a section with a numbered list of files, and list items of files that do not count.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const PAGE = join(import.meta.dirname, '../../docs/flow.md');

export type DocumentedWay = {
  /** Relative to src, in the order of the way. */
  readonly files: readonly string[];
  /** Files, and folders that end with `/`. */
  readonly notCounted: readonly string[];
};

/** @param title of the section */
export function documentedWay(title: string): DocumentedWay {
  const [, section = ''] = readFileSync(PAGE, 'utf8').split(`\n## ${title}\n`);
  const [own = ''] = section.split('\n## ');
  const [list = '', rest = ''] = own.split('\nNot counted');
  const pathsIn = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, path = '']) => path);
  return { files: pathsIn(list, /^\d+\. `src\/([^`]+)`/gm), notCounted: pathsIn(rest, /`src\/([^`]+)`/g) };
}

/** Divides a measured way: files that the page lists as the way, and files that it does not mention. */
export function compareWay(run: readonly string[], { files, notCounted }: DocumentedWay): { way: string[]; unused: string[] } {
  const covers = (path: string, file: string): boolean => (path.endsWith('/') ? file.startsWith(path) : file === path);
  return {
    way: run.filter((file) => files.includes(file) || !notCounted.some((path) => covers(path, file))),
    unused: notCounted.filter((path) => !run.some((file) => covers(path, file))),
  };
}
