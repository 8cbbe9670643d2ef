import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { openDatabase } from '../../src/store/database.ts';
import { SqlStore } from '../../src/store/sql-store.ts';
import { embeddedFolder } from '../support/embedded-store.ts';
import { sqlStoreContract } from './sql-contract.ts';

const log = createLogger('silent');

describe('the store on PGlite', () => {
  sqlStoreContract(async () => {
    const database = await openDatabase({ type: 'embedded', path: await embeddedFolder() }, { clock: systemClock, log });
    const store = new SqlStore(database, log);
    return { store, db: database.db, close: () => store.close() };
  });

  it('refuses a folder in use by another process, and takes over the folder of a dead one (engine 24)', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'meridian-lock-'));
    const { lockFolder } = await import('../../src/store/folder-lock.ts');
    const unlock = await lockFolder(join(folder, 'pg'));
    await expect(lockFolder(join(folder, 'pg'))).rejects.toThrow(/in use by process/);
    await unlock();
    const { writeFile } = await import('node:fs/promises');
    await writeFile(join(folder, 'pg.lock'), '4194303');
    await (
      await lockFolder(join(folder, 'pg'))
    )();
    await rm(folder, { recursive: true });
  });
});
