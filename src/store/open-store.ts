// Opens the configured store: an embedded one migrates itself, a PostgreSQL must have been migrated.
import { MeridianError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { openDatabase, type StoreConfig } from './database.ts';
import { migrate, requireCurrentSchema } from './migrate.ts';
import type { ResourceStore } from './resource-store.ts';
import { SqlStore } from './sql-store.ts';

/** @throws MeridianError: `schema_outdated`, `unavailable`, or `config` while another process has the embedded folder */
export async function openStore(config: StoreConfig, { log }: { log: Logger }): Promise<ResourceStore> {
  const database = await openDatabase(config, log);
  try {
    if (config.type === 'embedded') await migrate(database, { log });
    else await requireCurrentSchema(database);
    return new SqlStore(database, log);
  } catch (error) {
    await database.close().catch(() => undefined);
    if (error instanceof MeridianError || config.type === 'embedded') throw error;
    const where = `${config.host}:${String(config.port)}/${config.dbName}`;
    throw new MeridianError('unavailable', `cannot use PostgreSQL at ${where}: ${messageOf(error)}`, { cause: error });
  }
}
