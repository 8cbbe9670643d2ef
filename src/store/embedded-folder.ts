// The folder of a new embedded store. It may be a mount point, which cannot be replaced, so the store is made in it.
// Invariant: when the folder has been filled, it is complete. A start completes what an earlier process began.
import { once } from 'node:events';
import { readdir, rename, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { unlessAborted } from '../base/supervise.ts';
import { isOfLock } from './folder-lock.ts';
import { makePrivateFolder } from './private-folder.ts';

/** The folder in which a store is made. */
const MAKING = 'meridian-new';
/** The name of the folder when the store is complete: its entries move up. */
const MADE = 'meridian-made';
/** PGlite takes a folder with this file for a store. It moves last. */
const VERSION = 'PG_VERSION';
/** The folder that a new file system of ext4 has at its top. */
const LOST_AND_FOUND = 'lost+found';

/**
 * Makes a store in a folder that is empty, or completes a store that a process left there; any other folder stays as it is. Call it
 * with the lock of the folder.
 * @throws MeridianError `unavailable` when the signal aborts, which ends the work at once
 */
export async function fillEmptyFolder(path: string, signal: AbortSignal): Promise<void> {
  const [making, made] = [join(path, MAKING), join(path, MADE)];
  const entries = (await readdir(path)).filter((name) => !isOfLock(name) && name !== LOST_AND_FOUND);
  if (!entries.includes(MADE)) {
    if (entries.some((name) => name !== MAKING)) return;
    await makeStore(making, signal);
    await rename(making, made);
  }
  const names = (await readdir(made)).filter((name) => name !== VERSION);
  for (const name of names) await rename(join(made, name), join(path, name));
  if (!(await readdir(path)).includes(VERSION)) await rename(join(made, VERSION), join(path, VERSION));
  await rmdir(made);
}

/** Whether there is a store in the folder, complete or to be completed. */
export async function hasStore(path: string): Promise<boolean> {
  const entries = await readdir(path).catch((error: unknown): string[] => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  });
  return entries.includes(VERSION) || entries.includes(MADE);
}

/** Leaves no folder when it fails. */
async function makeStore(path: string, signal: AbortSignal): Promise<void> {
  // The folder may be that of a process that was killed.
  await rm(path, { recursive: true, force: true });
  await makePrivateFolder(path);
  const worker = new Worker(new URL('create-embedded.ts', import.meta.url), { workerData: path });
  try {
    const [code] = (await unlessAborted(signal, once(worker, 'exit'))) as [number];
    if (code !== 0) throw new Error(`the making of a new store ended with code ${String(code)}`);
  } catch (error) {
    await worker.terminate();
    await rm(path, { recursive: true, force: true });
    throw error;
  }
}
