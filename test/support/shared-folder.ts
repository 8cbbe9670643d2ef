// What runs of the tests make once. A run of CI has several runs of the tests, which share a folder (TEST_SHARED_FOLDER): the first that
// needs something makes it, and the others wait. Without the variable a run shares with no other.
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { MeridianError } from '../../src/base/errors.ts';
import { lockFile } from '../../src/store/folder-lock.ts';

/** The folder of the runs, which the caller of the tests removes; undefined for a run of its own. */
export const sharedFolder = process.env['TEST_SHARED_FOLDER'];

/**
 * Makes a folder unless it is made.
 * @param make fills the folder, which is empty: what a process that was killed left of it is removed
 * @returns the folder
 */
export async function madeOnce(parent: string, name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(parent, name);
  const done = `${folder}.done`;
  const unlock = await lockWhenFree(folder);
  try {
    if (!existsSync(done)) {
      await rm(folder, { recursive: true, force: true });
      await mkdir(folder);
      await make(folder);
      await writeFile(done, '');
    }
  } finally {
    await unlock();
  }
  return folder;
}

async function lockWhenFree(folder: string): Promise<() => Promise<void>> {
  for (;;) {
    try {
      return await lockFile(folder, `${folder}.lock`);
    } catch (error) {
      if (!(error instanceof MeridianError) || error.code !== 'config') throw error;
      await setTimeout(20);
    }
  }
}
