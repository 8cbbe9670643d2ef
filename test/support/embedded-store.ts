// Embedded stores of the tests. A new PostgreSQL costs seven seconds of CPU, so a run creates one, and each store is a copy of it.
import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inject } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { ResourceStore } from '../../src/store/resource-store.ts';
import { madeOnce, sharedFolder } from './shared-folder.ts';

const log = createLogger('silent');

/** A store without rows, in a folder that is removed after the run. */
export async function openEmbeddedStore(): Promise<ResourceStore> {
  return await openStore({ type: 'embedded', path: await embeddedFolder() }, { clock: systemClock, log });
}

/** The folder of a migrated, closed store. */
export async function embeddedFolder(): Promise<string> {
  const ofRun = inject('embeddedFolder');
  const made = await madeOnce(sharedFolder ?? ofRun, 'embedded', async (folder) =>
    (await openStore({ type: 'embedded', path: join(folder, 'pg') }, { clock: systemClock, log })).close(),
  );
  const path = join(await mkdtemp(join(ofRun, 'store-')), 'pg');
  // A thousand files: `cp` of node:fs takes six times the CPU.
  await promisify(execFile)('cp', ['-R', join(made, 'pg'), path]);
  return path;
}
