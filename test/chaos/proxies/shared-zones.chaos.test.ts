// Three replicas of global behind an Envoy, and eight zones: the zones spread over the replicas, move when one comes, is killed or stops,
// and are sent nothing again.
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import type { Answer } from '../../../src/answers/answers.ts';
import { ControlPlane, startFleet, WAIT, type Fleet } from '../../support/control-plane.ts';
import { freePort } from '../../support/free-port.ts';
import { expectEqualStores, writesOf, zoneName } from '../compare-stores.ts';
import { startLoadBalancer, type LoadBalancer, type ReplicaPorts } from '../load-balancer.ts';
import { hasMesh, putService, putTimeout } from '../steady-writes.ts';

const ZONES = ['z1', 'z2', 'z3', 'z4', 'z5', 'z6', 'z7', 'z8'];
/** Above this part of its share no replica may stay. */
const FAIR = 1.3;

const sharing = ({ kds, diagnostics }: ReplicaPorts): Record<string, string> => ({
  MERIDIAN_MULTIZONE_GLOBAL_KDS_GRPC_PORT: String(kds),
  MERIDIAN_MULTIZONE_GLOBAL_KDS_TLS_ENABLED: 'false',
  MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(diagnostics),
  MERIDIAN_MULTIZONE_GLOBAL_KDS_SHARING_ENABLED: 'true',
  // A few zones: one percent of them a second would be one each half minute.
  MERIDIAN_MULTIZONE_GLOBAL_KDS_SHARING_PERCENT_PER_SECOND: '50',
  MERIDIAN_MULTIZONE_GLOBAL_KDS_SHARING_SETTLE_TIME: '2s',
});

