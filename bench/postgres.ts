// A real PostgreSQL for the run: a migrated template, and databases cloned from it with the wanted rows in them.
import pg from 'pg';
import { systemClock } from '../src/base/clock.ts';
import { createLogger } from '../src/base/log.ts';
import { openDatabase, type PostgresConfig } from '../src/store/database.ts';
import { migrate } from '../src/store/migrate.ts';
import { cloneDatabase, configOf } from '../test/support/postgres-database.ts';
import { provideOwnPostgres, providePostgres, type PostgresServer } from '../test/support/postgres.ts';
import { cpuSecondsOfServer } from './measure.ts';
import { MESH, policyLabels, policyName, policySpec, TYPE } from './policies.ts';

const TEMPLATE = 'meridian_bench_template';
/** As people run it. `BENCH_POSTGRES_FSYNC=off` shows what the disk costs. */
const SETTINGS = [`fsync=${process.env['BENCH_POSTGRES_FSYNC'] ?? 'on'}`];

export type Postgres = {
  /** Version, provider and whether fsync is on. */
  readonly facts: { readonly version: string; readonly provider: string; readonly fsync: string };
  /** A database with Mesh `default` and that many MeshTimeouts. */
  readonly createDatabase: (policies: number) => Promise<PostgresConfig>;
  /** A database with the schema alone. */
  readonly createEmptyDatabase: () => Promise<PostgresConfig>;
  /** Stops the server, and starts it again when `whileStopped` resolves. @throws Error where the server belongs to somebody else */
  readonly restart: PostgresServer['restart'];
  readonly dropDatabase: (database: PostgresConfig) => Promise<void>;
  readonly stop: () => Promise<void>;
};

export async function startPostgres(): Promise<Postgres> {
  return await prepare(await providePostgres(SETTINGS));
}

/** A server that the run may restart. */
export async function startOwnPostgres(): Promise<Postgres> {
  return await prepare(await provideOwnPostgres(SETTINGS));
}

async function prepare(server: PostgresServer): Promise<Postgres> {
  try {
    const run = async <T extends pg.QueryResultRow>(text: string): Promise<T[]> =>
      withClient({ connectionString: server.url }, async (client) => (await client.query<T>(text)).rows);
    await run(`DROP DATABASE IF EXISTS ${TEMPLATE} WITH (FORCE)`);
    await run(`CREATE DATABASE ${TEMPLATE}`);
    const log = createLogger('warn');
    const database = await openDatabase(configOf(server.url, TEMPLATE), { clock: systemClock, log });
    await migrate(database, { log });
    await database.close();
    const [version] = await run<{ server_version: string }>('SHOW server_version');
    const [fsync] = await run<{ fsync: string }>('SHOW fsync');
    const databases = new Set<string>();
    const cloned = async (): Promise<PostgresConfig> => {
      const config = await cloneDatabase(server.url, TEMPLATE);
      databases.add(config.dbName);
      return config;
    };
    const drop = async (dbName: string): Promise<void> => {
      await run(`DROP DATABASE IF EXISTS ${dbName} WITH (FORCE)`);
      databases.delete(dbName);
    };
    return {
      facts: { version: version?.server_version ?? '', provider: server.description, fsync: fsync?.fsync ?? '' },
      async createDatabase(policies) {
        const config = await cloned();
        await withDatabase(config, (client) => seed(client, policies));
        return config;
      },
      createEmptyDatabase: cloned,
      restart: server.restart,
      dropDatabase: async ({ dbName }) => drop(dbName),
      async stop() {
        // Remove the remains of a failed run from a borrowed server.
        for (const dbName of [...databases, TEMPLATE]) await drop(dbName);
        await server.stop();
      },
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

export function clientConfig({ host, port, user, password, dbName }: PostgresConfig): pg.ClientConfig {
  return { host, port, user, password, database: dbName };
}

export async function withDatabase<T>(database: PostgresConfig, use: (client: pg.Client) => Promise<T>): Promise<T> {
  return await withClient(clientConfig(database), use);
}

/** Seconds of CPU of all processes of the server, also of those that have ended; it must run on this machine. */
export async function databaseCpuSeconds(database: PostgresConfig): Promise<number> {
  return await withDatabase(database, async (client) => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    return cpuSecondsOfServer(rows[0]?.pid ?? 0);
  });
}

async function withClient<T>(config: pg.ClientConfig, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(config);
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

async function seed(client: pg.Client, policies: number): Promise<void> {
  // Without initial policies: what zones hold is then exactly what is counted here.
  await client.query(`insert into resources (type, mesh, name, version, spec, labels) values ('Mesh', '', $1, 0, $2, '{}')`, [
    MESH,
    JSON.stringify({ skipCreatingInitialPolicies: ['*'] }),
  ]);
  const indexes = Array.from({ length: policies }, (_, index) => index);
  await client.query(
    `insert into resources (type, mesh, name, version, spec, labels, owner_type, owner_mesh, owner_name)
     select $1, $2, name, 0, spec, labels::jsonb, 'Mesh', '', $2 from unnest($3::text[], $4::text[], $5::text[]) as row (name, spec, labels)`,
    [
      TYPE,
      MESH,
      indexes.map(policyName),
      indexes.map((index) => JSON.stringify(policySpec(index))),
      indexes.map((index) => JSON.stringify(policyLabels(index))),
    ],
  );
  await client.query('analyze resources');
}
