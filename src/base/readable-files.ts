// Checks the files that the configuration names. One error reports all unreadable files, so that a person can fix them together and
// the log repeats a single message.
import { open } from 'node:fs/promises';
import { MeridianError } from './errors.ts';

/** @param files path by key of the configuration; `''` where none is set. @throws MeridianError `config` that names each key and path */
export async function requireReadable(files: Readonly<Record<string, string>>): Promise<void> {
  const given = Object.entries(files).filter(([, path]) => path !== '');
  const faults = await Promise.all(given.map(async ([key, path]) => await faultOf(key, path)));
  const messages = faults.filter((fault) => fault !== null);
  if (messages.length > 0) throw new MeridianError('config', messages.join('; '));
}

async function faultOf(key: string, path: string): Promise<string | null> {
  try {
    const file = await open(path);
    const isFolder = (await file.stat()).isDirectory();
    await file.close();
    return isFolder ? `${key}: ${path} is a folder; give a file` : null;
  } catch (cause) {
    const why = (cause as { code?: string }).code ?? 'unknown error';
    return `${key}: ${path} cannot be read (${why})`;
  }
}
