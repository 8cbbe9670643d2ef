// The file that `edit` gives to an editor: a resource between comments.
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
    // A shell would run the file itself as the command of a blank variable.
    const editor = [env['VISUAL'], env['EDITOR']].find((given = '') => given.trim() !== '') ?? 'vi';
    // The variable may have options: `code --wait`.
    const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, 'edit', this.path], { stdio: 'inherit' });
    const [code] = (await once(child, 'exit')) as [number | null];
    if (code !== 0) throw new MeridianError('invalid', `the editor ${JSON.stringify(editor)} failed; ${REMEDY}`);
    try {
      return await readFile(this.path, 'utf8');
    } catch (error) {
      await writeFile(this.path, text, { mode: 0o600 });
      throw new MeridianError('invalid', `the editor ${JSON.stringify(editor)} left no file that can be read`, { cause: error });
    }
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/**
 * The text between comments: a line of explanation before it, and the errors after it. The line numbers of the text do not change, so
 * errors can refer to them.
 */
export function withComments(text: string, name: string, problems: readonly string[] = []): string {
  const head = `# Change ${name}, save and close. An unchanged file changes nothing.`;
  if (problems.length === 0) return `${head}\n${text}`;
  return `${head} It was not accepted: see the end.\n${text}${problems.map((line) => `# ${line}\n`).join('')}`;
}

/** The text without the comment lines at its head and at its end. */
export function withoutComments(text: string): string {
  const lines = text.replace(/\n$/, '').split('\n');
  const isText = (line: string): boolean => !line.startsWith('#');
  return `${lines.slice(lines.findIndex(isText), lines.findLastIndex(isText) + 1).join('\n')}\n`;
}
