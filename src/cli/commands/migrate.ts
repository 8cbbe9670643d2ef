// `meridian migrate up` and `meridian migrate status`: the schema of the store.
import type { Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Database } from '../../store/database.ts';
import { addConfigOptions, configOf, explainDatabase, writeForOwnerAlone, type ConfigOptions } from '../run-control-plane.ts';
import { print } from '../output.ts';
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
  await withDatabase(options, async (database, log) => {
    const { migrate } = await import('../../store/migrate.ts');
    const done = await migrate(database, { log });
    print(done.length === 0 ? 'nothing to do: the schema is the newest' : `applied ${done.join(', ')}`);
  });
}

async function migrateStatus(options: ConfigOptions): Promise<void> {
  await withDatabase(options, async (database) => {
    const { migrationStatus } = await import('../../store/migrate.ts');
    const rows = await migrationStatus(database);
    print(
      table(
        ['MIGRATION', 'APPLIED'],
        rows.map(({ name, appliedAt }) => [name, appliedAt ?? 'not yet']),
      ),
    );
  });
}

async function withDatabase(options: ConfigOptions, use: (database: Database, log: Logger) => Promise<void>): Promise<void> {
  writeForOwnerAlone();
  const { config } = await configOf('zone', options);
  const { createLogger } = await import('../../base/log.ts');
  const log = createLogger('warn');
  const { openDatabase } = await import('../../store/database.ts');
  const database = await openDatabase(config.store, { clock: systemClock, log });
  try {
    await use(database, log).catch((error: unknown) => explainDatabase(error, config.store));
  } finally {
    await database.close();
  }
}
