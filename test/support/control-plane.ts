// A control plane as a user runs it: `bin/meridian` in a process of its own, on a PostgreSQL database of its own, read through psql.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { vi } from 'vitest';
import type { PostgresConfig } from '../../src/store/database.ts';
import { cloneDatabase } from './postgres-database.ts';

const MERIDIAN = join(import.meta.dirname, '../../bin/meridian');
/** For `expect.poll` and `vi.waitFor`: a busy machine is no failure. */
export const WAIT = { timeout: 30_000, interval: 20 };

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export class ControlPlane {
  readonly command: 'global' | 'zone';
  readonly database: PostgresConfig;
  readonly env: Record<string, string>;
  readonly api: number;
  readonly psql: pg.Client;
  child: ChildProcess | undefined;

  constructor(command: 'global' | 'zone', database: PostgresConfig, api: number, env: Record<string, string>) {
    this.command = command;
    this.database = database;
    this.api = api;
    const { host, port, user, password, dbName } = database;
    this.env = {
      MERIDIAN_STORE_TYPE: 'postgres',
      MERIDIAN_STORE_POSTGRES_HOST: host,
      MERIDIAN_STORE_POSTGRES_PORT: String(port),
      MERIDIAN_STORE_POSTGRES_USER: user,
      MERIDIAN_STORE_POSTGRES_PASSWORD: password,
      MERIDIAN_STORE_POSTGRES_DB_NAME: dbName,
      MERIDIAN_API_SERVER_HTTP_PORT: String(api),
      MERIDIAN_LOG_LEVEL: 'warn',
      ...env,
    };
    this.psql = new pg.Client({ host, port, user, password, database: dbName });
  }

  /** @param output `pipe` to read its log from `child.stdout` */
  start(output: 'inherit' | 'pipe' = 'inherit'): void {
    this.child = spawn(MERIDIAN, [this.command, 'run'], {
      env: { ...process.env, ...this.env },
      stdio: ['ignore', output === 'pipe' ? 'pipe' : 'ignore', output],
    });
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
    const { child } = this;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
    const exit = once(child, 'exit');
    child.kill(signal);
    await exit;
    return child.exitCode;
  }

  async put(path: string, body: Record<string, unknown>): Promise<number> {
    const response = await fetch(`http://127.0.0.1:${String(this.api)}${path}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return response.status;
  }

  async answers(): Promise<boolean> {
    return await fetch(`http://127.0.0.1:${String(this.api)}/`).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  /** Rows of a type as psql sees them: name → [mesh, labels, spec]. */
  async rows(
    type: string,
  ): Promise<Map<string, { mesh: string; labels: Record<string, string>; spec: unknown; status: unknown }>> {
    const { rows } = await this.psql.query<{
      name: string;
      mesh: string;
      labels: Record<string, string>;
      spec: string;
      status: unknown;
    }>('select name, mesh, labels, spec, status from resources where type = $1', [type]);
    return new Map(
      rows.map(({ name, mesh, labels, spec, status }) => [name, { mesh, labels, spec: JSON.parse(spec) as unknown, status }]),
    );
  }
}

export type Fleet = {
  readonly global: ControlPlane;
  /** One a name given to `startFleet`, in that order. */
  readonly zones: readonly ControlPlane[];
  /** Address of the KDS port, `127.0.0.1:port`. */
  readonly kds: string;
  /** Ends every process and every psql. */
  readonly stop: () => Promise<void>;
};

/**
 * Starts a global and zones, plaintext KDS, and waits until all answer.
 * @param options.kdsAddress where the zones dial, given the port of global: a proxy between them, say
 */
export async function startFleet(
  postgresUrl: string,
  zoneNames: readonly string[],
  options: { readonly kdsAddress?: (port: number) => string; readonly env?: Record<string, string> } = {},
): Promise<Fleet> {
  const kds = await freePort();
  const { kdsAddress = (port) => `127.0.0.1:${String(port)}`, env = {} } = options;
  const global = new ControlPlane('global', await cloneDatabase(postgresUrl), await freePort(), {
    MERIDIAN_MULTIZONE_GLOBAL_KDS_GRPC_PORT: String(kds),
    MERIDIAN_MULTIZONE_GLOBAL_KDS_TLS_ENABLED: 'false',
    MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(await freePort()),
    ...env,
  });
  const zones: ControlPlane[] = [];
  for (const name of zoneNames) {
    const zoneEnv = {
      MERIDIAN_MULTIZONE_ZONE_NAME: name,
      MERIDIAN_MULTIZONE_ZONE_GLOBAL_ADDRESS: `grpc://${kdsAddress(kds)}`,
      MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(await freePort()),
      ...env,
    };
    zones.push(new ControlPlane('zone', await cloneDatabase(postgresUrl), await freePort(), zoneEnv));
  }
  const members = [global, ...zones];
  const stop = async (): Promise<void> => {
    for (const member of members) {
      await member.end('SIGTERM');
      await member.psql.end();
    }
  };
  try {
    for (const member of members) {
      await member.psql.connect();
      member.start();
    }
    await vi.waitFor(async () => {
      for (const member of members) if (!(await member.answers())) throw new Error(`${member.command} does not answer`);
    }, WAIT);
  } catch (error) {
    await stop();
    throw error;
  }
  return { global, zones, kds: `127.0.0.1:${String(kds)}`, stop };
}
