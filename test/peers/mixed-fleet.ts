// A global and zones, Kuma and Meridian, each a process with its own PostgreSQL database.
import { vi } from 'vitest';
import type { PostgresConfig } from '../../src/store/database.ts';
import { ControlPlane, WAIT } from '../support/control-plane.ts';
import { globalEnv, zoneEnv } from '../support/control-plane-env.ts';
import { freePort } from '../support/free-port.ts';
import { cloneDatabase } from '../support/postgres-database.ts';
import { KumaControlPlane } from './kuma-control-plane.ts';

export type Maker = 'kuma' | 'meridian';

export type Member = {
  /** `global`, or the name of the zone. */
  readonly name: string;
  readonly maker: Maker;
  readonly plane: ControlPlane;
};

export type MixedFleet = {
  readonly global: Member;
  readonly zones: readonly Member[];
  readonly members: readonly Member[];
  readonly stop: () => Promise<void>;
};

export type FleetPlan = { readonly global: Maker; readonly zones: Readonly<Record<string, Maker>> };

/** A Kuma zone reconnects within ten seconds, so waits here are longer than elsewhere. */
export const LONG_WAIT = { timeout: 60_000, interval: 250 };

/** Starts all members and waits until each is ready and each zone is online on global. */
export async function startMixedFleet(postgresUrl: string, plan: FleetPlan): Promise<MixedFleet> {
  const kds = await freePort();
  const address = `127.0.0.1:${String(kds)}`;
  const global = { name: 'global', maker: plan.global, plane: await startGlobal(plan.global, postgresUrl, kds) };
  const members: Member[] = [global];
  const stop = async (): Promise<void> => {
    await Promise.all(members.map(({ plane }) => stopPlane(plane)));
  };
  try {
    // A Kuma zone without a reachable global waits for seconds.
    await untilReady(global.plane);
    for (const [name, maker] of Object.entries(plan.zones))
      members.push({ name, maker, plane: await startZone(maker, postgresUrl, name, address) });
    for (const { plane } of members) await untilReady(plane);
    const zones = members.slice(1);
    await vi.waitFor(async () => {
      for (const { name } of zones) if (!(await isOnline(global.plane, name))) throw new Error(`zone ${name} is not online`);
    }, LONG_WAIT);
    return { global, zones, members, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Starts a global that serves plaintext KDS at the port `kds`. @param database by default an empty one @param env more of its environment */
export async function startGlobal(
  maker: Maker,
  postgresUrl: string,
  kds: number,
  database?: PostgresConfig,
  env: Readonly<Record<string, string>> = {},
): Promise<ControlPlane> {
  const plane =
    maker === 'kuma'
      ? await KumaControlPlane.global(postgresUrl, kds, { database, env })
      : new ControlPlane('global', database ?? (await cloneDatabase(postgresUrl)), await freePort(), {
          ...globalEnv(kds),
          ...env,
          MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(await freePort()),
        });
  return await startPlane(plane);
}

/**
 * Starts a zone. @param global `host:port` of its plaintext KDS, null for a zone without a global @param database by default an empty
 * one
 */
export async function startZone(
  maker: Maker,
  postgresUrl: string,
  name: string,
  global: string | null,
  database?: PostgresConfig,
): Promise<ControlPlane> {
  const plane =
    maker === 'kuma'
      ? await KumaControlPlane.zone(postgresUrl, name, global, { database })
      : new ControlPlane('zone', database ?? (await cloneDatabase(postgresUrl)), await freePort(), {
          ...(global === null ? { MERIDIAN_MULTIZONE_ZONE_NAME: name } : zoneEnv(name, global)),
          MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(await freePort()),
        });
  return await startPlane(plane);
}

async function startPlane(plane: ControlPlane): Promise<ControlPlane> {
  plane.isQuiet = true;
  await plane.psql.connect();
  plane.start();
  return plane;
}

/** The time limit for the orderly stop of a control plane. */
const STOP_MS = 30_000;

/**
 * Ends the process and the connection to its tables.
 * @throws Error with its last lines when it does not stop in time; a second signal has then ended it
 */
export async function stopPlane(plane: ControlPlane): Promise<void> {
  let isLate = false;
  const deadline = setTimeout(() => {
    isLate = true;
    plane.child?.kill('SIGTERM');
  }, STOP_MS);
  await plane.end('SIGTERM').finally(() => clearTimeout(deadline));
  await plane.psql.end();
  if (isLate) throw new Error(`did not stop in order: ${plane.lastWords()}`);
}

/** @throws Error with its last lines when it does not become ready */
export async function untilReady(plane: ControlPlane): Promise<void> {
  await vi.waitFor(async () => {
    // An ended process is reported below at once.
    if (plane.isRunning && ((await plane.ready()) !== 200 || !(await plane.answers())))
      throw new Error(`is not ready: ${plane.lastWords()}`);
  }, WAIT);
  plane.assertRunning();
}

/** True while global has an open stream of the zone, by the zone's insight. */
export async function isOnline({ psql }: ControlPlane, zone: string): Promise<boolean> {
  const { rows } = await psql.query<{ spec: string }>(`select spec from resources where type = 'ZoneInsight' and name = $1`, [
    zone,
  ]);
  const insight = JSON.parse(rows[0]?.spec ?? '{}') as { subscriptions?: { disconnectTime?: string }[] };
  return insight.subscriptions?.some(({ disconnectTime }) => disconnectTime === undefined) ?? false;
}
