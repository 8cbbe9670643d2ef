// One PostgreSQL for all files of a run, with a migrated template database that each file clones.
import type { TestProject } from 'vitest/node';
import pg from 'pg';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { openDatabase } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { onceARun } from './once-a-run.ts';
import { providePostgres } from './postgres.ts';
import { configOf, TEMPLATE } from './postgres-database.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    postgresUrl: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { value, end } = await onceARun('PostgreSQL', start);
  project.provide('postgresUrl', value);
  return end;
}

async function start(): Promise<{ value: string; end: () => Promise<void> }> {
  const server = await providePostgres();
  process.stderr.write(`PostgreSQL of the tests: ${server.description}\n`);
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  await client.query(`DROP DATABASE IF EXISTS ${TEMPLATE}`);
  await client.query(`CREATE DATABASE ${TEMPLATE}`);
  await client.end();
  const log = createLogger('warn');
  const database = await openDatabase(configOf(server.url, TEMPLATE), { clock: systemClock, log });
  await migrate(database, { log });
  await database.close();
  return { value: server.url, end: server.stop };
}
