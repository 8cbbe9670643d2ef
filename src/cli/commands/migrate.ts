// `meridian migrate up` and `meridian migrate status`: the schema of the store.
import type { Command } from 'commander';
import type { Database } from '../../store/database.ts';
import { addConfigOptions, type ConfigOptions } from '../run-control-plane.ts';
import { note, print } from '../output.ts';
import { storeName, storeOf, withDatabase } from '../with-database.ts';
import { table } from '../views/table.ts';

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
    const where = storeName(store);
    print(done.length === 0 ? `nothing to do: the schema of ${where} is the newest` : `applied ${done.join(', ')} to ${where}`);
  });
}

/** Creates nothing: a store that does not exist has no migrations. */
async function migrateStatus(options: ConfigOptions): Promise<void> {
  const store = await storeOf(options);
  const { hasStore } = await import('../../store/embedded-folder.ts');
  if (store.type === 'embedded' && !(await hasStore(store.path))) {
    note(`${storeName(store)} does not exist yet`);
    await printStatus(null);
    return;
  }
  note(storeName(store));
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
