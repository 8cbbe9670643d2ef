// Migrates a database to the schema of this version: numbered files, forward only, one process at a time under a lock. A file is the
// body of one PL/pgSQL block: DDL, and `perform` where a file would say `select`.
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sql, type Kysely } from 'kysely';
import { MeridianError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Database, Tables } from './database.ts';

const FOLDER = join(import.meta.dirname, '../../migrations');
/** An arbitrary constant. */
const LOCK = 7_291_163;

export type MigrationStatus = { readonly name: string; readonly appliedAt: string | null };

/** Every migration with the time of its application, or null. */
export async function migrationStatus({ bulk: db }: Database): Promise<MigrationStatus[]> {
  const applied = await appliedMigrations(db);
  const names = await migrationNames();
  return names.map((name) => ({ name, appliedAt: applied.get(name) ?? null }));
}

/** Applies the missing migrations in one transaction. Returns their names. */
export async function migrate({ bulk: db }: Database, { log }: { log: Logger }): Promise<string[]> {
  const done: string[] = [];
  await db.transaction().execute(async (tx) => {
    // Wait without a limit for another migration or a statement on the table.
    await sql`set local lock_timeout = 0`.execute(tx);
    await sql`select pg_advisory_xact_lock(${LOCK})`.execute(tx);
    await sql`create table if not exists meridian_migrations (name text primary key, applied_at timestamp not null default (now() at time zone 'utc'))`.execute(
      tx,
    );
    const applied = await appliedMigrations(tx);
    for (const name of await migrationNames()) {
      if (applied.has(name)) continue;
      // A block is one statement, so the server divides the file.
      await sql.raw(`do $migration$ begin\n${await readFile(join(FOLDER, name), 'utf8')}\nend $migration$`).execute(tx);
      await sql`insert into meridian_migrations (name) values (${name})`.execute(tx);
      done.push(name);
    }
  });
  if (done.length > 0) log.info({ migrations: done }, 'migrated the database');
  return done;
}

/** @throws MeridianError `schema_outdated` with the command to run */
export async function requireCurrentSchema(database: Database): Promise<void> {
  const missing = (await migrationStatus(database)).filter(({ appliedAt }) => appliedAt === null).map(({ name }) => name);
  if (missing.length === 0) return;
  const text = `the database schema is older than this version (missing: ${missing.join(', ')}). Run \`meridian migrate up\` with the same store settings, then start again.`;
  throw new MeridianError('schema_outdated', text);
}

async function migrationNames(): Promise<string[]> {
  return (await readdir(FOLDER)).filter((name) => name.endsWith('.sql')).sort();
}

async function appliedMigrations(db: Kysely<Tables>): Promise<Map<string, string>> {
  const table = await sql<{ found: string | null }>`select to_regclass('meridian_migrations')::text as found`.execute(db);
  if (table.rows[0]?.found === null || table.rows[0] === undefined) return new Map();
  const { rows } = await sql<{
    name: string;
    at: string;
  }>`select name, to_char(applied_at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as at from meridian_migrations`.execute(db);
  return new Map(rows.map(({ name, at }) => [name, at]));
}
