// pgbench on the same server: the rate at which PostgreSQL itself replaces rows like ours, one transaction each, by a bare upsert on a table
// without triggers.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { APPLICATION, type PostgresConfig } from '../src/store/database.ts';
import { MESH, policyLabels, policySpec, TYPE } from './policies.ts';
import { withDatabase } from './postgres.ts';

const DEBIAN = '/usr/lib/postgresql';
/** The table of resources with its indexes and without its triggers. */
const TABLE = `create table bench_resources (like resources including all);
  insert into bench_resources select * from resources`;

const REPLACE = `on conflict (name, mesh, type) do update set version = r.version + 1, spec = excluded.spec, labels = excluded.labels,
  modification_time = now() at time zone 'utc'`;
const NAME = `'timeouts-of-service-' || lpad(:index::text, 6, '0')`;
function literal(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return value === null ? 'null' : `'${text.replaceAll("'", "''")}'`;
}

/** @throws Error where there is no pgbench: the npm package of PostgreSQL has none */
async function findPgbench(): Promise<string> {
  const versions = existsSync(DEBIAN) ? (await readdir(DEBIAN)).sort((one, other) => Number(other) - Number(one)) : [];
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...versions.map((version) => join(DEBIAN, version, 'bin'))];
  const found = folders.map((folder) => join(folder, 'pgbench')).find((path) => existsSync(path));
  if (found === undefined)
    throw new Error('no pgbench on PATH or in /usr/lib/postgresql; in Debian it is in the package postgresql');
  return found;
}

export class Pgbench {
  readonly #path: string;
  readonly #database: PostgresConfig;
  readonly #folder: string;

  private constructor(path: string, database: PostgresConfig, folder: string) {
    this.#path = path;
    this.#database = database;
    this.#folder = folder;
  }

  /** Copies the resources of the database to a table of its own. */
  static async prepare(database: PostgresConfig, resources: number): Promise<Pgbench> {
    const path = await findPgbench();
    await withDatabase(database, async (client) => void (await client.query(TABLE)));
    const folder = await mkdtemp(join(tmpdir(), 'meridian-pgbench-'));
    await writeFile(
      join(folder, 'upsert.sql'),
      `\\set index random(0, ${String(resources - 1)})
insert into bench_resources as r (type, mesh, name, version, spec, labels) values ('${TYPE}', '${MESH}',
  ${NAME}, 0, ${literal(policySpec(1))}, ${literal(policyLabels(1))})
${REPLACE};
`,
    );
    return new Pgbench(path, database, folder);
  }

  /** @returns transactions a second */
  async run(clients: number, seconds: number): Promise<number> {
    const { host, port, user, password, dbName } = this.#database;
    const load = ['-n', '-M', 'prepared', '-f', 'upsert.sql', '-c', String(clients), '-j', '1', '-T', String(seconds)];
    const { stdout } = await promisify(execFile)(this.#path, [...load, '-h', host, '-p', String(port), '-U', user, dbName], {
      cwd: this.#folder,
      env: { ...process.env, PGPASSWORD: password, PGAPPNAME: APPLICATION },
    });
    const rate = /^tps = ([\d.]+)/m.exec(stdout)?.[1];
    if (rate === undefined) throw new Error(`pgbench printed no rate: ${stdout}`);
    return Number(rate);
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}
