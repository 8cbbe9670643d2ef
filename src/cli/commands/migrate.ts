// `meridian migrate up` and `meridian migrate status`: the schema of the store.
import type { Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import type { Config } from '../../base/config.ts';
import type { Logger } from '../../base/log.ts';
import type { Database } from '../../store/database.ts';
import { addConfigOptions, configOf, explainDatabase, writeForOwnerAlone, type ConfigOptions } from '../run-control-plane.ts';
import { note, print } from '../output.ts';
import { table } from '../views/table.ts';

type Store = Config['store'];

export function addMigrate(migrate: Command): void {
  addConfigOptions(migrate.command('up').description('bring the database to the schema of this version'), 'zone')
    .addHelpText(
      'after',
      '\nExamples:\n  meridian migrate up --store postgres --set store.postgres.dbName=global\n  meridian migrate up --config global.yaml',
    )
    .action(migrateUp);
  addConfigOptions(migrate.command('status').description('show which migrations are applied'), 'zone')
    .addHelpText('after', '\nExamples:\n  meridian migrate status --config global.yaml')
    .action(migrateStatus);
}

async function migrateUp(options: ConfigOptions): Promise<void> {
  const store = await storeOf(options);
  await withDatabase(store, async (database, log) => {
    const { migrate } = await import('../../store/migrate.ts');
    const done = await migrate(database, { log });
    const where = nameOf(store);
    print(done.length === 0 ? `nothing to do: the schema of ${where} is the newest` : `applied ${done.join(', ')} to ${where}`);
  });
}

/** Creates nothing: a store that does not exist has no migrations. */
async function migrateStatus(options: ConfigOptions): Promise<void> {
  const store = await storeOf(options);
  const { hasStore } = await import('../../store/embedded-folder.ts');
  if (store.type === 'embedded' && !(await hasStore(store.path))) {
    note(`${nameOf(store)} does not exist yet`);
    await printStatus(null);
    return;
  }
  note(nameOf(store));
  await withDatabase(store, printStatus);
}

async function printStatus(database: Database | null): Promise<void> {
  const { migrationStatus } = await import('../../store/migrate.ts');
  const rows = await migrationStatus(database);
  print(
    table(
      ['MIGRATION', 'APPLIED'],
      rows.map(({ name, appliedAt }) => [name, appliedAt ?? 'not yet']),
    ),
  );
}

async function storeOf(options: ConfigOptions): Promise<Store> {
  return (await configOf('zone', options)).config.store;
}

/** A forgotten `store.type` means the embedded store of this user, so each answer names its store. */
function nameOf(store: Store): string {
  return store.type === 'embedded'
    ? `the embedded store in ${store.path}`
    : `PostgreSQL at ${store.host}:${String(store.port)}/${store.dbName}`;
}

async function withDatabase(store: Store, use: (database: Database, log: Logger) => Promise<void>): Promise<void> {
  writeForOwnerAlone();
  const { createLogger } = await import('../../base/log.ts');
  const log = createLogger('warn');
  const { openDatabase } = await import('../../store/database.ts');
  const database = await openDatabase(store, { clock: systemClock, log });
  try {
    await use(database, log).catch((error: unknown) => explainDatabase(error, store));
  } finally {
    await database.close();
  }
}
