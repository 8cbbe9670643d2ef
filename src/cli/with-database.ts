// The database of the commands that work on a store while no control plane runs, or beside one.
import { systemClock } from '../base/clock.ts';
import type { Config } from '../base/config.ts';
import type { Logger } from '../base/log.ts';
import type { Database } from '../store/database.ts';
import { configOf, explainDatabase, writeForOwnerAlone, type ConfigOptions } from './run-control-plane.ts';

type Store = Config['store'];

/** The store that the options, the environment and the file configure. */
export async function storeOf(options: ConfigOptions, mode: 'global' | 'zone' = 'zone'): Promise<Store> {
  return (await configOf(mode, options)).config.store;
}

/** A forgotten `store.type` means the embedded store of this user, so each answer names its store. */
export function storeName(store: Store): string {
  return store.type === 'embedded'
    ? `the embedded store in ${store.path}`
    : `PostgreSQL at ${store.host}:${String(store.port)}/${store.dbName}`;
}

/** Opens the database for `use`, and closes it. @throws MeridianError with a remedy when it cannot be reached */
export async function withDatabase(store: Store, use: (database: Database, log: Logger) => Promise<void>): Promise<void> {
  writeForOwnerAlone();
  const { createLogger } = await import('../base/log.ts');
  const log = createLogger('warn');
  const { openDatabase } = await import('../store/database.ts');
  const database = await openDatabase(store, { clock: systemClock, log });
  try {
    await use(database, log).catch((error: unknown) => explainDatabase(error, store));
  } finally {
    await database.close();
  }
}