describe('three replicas of global behind a load balancer', () => {
  const started = new AsyncDisposableStack();
  let balancer: LoadBalancer;
  let fleet: Fleet;
  let replicas: ControlPlane[];

  const get = async <T>({ api }: ControlPlane, path: string): Promise<T> =>
    (await (await fetch(`http://127.0.0.1:${String(api)}${path}`)).json()) as T;

  /** The zones with their stream at a replica, by its metrics. */
  async function zonesAt({ env, isRunning }: ControlPlane): Promise<string[]> {
    if (!isRunning) return [];
    const response = await fetch(`http://127.0.0.1:${env['MERIDIAN_DIAGNOSTICS_SERVER_PORT'] ?? ''}/metrics`);
    return [...(await response.text()).matchAll(/^kds_zone_active_connections\{.*zone_name="([^"]+)".*\} [1-9]/gm)].map(
      ([, zone = '']) => zone,
    );
  }

  /** Waits until each zone is at exactly one of these replicas, and none has more than its share. */
  async function expectShares(living: readonly ControlPlane[]): Promise<void> {
    const most = (ZONES.length / living.length) * FAIR;
    await vi.waitFor(async () => {
      const all = await Promise.all(living.map(zonesAt));
      expect(all.flat().toSorted()).toEqual(ZONES);
      for (const zones of all) expect(zones.length).toBeLessThanOrEqual(most);
    }, WAIT);
  }

  /** A policy that is written by a replica while zones move reaches all of them, and the receipt says so. */
  async function expectReceipts(by: ControlPlane, name: string): Promise<void> {
    expect(await putTimeout(by, name, 5)).toBe(201);
    await vi.waitFor(async () => {
      const { outcome, targets } = await get<Answer<'Rollout'>>(by, `/meshes/default/meshtimeouts/${name}/_rollout`);
      expect([outcome, targets.map(({ to }) => to).toSorted()]).toEqual(['everywhere', ZONES]);
    }, WAIT);
  }

  /** Each replica says of each zone that it is online and has everything, with the replica that serves it. */
  async function expectRightAnswers(living: readonly ControlPlane[]): Promise<void> {
    await vi.waitFor(async () => {
      const [first, ...others] = await Promise.all(
        living.map(async (one) => (await get<{ items: Answer<'ZoneProgress'>[] }>(one, '/zones/_progress')).items),
      );
      expect(first?.map(({ name }) => name).toSorted()).toEqual(ZONES);
      for (const { types, instanceId } of first ?? []) {
        expect(instanceId).not.toBeNull();
        expect(types?.every(({ behind }) => behind === 0)).toBe(true);
      }
      const places = (items: readonly Answer<'ZoneProgress'>[] = []): string[] =>
        items.map(({ name, instanceId }) => `${name} at ${instanceId ?? 'none'}`);
      for (const other of others) expect(places(other)).toEqual(places(first));
    }, WAIT);
  }

  /** The copies of each zone, with the time at which each was written last. */
  const copies = async (): Promise<Map<string, string>[]> => Promise.all(fleet.zones.map(writesOf));

  /** @param before the copies that the zones held */
  async function expectNothingAgain(before: readonly Map<string, string>[]): Promise<void> {
    const after = await copies();
    for (const [index, held] of before.entries())
      for (const [key, written] of held) expect([key, after[index]?.get(key)]).toEqual([key, written]);
  }

  beforeAll(async () => {
    const ports: ReplicaPorts[] = [];
    for (let n = 0; n < 3; n += 1) ports.push({ kds: await freePort(), diagnostics: await freePort() });
    balancer = await startLoadBalancer(inject('envoy'), ports);
    started.defer(() => balancer.stop());
    const [first, ...others] = ports as [ReplicaPorts, ...ReplicaPorts[]];
    fleet = await startFleet(inject('postgresUrl'), ZONES, {
      kdsAddress: () => balancer.address,
      envOf: (member) => (member === 'global' ? sharing(first) : {}),
      isQuiet: true,
    });
    started.defer(fleet.stop);
    const { database } = fleet.global;
    replicas = [fleet.global];
    for (const one of others) replicas.push(new ControlPlane('global', database, await freePort(), sharing(one)));
    for (const replica of replicas.slice(1)) {
      replica.isQuiet = true;
      started.defer(async () => void (await replica.end('SIGKILL')));
    }
    for (const zone of fleet.zones) await vi.waitFor(async () => expect(await hasMesh(zone)).toBe(true), WAIT);
    for (const zone of fleet.zones) expect(await putService(zone, `in-${zoneName(zone)}`, 80)).toBe(201);
    await expectEqualStores(fleet);
  });

  afterAll(() => started.disposeAsync());

  it('give a replica that starts later its share of the zones, which get nothing again', async () => {
    const [first, second, third] = replicas as [ControlPlane, ControlPlane, ControlPlane];
    await expectShares([first]);
    const before = await copies();
    second.start();
    await vi.waitFor(async () => expect(await second.ready()).toBe(200), WAIT);
    await expectReceipts(first, 'while-moving');
    await expectShares([first, second]);
    third.start();
    await expectShares([first, second, third]);
    await expectReceipts(third, 'of-three');
    await expectRightAnswers(replicas);
    await expectNothingAgain(before);
    await expectEqualStores(fleet);
  });

  it('take over the zones of a replica that is killed', async () => {
    const [first, second, third] = replicas as [ControlPlane, ControlPlane, ControlPlane];
    const before = await copies();
    await third.end('SIGKILL');
    await vi.waitFor(async () => {
      expect((await Promise.all([zonesAt(first), zonesAt(second)])).flat().toSorted()).toEqual(ZONES);
    }, WAIT);
    await expectReceipts(second, 'of-two');
    await expectShares([first, second]);
    await expectRightAnswers([first, second]);
    await expectNothingAgain(before);
    await expectEqualStores(fleet);
  });

  it('take over the zones of a replica that gets SIGTERM, which is not ready at once and ends by itself', async () => {
    const [first, second] = replicas as [ControlPlane, ControlPlane];
    const before = await copies();
    const exit = second.end('SIGTERM');
    await vi.waitFor(async () => expect(await second.ready()).not.toBe(200), WAIT);
    expect(await exit).toBe(0);
    await expectShares([first]);
    await expectReceipts(first, 'of-one');
    await expectRightAnswers([first]);
    await expectNothingAgain(before);
    await expectEqualStores(fleet);
  });
});
