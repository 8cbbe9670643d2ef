import { mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { openDatabase, type Database } from '../../src/store/database.ts';
import { migrationStatus } from '../../src/store/migrate.ts';
import { openStore } from '../../src/store/open-store.ts';
import { SqlStore } from '../../src/store/sql-store.ts';
import { embeddedFolder } from '../support/embedded-store.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { sqlStoreContract } from './sql-contract.ts';

const log = createLogger('silent');

describe('the store on PGlite', () => {
  sqlStoreContract(async () => {
    const database = await openDatabase({ type: 'embedded', path: await embeddedFolder() }, { clock: systemClock, log });
    const store = new SqlStore(database, log);
    return { store, db: database.db, close: () => store.close() };
  });

  it('refuses a folder in use, and takes over the folder of a dead process (engine 24)', async () => {
    const path = await embeddedFolder();
    const open = (): Promise<Database> => openDatabase({ type: 'embedded', path }, { clock: systemClock, log });
    const database = await open();
    await expect(open()).rejects.toThrow(/in use by process/);
    await database.close();
    for (const file of [join(path, 'meridian.lock'), `${path}.lock`]) await writeFile(file, '4194303');
    await (await open()).close();
  });

  it.each(['pg/', './pg/../pg', 'link'])('refuses a folder in use under another spelling of its path: %s', async (spelling) => {
    const path = await embeddedFolder();
    await symlink(path, join(dirname(path), 'link'));
    const open = (at: string): Promise<Database> => openDatabase({ type: 'embedded', path: at }, { clock: systemClock, log });
    const database = await open(path);
    await expect(open(`${dirname(path)}/${spelling}`)).rejects.toThrow(/in use by process/);
    await database.close();
    await (await open(`${dirname(path)}/${spelling}`)).close();
  });

  it('is made in an empty mount point behind a symbolic link, over what a killed process left', async () => {
    const folder = temporaryFolder();
    const volume = join(folder, 'volume');
    await mkdir(join(volume, 'meridian-new/base'), { recursive: true, mode: 0o700 });
    await mkdir(join(volume, 'lost+found'));
    await symlink(volume, join(folder, 'pg'));
    const { ino } = await stat(volume);
    const config = { type: 'embedded', path: join(folder, 'pg') } as const;
    await (await openStore(config, { clock: systemClock, log })).close();
    // A mount point cannot be replaced.
    expect((await stat(volume)).ino).toBe(ino);
    const entries = await readdir(volume);
    expect(entries).toEqual(expect.arrayContaining(['PG_VERSION', 'base', 'global', 'pg_wal', 'lost+found']));
    expect(entries.filter((name) => name.startsWith('meridian-'))).toEqual([]);
    const database = await openDatabase(config, { clock: systemClock, log });
    expect((await migrationStatus(database)).map(({ appliedAt }) => appliedAt)).not.toContain(null);
    await database.close();
  });
});
