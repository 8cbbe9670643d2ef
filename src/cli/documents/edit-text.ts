// The text that `edit` gives to an editor, and the parser of the edited text.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MeridianError } from '../../base/errors.ts';

const REMEDY = 'set EDITOR to one that is installed, if this was not on purpose';

/** A file in a folder that only this user can read: a resource can be a secret. */
export class EditedFile {
  readonly path: string;
  readonly #folder: string;

  private constructor(folder: string, name: string) {
    this.#folder = folder;
    this.path = join(folder, name);
  }

  static async create(name: string): Promise<EditedFile> {
    return new EditedFile(await mkdtemp(join(tmpdir(), 'meridian-edit-')), name);
  }

  /** Lets a person change the text. @throws MeridianError when the editor cannot be started or fails */
  async edit(text: string, env: NodeJS.ProcessEnv = process.env): Promise<string> {
    await writeFile(this.path, text, { mode: 0o600 });
    const editor = env['VISUAL'] ?? env['EDITOR'] ?? 'vi';
    // The variable may hold options too: `code --wait`.
    const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, 'edit', this.path], { stdio: 'inherit' });
    const [code] = (await once(child, 'exit')) as [number | null];
    if (code !== 0) throw new MeridianError('invalid', `the editor ${JSON.stringify(editor)} failed; ${REMEDY}`);
    return await readFile(this.path, 'utf8');
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/**
 * The text under lines that explain it.
 * @param shown the file as it was read before, and line by line why it is shown again; places move with the text
 */
export function withComments(
  text: string,
  name: string,
  shown?: { file: string; path: string; problems: readonly string[] },
): string {
  const head = [`Change ${name}, save and close. An unchanged file changes nothing.`];
  if (shown !== undefined) {
    const { file, path, problems } = shown;
    head.push('', 'It was not accepted:');
    const by = head.length + problems.length - commentLines(file);
    head.push(...problems.map((line) => moved(line, path, by)));
  }
  return `${head.map((line) => (line === '' ? '#' : `# ${line}`)).join('\n')}\n${text}`;
}

/** The text without the comment lines at its head. */
export function withoutComments(text: string): string {
  return text.replace(COMMENTS, '');
}

const COMMENTS = /^(?:#[^\n]*\n)+/;

function commentLines(text: string): number {
  return (COMMENTS.exec(text)?.[0] ?? '').split('\n').length - 1;
}

/** A line that names a place in the file, `/tmp/slow.yaml:10:3: …`, when that many lines came before it. */
function moved(line: string, path: string, by: number): string {
  const [before = '', after] = line.split(`${path}:`);
  if (after === undefined) return line;
  return `${before}${path}:${after.replace(/^\d+/, (number) => String(Number(number) + by))}`;
}
