// A control plane as a user runs it: `bin/meridian` in a process of its own on a PostgreSQL database of its own.
import type { ChildProcess } from 'node:child_process';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { PostgresConfig } from '../src/store/database.ts';
import { endChild, startMeridianCommand } from './children.ts';
import { nowMs } from './measure.ts';

const READY_MS = 120_000;

export type ControlPlane = {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly apiPort: number;
  /** `127.0.0.1:port` where zones connect; of a zone it says nothing. */
  readonly kdsAddress: string;
  /** Seconds from the start of the process until it said that it is ready. */
  readonly startSeconds: number;
  readonly stop: () => Promise<void>;
};

export async function startGlobal(database: PostgresConfig): Promise<ControlPlane> {
  const kds = await freePort();
  const env = {
    MERIDIAN_MULTIZONE_GLOBAL_KDS_GRPC_PORT: String(kds),
    MERIDIAN_MULTIZONE_GLOBAL_KDS_TLS_ENABLED: 'false',
  };
  return await start('global', database, env, `127.0.0.1:${String(kds)}`);
}

export async function startZone(name: string, kdsAddress: string, database: PostgresConfig): Promise<ControlPlane> {
  const env = { MERIDIAN_MULTIZONE_ZONE_NAME: name, MERIDIAN_MULTIZONE_ZONE_GLOBAL_ADDRESS: `grpc://${kdsAddress}` };
  return await start('zone', database, env, kdsAddress);
}

async function start(
  mode: 'global' | 'zone',
  { host, port, user, password, dbName }: PostgresConfig,
  own: Record<string, string>,
  kdsAddress: string,
): Promise<ControlPlane> {
  const [apiPort, diagnosticsPort] = [await freePort(), await freePort()];
  const began = nowMs();
  const child = startMeridianCommand([mode, 'run'], {
    MERIDIAN_STORE_TYPE: 'postgres',
    MERIDIAN_STORE_POSTGRES_HOST: host,
    MERIDIAN_STORE_POSTGRES_PORT: String(port),
    MERIDIAN_STORE_POSTGRES_USER: user,
    MERIDIAN_STORE_POSTGRES_PASSWORD: password,
    MERIDIAN_STORE_POSTGRES_DB_NAME: dbName,
    MERIDIAN_API_SERVER_HTTP_PORT: String(apiPort),
    MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(diagnosticsPort),
    // Fake zones send no token.
    MERIDIAN_MULTIZONE_GLOBAL_KDS_AUTH_TYPE: 'none',
    MERIDIAN_LOG_LEVEL: 'error',
    ...own,
  });
  while (!(await isReady(diagnosticsPort))) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`meridian ${mode} run ended at its start`);
    if (nowMs() - began > READY_MS) throw new Error(`meridian ${mode} run was not ready after ${String(READY_MS / 1000)} s`);
    await delay(10);
  }
  const startSeconds = (nowMs() - began) / 1000;
  const { pid } = child;
  if (pid === undefined) throw new Error(`meridian ${mode} run has no process id`);
  return { child, pid, apiPort, kdsAddress, startSeconds, stop: () => endChild(child) };
}

async function isReady(port: number): Promise<boolean> {
  return await fetch(`http://127.0.0.1:${String(port)}/ready`).then(
    ({ ok }) => ok,
    () => false,
  );
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
