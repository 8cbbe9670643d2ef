// The folder of a new embedded store. Invariant: it is empty or complete, also when the process ends while the store is made.
import { once } from 'node:events';
import { readdir, rename, rm, rmdir } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { unlessAborted } from '../base/supervise.ts';
import { makePrivateFolder } from './private-folder.ts';

/**
 * Makes a store in a folder that is empty; any other folder stays as it is. Call it with the lock of the folder.
 * @throws MeridianError `unavailable` when the signal aborts, which ends the work at once
 */
export async function fillEmptyFolder(path: string, signal: AbortSignal): Promise<void> {
  if ((await readdir(path)).length > 0) return;
  const made = `${path}.new`;
  // Of a process that was killed.
  await rm(made, { recursive: true, force: true });
  await makePrivateFolder(made);
  const worker = new Worker(new URL('create-embedded.ts', import.meta.url), { workerData: made });
  try {
    const [code] = (await unlessAborted(signal, once(worker, 'exit'))) as [number];
    if (code !== 0) throw new Error(`the making of a new store ended with code ${String(code)}`);
    await rmdir(path);
    await rename(made, path);
  } finally {
    await worker.terminate();
    await rm(made, { recursive: true, force: true });
  }
}
