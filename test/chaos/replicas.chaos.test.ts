// Two replicas of global share a database, each with a zone. When one dies, its zone connects to the other, and no write is lost.
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { ControlPlane, startFleet, WAIT, type Fleet } from '../support/control-plane.ts';
import { freePort } from '../support/free-port.ts';
import { expectEqualStores } from './compare-stores.ts';
import { hasMesh, putService, putTimeout, writeSteadily, type SteadyWrites } from './steady-writes.ts';
import { TcpProxy } from './tcp-proxy.ts';

type OpenSubscription = { readonly id: string; readonly globalInstanceId: string; readonly disconnectTime?: string };

describe('two replicas of global', () => {
  const started = new AsyncDisposableStack();
  let fleet: Fleet;
  let first: ControlPlane;
  let second: ControlPlane;
  let east: ControlPlane;
  let west: ControlPlane;
  let eastLink: TcpProxy;
  let westLink: TcpProxy;

  const kdsPort = ({ env }: ControlPlane): number => Number(env['MERIDIAN_MULTIZONE_GLOBAL_KDS_GRPC_PORT']);

  /** The open subscriptions of a zone in the database. */
  async function openSubscriptions(zone: string): Promise<OpenSubscription[]> {
    const { rows } = await first.psql.query<{ spec: string }>(
      `select spec from resources where type = 'ZoneInsight' and name = $1`,
      [zone],
    );
    const { subscriptions = [] } = JSON.parse(rows[0]?.spec ?? '{}') as { subscriptions?: OpenSubscription[] };
    return subscriptions.filter(({ disconnectTime }) => disconnectTime === undefined);
  }

  async function isLeader({ env }: ControlPlane): Promise<boolean> {
    const response = await fetch(`http://127.0.0.1:${env['MERIDIAN_DIAGNOSTICS_SERVER_PORT'] ?? ''}/metrics`);
    return /^leader(\{[^}]*\})? 1$/m.test(await response.text());
  }

  /** Kills a replica during writes and leads its zone to the other. */
  async function moveDuringWrites(killed: ControlPlane, survivor: ControlPlane, zone: string, link: TcpProxy): Promise<void> {
    const prefix = `${zone}-moves`;
    const before = (await openSubscriptions(zone)).map(({ globalInstanceId }) => globalInstanceId);
    expect(before.length).toBe(1);
    const writers: SteadyWrites[] = [
      writeSteadily(`killed-${prefix}`, (name, n) => putTimeout(killed, name, n)),
      writeSteadily(`survivor-${prefix}`, (name, n) => putTimeout(survivor, name, n)),
      writeSteadily(`east-${prefix}`, (name, n) => putService(east, name, n)),
      writeSteadily(`west-${prefix}`, (name, n) => putService(west, name, n)),
    ];
    try {
      for (const writer of writers) await expect.poll(() => writer.accepted(), WAIT).toBeGreaterThan(20);
      await killed.end('SIGKILL');
      link.target = kdsPort(survivor);
      await expect
        .poll(async () => (await openSubscriptions(zone)).map(({ globalInstanceId }) => before.includes(globalInstanceId)), WAIT)
        .toEqual([false]);
      const alive = writers.slice(1);
      const counts = alive.map((writer) => writer.accepted());
      for (const [index, writer] of alive.entries())
        await expect.poll(() => writer.accepted(), WAIT).toBeGreaterThan((counts[index] ?? 0) + 20);
    } finally {
      for (const writer of writers) await writer.stop();
    }
    for (const writer of writers.slice(1)) expect((await writer.stop()).answers).toEqual(new Set([201]));
    await expect.poll(() => isLeader(survivor), WAIT).toBe(true);
    // The leader's tasks continue, such as the status of a Gateway API route.
    const route = { parentRefs: [{ kind: 'Service', name: 'cart' }], rules: [{ forwardTo: [{ port: 80 }] }] };
    await first.psql.query(`insert into resources (name, mesh, type, version, spec) values ($1, 'default', 'HTTPRoute', 0, $2)`, [
      `route-${prefix}`,
      JSON.stringify(route),
    ]);
    await expect
      .poll(async () => Object.keys((await first.rows('HTTPRoute')).get(`route-${prefix}`)?.status ?? {}), WAIT)
      .toContain('parents');
    await expectEqualStores(fleet);
    const { rows } = await first.psql.query<{ name: string }>(`select name from resources where type = 'MeshTimeout'`);
    const names = new Set(rows.map(({ name }) => name));
    const promised = (await Promise.all(writers.slice(0, 2).map((writer) => writer.stop()))).flatMap(({ accepted }) => accepted);
    expect(promised.filter((name) => !names.has(name))).toEqual([]);
  }

  beforeAll(async () => {
    const kds = await freePort();
    eastLink = await TcpProxy.start();
    started.defer(() => eastLink.close());
    westLink = await TcpProxy.start(kds);
    started.defer(() => westLink.close());
    const addresses = [eastLink.address, westLink.address].values();
    const kdsAddress = (port: number): string => {
      eastLink.target = port;
      return addresses.next().value ?? '';
    };
    fleet = await startFleet(inject('postgresUrl'), ['east', 'west'], { kdsAddress, isQuiet: true });
    started.defer(fleet.stop);
    first = fleet.global;
    [east, west] = fleet.zones as [ControlPlane, ControlPlane];
    second = new ControlPlane('global', first.database, await freePort(), {
      MERIDIAN_MULTIZONE_GLOBAL_KDS_GRPC_PORT: String(kds),
      MERIDIAN_MULTIZONE_GLOBAL_KDS_TLS_ENABLED: 'false',
      MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(await freePort()),
    });
    second.isQuiet = true;
    await vi.waitFor(async () => expect(await isLeader(first)).toBe(true), WAIT);
    started.defer(async () => void (await second.end('SIGTERM')));
    second.start();
    await vi.waitFor(async () => expect(await second.answers()).toBe(true), WAIT);
    for (const zone of [east, west]) await vi.waitFor(async () => expect(await hasMesh(zone)).toBe(true), WAIT);
  });

  afterAll(() => started.disposeAsync());

  it('each serve a zone, and a write on one reaches the zone of the other', async () => {
    expect(await putTimeout(first, 'on-first', 1)).toBe(201);
    expect(await putTimeout(second, 'on-second', 2)).toBe(201);
    expect(await putService(east, 'in-east', 80)).toBe(201);
    expect(await putService(west, 'in-west', 80)).toBe(201);
    await expectEqualStores(fleet);
    const instances = [...(await openSubscriptions('east')), ...(await openSubscriptions('west'))];
    expect(new Set(instances.map(({ globalInstanceId }) => globalInstanceId)).size).toBe(2);
    expect(await isLeader(second)).toBe(false);
  });

  it('survive the leader: its zone moves to the other replica, which becomes the leader', async () => {
    await moveDuringWrites(first, second, 'east', eastLink);
  });

  it('survive the second replica too, after the restart of the first', async () => {
    if (!first.isRunning) first.start();
    await expect.poll(() => first.answers(), WAIT).toBe(true);
    westLink.target = kdsPort(second);
    eastLink.target = kdsPort(first);
    eastLink.cut();
    await moveDuringWrites(second, first, 'west', westLink);
  });
});
