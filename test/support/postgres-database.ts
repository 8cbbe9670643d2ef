// Databases for tests, cloned from the migrated template in milliseconds.
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { PostgresConfig } from '../../src/store/database.ts';

export const TEMPLATE = 'meridian_template';

export async function cloneDatabase(url: string, template = TEMPLATE): Promise<PostgresConfig> {
  const name = `meridian_${randomUUID().replaceAll('-', '')}`;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  await client.end();
  return configOf(url, name);
}

export function configOf(url: string, dbName: string): PostgresConfig {
  const { hostname, port, username, password } = new URL(url);
  return {
    type: 'postgres',
    host: hostname,
    port: Number(port === '' ? '5432' : port),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    dbName,
    maxOpenConnections: 10,
    connectionTimeout: 5,
    tls: { mode: 'disable', certPath: '', keyPath: '', caPath: '' },
  };
}
