// A control plane as a user runs it: `bin/meridian` in a process of its own on a PostgreSQL database of its own.
import type { ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import type { PostgresConfig } from '../src/store/database.ts';
import { controlPlaneEnv, globalEnv, zoneEnv } from '../test/support/control-plane-env.ts';
import { freePort } from '../test/support/free-port.ts';
import { endChild, startMeridianCommand } from './children.ts';
import { nowMs } from './measure.ts';

const READY_MS = 120_000;

export type ControlPlane = {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly apiPort: number;
  readonly diagnosticsPort: number;
  /** `127.0.0.1:port` where zones connect; of a zone it says nothing. */
  readonly kdsAddress: string;
  readonly stop: () => Promise<void>;
};

/** @param env more of its configuration */
export async function startGlobal(database: PostgresConfig, env: Record<string, string> = {}): Promise<ControlPlane> {
  const kds = await freePort();
  return await start('global', database, { ...globalEnv(kds), ...env }, `127.0.0.1:${String(kds)}`);
}

/** @param env more of its configuration */
export async function startZone(
  name: string,
  kdsAddress: string,
  database: PostgresConfig,
  env: Record<string, string> = {},
): Promise<ControlPlane> {
  return await start('zone', database, { ...zoneEnv(name, kdsAddress), ...env }, kdsAddress);
}

/** Of a zone whose proxies need no token. @param port for them @param workDir folder of its certificate, where that is read */
export function proxiesEnv(port: number, workDir?: string): Record<string, string> {
  return {
    MERIDIAN_DP_SERVER_PORT: String(port),
    MERIDIAN_DP_SERVER_AUTHN_DP_PROXY_TYPE: 'none',
    ...(workDir !== undefined && { MERIDIAN_GENERAL_WORK_DIR: workDir }),
  };
}

/** A zone without a global. @param env more of its configuration */
export async function startLoneZone(name: string, database: PostgresConfig, env: Record<string, string>): Promise<ControlPlane> {
  return await start('zone', database, { MERIDIAN_MULTIZONE_ZONE_NAME: name, ...env }, '');
}

async function start(
  mode: 'global' | 'zone',
  database: PostgresConfig,
  own: Record<string, string>,
  kdsAddress: string,
): Promise<ControlPlane> {
  const [apiPort, diagnosticsPort] = [await freePort(), await freePort()];
  const began = nowMs();
  const child = startMeridianCommand([mode, 'run'], {
    ...controlPlaneEnv(database, apiPort),
    MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(diagnosticsPort),
    MERIDIAN_LOG_LEVEL: 'error',
    ...own,
  });
  while (!(await isReady(diagnosticsPort))) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`meridian ${mode} run ended at its start`);
    if (nowMs() - began > READY_MS) throw new Error(`meridian ${mode} run was not ready after ${String(READY_MS / 1000)} s`);
    await delay(10);
  }
  const { pid } = child;
  if (pid === undefined) throw new Error(`meridian ${mode} run has no process id`);
  return { child, pid, apiPort, diagnosticsPort, kdsAddress, stop: () => endChild(child) };
}

async function isReady(port: number): Promise<boolean> {
  return await fetch(`http://127.0.0.1:${String(port)}/ready`).then(
    ({ ok }) => ok,
    () => false,
  );
}
