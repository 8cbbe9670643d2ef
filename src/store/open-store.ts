// Opens the configured store. An embedded store migrates itself; a PostgreSQL must be migrated before.
import type { Clock } from '../base/clock.ts';
import { MeridianError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { unlessAborted } from '../base/supervise.ts';
import { openDatabase, type StoreConfig } from './database.ts';
import { migrate, requireCurrentSchema } from './migrate.ts';
import type { ResourceStore } from './resource-store.ts';
import { SqlStore } from './sql-store.ts';
import { isLoginRefused, isNoAnswer } from './pg-errors.ts';

/** The time for which a start waits for an unreachable PostgreSQL, which may be starting too. */
const PATIENCE_MS = 15_000;
const PAUSE_MS = 250;

/** @property signal ends the start: the wait for an unreachable database, and the making of an embedded one until its migrations */
type OpenStoreOptions = {
  readonly clock: Clock;
  readonly log: Logger;
  readonly answerMs?: number;
  readonly signal?: AbortSignal;
};

/**
 * Opens a store.
 * @throws MeridianError `schema_outdated`, `unavailable` also when the signal aborts, or `config` while another process uses the
 * embedded folder
 */
export async function openStore(config: StoreConfig, options: OpenStoreOptions): Promise<ResourceStore> {
  const { clock, log, answerMs, signal } = options;
  const database = await openDatabase(config, { clock, log }, answerMs, signal);
  try {
    signal?.throwIfAborted();
    if (config.type === 'embedded') await migrate(database, { log });
    else await whenItAnswers(() => requireCurrentSchema(database), options);
    return new SqlStore(database, log);
  } catch (error) {
    await database.close().catch(() => undefined);
    if (error instanceof MeridianError || config.type === 'embedded') throw error;
    const where = `${config.host}:${String(config.port)}/${config.dbName}`;
    throw new MeridianError('unavailable', `cannot use PostgreSQL at ${where}: ${messageOf(error)}`, { cause: error });
  }
}

async function whenItAnswers(check: () => Promise<void>, { clock, log, signal }: OpenStoreOptions): Promise<void> {
  for (const began = clock.elapsed(); ;) {
    try {
      await (signal === undefined ? check() : unlessAborted(signal, check()));
      return;
    } catch (error) {
      const waited = clock.elapsed() - began;
      if (!isNoAnswer(error) || isLoginRefused(error) || waited > PATIENCE_MS || signal?.aborted === true) throw error;
      if (waited < PAUSE_MS) log.warn({ reason: messageOf(error) }, 'the database does not answer; the start waits');
      await clock.sleep(PAUSE_MS, signal);
    }
  }
}
