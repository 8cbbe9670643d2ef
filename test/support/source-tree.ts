// The files of src as the architecture test sees them: their imports, circles of imports, sizes of rooms, lists that name files. Pure but for
// `readSourceTree`, so that a test can show that each rule finds what it forbids.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Path of a file, relative to the root → its text. */
export type SourceTree = ReadonlyMap<string, string>;

/** What a folder may hold in its own files, without those of its folders and without tests. */
export type RoomSize = { readonly files: number; readonly lines: number };

const MAX_LINES_OF_A_FILE = 500;

/** All TypeScript files below a folder. */
export function readSourceTree(root: string): SourceTree {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));
  return new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
}

export function withoutTests(tree: SourceTree): SourceTree {
  return new Map([...tree].filter(([file]) => !file.endsWith('.test.ts')));
}

/** Files that a file imports, relative to the root. Without `types` only those that run. */
export function importsOf(tree: SourceTree, file: string, options: { types: boolean }): string[] {
  const text = tree.get(file) ?? '';
  const found = text.matchAll(/^(?:import|export)\s+(type\s)?[^;]*?from\s+'(\.[^']+)'|import\('(\.[^']+)'\)/gm);
  return [...found].flatMap(([, isType, from, dynamic]) => {
    if (isType !== undefined && !options.types) return [];
    return [join(dirname(file), from ?? dynamic ?? '')];
  });
}

/**
 * Exports of a tree that no other file imports. A name that any file imports from any other counts as used.
 * @param others files outside of the tree that may use it
 */
export function exportsUsedAlone(tree: SourceTree, others: SourceTree): string[] {
  const used = new Set<string>();
  for (const text of [...tree.values(), ...others.values()])
    // What a dynamic import takes stands anywhere in its file.
    for (const part of text.includes('import(') ? [text] : (text.match(/^(?:import|export)\s[^;]*?\sfrom\s/gm) ?? []))
      for (const name of part.match(/[\w$]+/g) ?? []) used.add(name);
  return [...withoutTests(tree)].flatMap(([file, text]) =>
    [...text.matchAll(/^export (?:async |abstract )?(?:function\*?|class|const|let|type) ([\w$]+)/gm)]
      .map(([, name = '']) => name)
      .filter((name) => !used.has(name))
      .map((name) => `${file} exports ${name}`),
  );
}

/** Groups of files that import each other, directly or by others: the strongly connected parts of the graph, each sorted. */
export function circles(tree: SourceTree, options: { types: boolean }): string[][] {
  const order = new Map<string, number>();
  const open: string[] = [];
  const found: string[][] = [];
  const visit = (file: string): number => {
    const number = order.size;
    order.set(file, number);
    open.push(file);
    let low = number;
    for (const target of importsOf(tree, file, options)) {
      if (!tree.has(target)) continue;
      if (!order.has(target)) low = Math.min(low, visit(target));
      else if (open.includes(target)) low = Math.min(low, order.get(target) ?? low);
    }
    if (low === number) {
      const circle = open.splice(open.indexOf(file));
      if (circle.length > 1 || importsOf(tree, file, options).includes(file)) found.push(circle.toSorted());
    }
    return low;
  };
  for (const file of tree.keys()) if (!order.has(file)) visit(file);
  return found.toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1));
}

/**
 * Files and rooms that hold more than one can know.
 * @param rooms folders with another limit than the general one
 * @returns sentences; one also for a folder in `rooms` that needs no limit of its own any more
 */
export function oversized(tree: SourceTree, general: RoomSize, rooms: Readonly<Record<string, RoomSize>>): string[] {
  const held = new Map<string, { files: number; lines: number }>();
  const wrong: string[] = [];
  for (const [file, text] of tree) {
    const lines = text.split('\n').length;
    if (lines > MAX_LINES_OF_A_FILE)
      wrong.push(`${file} has ${String(lines)} lines; more than ${String(MAX_LINES_OF_A_FILE)} is more than one job: split it`);
    if (file.endsWith('.test.ts')) continue;
    const room = dirname(file);
    const { files: others, lines: theirs } = held.get(room) ?? { files: 0, lines: 0 };
    held.set(room, { files: others + 1, lines: theirs + lines });
  }
  for (const [room, size] of held) {
    const most = rooms[room] ?? general;
    if (size.files > most.files || size.lines > most.lines)
      wrong.push(
        `${room} has ${sizeText(size)} of its own; it may have ${sizeText(most)}: give a part of it a folder of its own`,
      );
  }
  for (const room of Object.keys(rooms)) {
    const size = held.get(room) ?? { files: 0, lines: 0 };
    if (size.files <= general.files && size.lines <= general.lines)
      wrong.push(`${room} has ${sizeText(size)}: it needs no limit of its own, remove it from the list`);
  }
  return wrong;
}

/** Names of a list that are neither a file nor a folder (`name/`) of the tree: a rule that permits what is gone permits what comes next. */
export function gone(tree: SourceTree, names: Iterable<string>): string[] {
  const files = [...tree.keys()];
  return [...names].filter((name) => (name.endsWith('/') ? !files.some((file) => file.startsWith(name)) : !tree.has(name)));
}

function sizeText({ files, lines }: RoomSize): string {
  return `${String(files)} files and ${String(lines)} lines`;
}
