// Two replicas of global start together on an empty database: one of them creates the defaults, and when it dies the other one takes
// over the leader's tasks. They run from the sources, as those of users do; all other chaos tests have the built program.
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { globalHostnameGenerators } from '../../src/defaults/default-resources.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { globalEnv } from '../support/control-plane-env.ts';
import { ControlPlane, MERIDIAN_OF_USERS, WAIT } from '../support/control-plane.ts';
import { defaultMeshRows } from '../support/default-rows.ts';
import { freePort } from '../support/free-port.ts';
import { cloneDatabase } from '../support/postgres-database.ts';
import { GuestZone } from './guest-zone.ts';
import { preloaded } from './preload.ts';
import { isOnline } from '../../src/resource/online-status.ts';

/** Five minutes, after which an abandoned subscription is closed, are five seconds here. */
const HURRY = 60;
/** Taking over, and twice the time after which the leader has done everything once. */
const SOON = { ...WAIT, timeout: 60_000 };

const DEFAULTS = [
  'Config//kuma-cluster-id',
  'GlobalSecret//admin-user-token',
  'GlobalSecret//user-token-signing-key-1',
  'GlobalSecret//zone-token-signing-key-1',
  ...globalHostnameGenerators.map(({ name }) => `HostnameGenerator//${name}`),
  ...defaultMeshRows,
];

describe('two replicas of global that start at the same time', () => {
  const started = new AsyncDisposableStack();
  let replicas: ControlPlane[];
  let leader: ControlPlane;
  let other: ControlPlane;

  const kdsOf = ({ env }: ControlPlane): string => `127.0.0.1:${env['MERIDIAN_MULTIZONE_GLOBAL_KDS_GRPC_PORT'] ?? ''}`;

  async function metricsOf({ env }: ControlPlane): Promise<string> {
    return await (await fetch(`http://127.0.0.1:${env['MERIDIAN_DIAGNOSTICS_SERVER_PORT'] ?? ''}/metrics`)).text();
  }

  const leads = async (one: ControlPlane): Promise<boolean> => /^leader(\{[^}]*\})? 1$/m.test(await metricsOf(one));
  /** How many rows the leader counts of a type. */
  const countOf = async (one: ControlPlane, type: string): Promise<string | undefined> =>
    new RegExp(`^resources_count\\{[^}]*resource_type="${type}"[^}]*\\} (\\d+)$`, 'm').exec(await metricsOf(one))?.[1];

  async function clusterOf({ api }: ControlPlane): Promise<string> {
    return ((await (await fetch(`http://127.0.0.1:${String(api)}/`)).json()) as { clusterId: string }).clusterId;
  }

  async function online(zone: string): Promise<boolean | undefined> {
    const insight = (await other.rows('ZoneInsight')).get(zone);
    return insight && isOnline(insight.spec as JsonObject);
  }

  beforeAll(async () => {
    const database = await cloneDatabase(inject('postgresUrl'));
    const create = async (): Promise<ControlPlane> =>
      new ControlPlane('global', database, await freePort(), {
        ...globalEnv(await freePort()),
        MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(await freePort()),
        ...{ ...preloaded('hurry'), HURRY: String(HURRY) },
      });
    replicas = [await create(), await create()];
    for (const replica of replicas) {
      replica.isQuiet = true;
      replica.program = MERIDIAN_OF_USERS;
      await replica.psql.connect();
      started.defer(() => replica.psql.end());
      started.defer(async () => void (await replica.end('SIGTERM')));
    }
    for (const replica of replicas) replica.start();
    for (const replica of replicas) {
      await vi.waitFor(async () => expect(await replica.ready(), replica.lastWords()).toBe(200), WAIT);
    }
    await vi.waitFor(async () => expect((await Promise.all(replicas.map(leads))).filter(Boolean)).toHaveLength(1), WAIT);
    [leader, other] = ((await leads(replicas[0] as ControlPlane)) ? replicas : replicas.toReversed()) as [
      ControlPlane,
      ControlPlane,
    ];
  });

  afterAll(() => started.disposeAsync());

  it('create the defaults once', async () => {
    const query = `select type || '/' || mesh || '/' || name as key, version, xmin::text, spec from resources order by type, mesh, name`;
    const stored = async (): Promise<{ key: string; version: number }[]> =>
      (await other.psql.query<{ key: string; version: number }>(query)).rows;
    await expect.poll(async () => (await stored()).map(({ key }) => key).toSorted(), WAIT).toEqual(DEFAULTS.toSorted());
    const before = await stored();
    for (const { key, version } of before) expect(version, key).toBe(0);
    expect(await clusterOf(leader)).toBe(await clusterOf(other));
    // The leader counts after it has created everything: nothing was created again since.
    await expect.poll(() => countOf(leader, 'HostnameGenerator'), SOON).toBe(String(globalHostnameGenerators.length));
    expect(await stored()).toEqual(before);
  });

  it('survive the leader: the other recreates nothing, writes the counts and closes the subscriptions of the leader', async () => {
    const left = GuestZone.join('left', 'acknowledges', kdsOf(leader));
    const kept = GuestZone.join('kept', 'acknowledges', kdsOf(other));
    started.defer(async () => [left, kept].forEach((guest) => guest.leave()));
    for (const zone of ['left', 'kept']) await expect.poll(() => online(zone), WAIT).toBe(true);
    expect(await countOf(other, 'Mesh')).toBeUndefined();
    const cluster = await clusterOf(other);
    await leader.end('SIGKILL');
    await expect.poll(() => leads(other), SOON).toBe(true);
    await expect.poll(() => countOf(other, 'ZoneInsight'), SOON).toBe('2');
    await expect.poll(() => online('left'), SOON).toBe(false);
    await expect.poll(() => online('kept'), SOON).toBe(true);
    expect(await clusterOf(other)).toBe(cluster);
    const again = GuestZone.join('left', 'acknowledges', kdsOf(other));
    started.defer(async () => again.leave());
    await expect.poll(() => online('left'), SOON).toBe(true);
  });
});
