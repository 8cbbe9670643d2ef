// PGlite has no lock of its own: two processes on one folder lose acknowledged rows (engine 24). A file beside it is ours.
import { readFile, rm, writeFile } from 'node:fs/promises';
import { MeridianError } from '../base/errors.ts';

/**
 * Takes the lock of a folder; one that a dead process left is taken over.
 * @returns gives it back
 * @throws MeridianError `config` while another process has it
 */
export async function lockFolder(path: string): Promise<() => Promise<void>> {
  const file = `${path}.lock`;
  for (let attempt = 0; attempt < 5; attempt += 1) {
    try {
      await writeFile(file, String(process.pid), { flag: 'wx' });
      return async () => rm(file, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const pid = Number(await readFile(file, 'utf8').catch(() => ''));
    if (Number.isInteger(pid) && pid > 0 && isAlive(pid)) {
      const text = `the embedded store in ${path} is in use by process ${String(pid)}: stop it, or set store.embedded.path to another folder`;
      throw new MeridianError('config', text);
    }
    await rm(file, { force: true });
  }
  throw new MeridianError('config', `cannot lock the embedded store: remove ${file} if no Meridian runs on it`);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
