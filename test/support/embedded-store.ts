// Embedded stores of the tests. A new PostgreSQL costs five seconds of CPU, so a run creates one, and each store is a copy of it.
import { existsSync } from 'node:fs';
import { cp, mkdtemp, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { inject, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { lockFolder } from '../../src/store/folder-lock.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { ResourceStore } from '../../src/store/resource-store.ts';

const log = createLogger('silent');

/** A store without rows, in a folder that is removed after the run. */
export async function openEmbeddedStore(): Promise<ResourceStore> {
  return await openStore({ type: 'embedded', path: await embeddedFolder() }, { clock: systemClock, log });
}

/** The folder of a migrated, closed store. */
export async function embeddedFolder(): Promise<string> {
  const ofRun = inject('embeddedFolder');
  const made = join(ofRun, 'made');
  // Test files run in parallel: the others wait for the file that creates it.
  const unlock = await vi.waitFor(() => lockFolder(made));
  try {
    if (!existsSync(made)) {
      await (await openStore({ type: 'embedded', path: `${made}.new` }, { clock: systemClock, log })).close();
      await rename(`${made}.new`, made);
    }
  } finally {
    await unlock();
  }
  const path = join(await mkdtemp(join(ofRun, 'store-')), 'pg');
  await cp(made, path, { recursive: true });
  return path;
}
