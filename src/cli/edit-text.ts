// The text that `edit` gives to an editor, and what it comes back as.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MeridianError } from '../base/errors.ts';

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
    if (code !== 0) {
      await this.remove();
      throw new MeridianError('invalid', `the editor ${JSON.stringify(editor)} failed; set EDITOR to one that is installed`);
    }
    return await readFile(this.path, 'utf8');
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** The lines in front of the text that explain it; `problems` say why it is shown again. */
export function withComments(text: string, name: string, problems: readonly string[]): string {
  const lines = [
    `Change ${name}, save and close. An unchanged file changes nothing.`,
    ...(problems.length > 0 ? ['', 'It was not accepted:', ...problems] : []),
  ];
  return `${lines.map((line) => (line === '' ? '#' : `# ${line}`)).join('\n')}\n${text}`;
}

/** The text without the comment lines at its head. */
export function withoutComments(text: string): string {
  return text.replace(/^(?:#[^\n]*\n)+/, '');
}
