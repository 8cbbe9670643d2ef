// Opens the configured store. An embedded store migrates itself; a PostgreSQL must be migrated before.
import type { Clock } from '../base/clock.ts';
import { MeridianError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { openDatabase, type StoreConfig } from './database.ts';
import { migrate, requireCurrentSchema } from './migrate.ts';
import type { ResourceStore } from './resource-store.ts';
import { SqlStore } from './sql-store.ts';
import { isNoAnswer } from './pg-errors.ts';

/** The time for which a start waits for an unreachable PostgreSQL, which may be starting too. */
const PATIENCE_MS = 15_000;
const PAUSE_MS = 250;

/** @throws MeridianError `schema_outdated`, `unavailable`, or `config` while another process uses the embedded folder */
export async function openStore(
  config: StoreConfig,
  { clock, log, answerMs }: { readonly clock: Clock; readonly log: Logger; readonly answerMs?: number },
): Promise<ResourceStore> {
  const database = await openDatabase(config, { clock, log }, answerMs);
  try {
    if (config.type === 'embedded') await migrate(database, { log });
    else await whenItAnswers(() => requireCurrentSchema(database), clock, log);
    return new SqlStore(database, log);
  } catch (error) {
    await database.close().catch(() => undefined);
    if (error instanceof MeridianError || config.type === 'embedded') throw error;
    const where = `${config.host}:${String(config.port)}/${config.dbName}`;
    throw new MeridianError('unavailable', `cannot use PostgreSQL at ${where}: ${messageOf(error)}`, { cause: error });
  }
}

async function whenItAnswers(check: () => Promise<void>, clock: Clock, log: Logger): Promise<void> {
  for (const began = clock.elapsed(); ;) {
    try {
      await check();
      return;
    } catch (error) {
      const waited = clock.elapsed() - began;
      if (!isNoAnswer(error) || waited > PATIENCE_MS) throw error;
      if (waited < PAUSE_MS) log.warn({ reason: messageOf(error) }, 'the database does not answer; the start waits');
      await clock.sleep(PAUSE_MS);
    }
  }
}
