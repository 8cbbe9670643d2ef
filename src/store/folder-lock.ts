// PGlite has no lock of its own: two processes on one folder lose acknowledged rows (engine 24). A file in the folder is the lock: every
// process that reaches the folder reaches the file, by whatever path, link or mount point.
// Invariant: the file always contains its owner, so no process mistakes a new lock for an abandoned one.
import { link, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { MeridianError } from '../base/errors.ts';

/**
 * The locks of this process. The process id alone does not prove ownership: in a container every process may have the id of its
 * predecessor.
 */
const held = new Set<string>();

/** The lock file in a folder. */
const IN_FOLDER = 'meridian.lock';

/** @property host '' in a file of an earlier version */
type Owner = { readonly pid: number; readonly host: string };

/** Whether a file is the lock of its folder, or a short-lived file of the taking of the lock. */
export function isOfLock(name: string): boolean {
  return name === IN_FOLDER || name.startsWith(`${IN_FOLDER}.`);
}

/**
 * Takes the lock of a folder that exists. The lock of a dead process is taken over.
 * @returns a function that releases the lock
 * @throws MeridianError `config` while another process has it
 */
export async function lockFolder(path: string): Promise<() => Promise<void>> {
  const locks: (() => Promise<void>)[] = [];
  const unlock = async (): Promise<void> => {
    for (const release of locks.toReversed()) await release();
  };
  try {
    for (const file of await lockFilesOf(path)) locks.push(await lockFile(path, file));
  } catch (error) {
    await unlock();
    throw error;
  }
  return unlock;
}

/** An earlier version has its lock beside the folder. It had none for a mount point, which is on another file system. */
async function lockFilesOf(path: string): Promise<string[]> {
  const [folder, parent] = await Promise.all([stat(path), stat(dirname(path))]);
  return [join(path, IN_FOLDER), ...(folder.dev === parent.dev ? [`${path}.lock`] : [])];
}

/** The lock of a folder in this file. */
export async function lockFile(path: string, file: string): Promise<() => Promise<void>> {
  if (held.has(file)) throw inUse(path, file, { pid: process.pid, host: hostname() });
  held.add(file);
  try {
    await take(path, file);
  } catch (error) {
    held.delete(file);
    throw error;
  }
  return async () => {
    await rm(file, { force: true });
    held.delete(file);
  };
}

async function take(path: string, file: string): Promise<void> {
  const mine = `${file}.${String(process.pid)}`;
  const taking = `${file}.taking`;
  await writeFile(mine, `${String(process.pid)} ${hostname()}`);
  try {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      if (await succeeds(link(mine, file), 'EEXIST')) return;
      const left = await leftIn(file, path);
      if (left === null) continue;
      // One process takes over at a time, and only the lock file that it has read: never a newer one.
      if (!(await succeeds(link(mine, taking), 'EEXIST'))) {
        await leftIn(taking, path);
        continue;
      }
      try {
        if ((await contentOf(file)) !== left) continue;
        return await rename(mine, file);
      } finally {
        await rm(taking, { force: true });
      }
    }
  } finally {
    await rm(mine, { force: true });
  }
  throw new MeridianError('config', `cannot lock the embedded store: remove ${file} and ${taking} if no Meridian runs on it`);
}

/** The content of the lock file of a dead process; null without a file. @throws MeridianError if the process is alive */
async function leftIn(file: string, path: string): Promise<string | null> {
  const text = await contentOf(file);
  const owner = text === null ? null : ownerOf(text);
  if (owner !== null && isThere(owner)) throw inUse(path, file, owner);
  return text;
}

async function contentOf(file: string): Promise<string | null> {
  return await readFile(file, 'utf8').catch(() => null);
}

/** Returns false if the step fails with `code`. Other failures are thrown. */
async function succeeds(step: Promise<void>, code: string): Promise<boolean> {
  try {
    await step;
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== code) throw error;
    return false;
  }
}

function ownerOf(text: string): Owner | null {
  const [pid, host = ''] = text.split(' ');
  return Number.isInteger(Number(pid)) && Number(pid) > 0 ? { pid: Number(pid), host } : null;
}

/**
 * An owner of another host, such as another container with the same volume, may run: its process cannot be looked up here. An owner with
 * the process id and host of this process is an earlier process that has ended: this process never checks its own lock.
 */
function isThere({ pid, host }: Owner): boolean {
  if (host !== '' && host !== hostname()) return true;
  return pid !== process.pid && isAlive(pid);
}

function inUse(path: string, file: string, { pid, host }: Owner): MeridianError {
  const who = `process ${String(pid)}${host === '' ? '' : ` of ${host}`}`;
  const remedy = `stop it, or set store.embedded.path to another folder; if it no longer runs, remove ${file}`;
  return new MeridianError('config', `the embedded store in ${path} is in use by ${who}: ${remedy}`);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
