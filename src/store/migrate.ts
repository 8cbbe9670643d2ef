// Migrates a database to the schema of this version: numbered files, forward only, one process at a time under a lock. A file is the
// body of one PL/pgSQL block: DDL, and `perform` where a file would say `select`.
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sql, type Kysely } from 'kysely';
import { every } from '../base/clock.ts';
import { MeridianError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Database, Tables } from './database.ts';

const FOLDER = join(import.meta.dirname, '../../migrations');
/** The number of the lock is an arbitrary constant. */
const LOCK = 7_291_163;
/** The interval of the polls for what a migration waits for, in milliseconds. */
const POLL_MS = 1_000;

type MigrationStatus = { readonly name: string; readonly appliedAt: string | null };

/**
 * Every migration with the time of its application, or null.
 * @param database null for a store that does not exist yet
 */
export async function migrationStatus(database: Database | null): Promise<MigrationStatus[]> {
  const applied = database === null ? new Map<string, string>() : await appliedMigrations(database.bulk);
  const names = await migrationNames();
  return names.map((name) => ({ name, appliedAt: applied.get(name) ?? null }));
}

/**
 * Applies the missing migrations in one transaction. Waits without a limit for another migration or a transaction on the table, and logs
 * for which processes of the server it waits.
 * @returns their names
 */
export async function migrate(database: Database, { log }: { log: Logger }): Promise<string[]> {
  const ended = new AbortController();
  const done = await database.unlimited
    .transaction()
    .execute(async (tx) => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx);
      // The statements of an embedded store wait for nothing, and a look would wait for the transaction.
      if (database.kind === 'postgres') void reportWaits(database, rows[0]?.pid ?? 0, log, ended.signal);
      return await applyMissing(tx);
    })
    .finally(() => ended.abort());
  if (done.length > 0) log.info({ migrations: done }, 'migrated the database');
  return done;
}

async function applyMissing(tx: Kysely<Tables>): Promise<string[]> {
  const done: string[] = [];
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
  return done;
}

/** Logs once what holds the locks that the process `pid` of the server waits for, until the signal. Never rejects. */
async function reportWaits({ db, clock }: Database, pid: number, log: Logger, signal: AbortSignal): Promise<void> {
  let last = '';
  await every(clock, POLL_MS, signal, async () => {
    const holders = await lockHolders(db, pid).catch(() => []);
    const text = holders.join(', ');
    if (text !== '' && text !== last)
      log.warn(`the migration waits for ${text}: let it end, or end it with pg_terminate_backend`);
    last = text;
  });
}

/** The processes of the server that hold the locks for which `pid` waits (PostgreSQL documentation, 9.27 pg_blocking_pids, 27.2.3). */
async function lockHolders(db: Kysely<Tables>, pid: number): Promise<string[]> {
  const { rows } = await sql<{ pid: number; program: string | null; state: string | null }>`
    select pid, application_name as program, state from pg_stat_activity where pid = any(pg_blocking_pids(${pid})) order by pid
  `.execute(db);
  return rows.map((row) => `process ${String(row.pid)} (${[row.program, row.state].filter(Boolean).join(', ') || 'unknown'})`);
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
