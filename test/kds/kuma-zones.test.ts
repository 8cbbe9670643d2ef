// Kuma zones at the real server: each gets the resources that it can read, under names of its form, and the overview shows those that
// are withheld.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { feature } from '../../src/kds/protocol/features.ts';
import { hashName } from '../../src/resource/hash-name.ts';
import type { JsonObject, Labels } from '../../src/resource/types.ts';
import { ZoneInsightWriter } from '../../src/zone-status/zone-insight-writer.ts';
import { PlayedZone, resourcesIn } from './played-zone.ts';
import { SLOW, serverUnderAttack } from './server-under-attack.ts';

const WAIT = { timeout: 90_000, interval: 10 };
const OLD: readonly string[] = [];
const KUMA: readonly string[] = [feature.hashSuffix];
const OURS: readonly string[] = [feature.hashSuffix, feature.meridian];
const WEST = { type: 'Zone', mesh: '', name: 'west' };
const fromWest = { 'kuma.io/zone': 'west', 'kuma.io/origin': 'zone', 'kuma.io/display-name': 'backend' };

describe('a zone', () => {
  const server = serverUnderAttack();
  const cleanUps: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0)) await cleanUp();
  });
  const wireName = (name: string): string => `${hashName({ mesh: 'default', name })}.default`;

  /** Gone again after the test. */
  async function put(type: string, name: string, spec: JsonObject, labels: Labels = {}): Promise<() => Promise<unknown>> {
    const key = { type, mesh: ['Zone', 'HostnameGenerator', 'Mesh'].includes(type) ? '' : 'default', name };
    const isWests = labels['kuma.io/zone'] === WEST.name;
    await server.store.write({ op: 'put', key, labels, spec, ...(isWests && { owner: WEST, syncVersion: 'v' }) });
    const remove = (): Promise<unknown> => server.store.write({ op: 'delete', key });
    cleanUps.push(remove);
    return remove;
  }

  function join(features: readonly string[], name = 'guest'): PlayedZone {
    const zone = new PlayedZone(server.dial(), name, features);
    cleanUps.push(() => zone.leave());
    return zone;
  }

  /** What a type comes to, on a stream of its own. */
  async function stateOf(zone: PlayedZone, type: string): Promise<ReturnType<typeof resourcesIn>> {
    zone.subscribe(type);
    return resourcesIn(await zone.take());
  }

  describe('without hashed names (D28)', () => {
    it('gets resources and removals under their stored names, for types with and without a status', async () => {
      await put('Zone', WEST.name, { enabled: true });
      await put('MeshService', 'backend-of-west', { ports: [{ port: 80 }] }, fromWest);
      const remove = await put('MeshMultiZoneService', 'all', { ports: [{ port: 80 }] });
      const zone = join(OLD);
      const timeouts = await stateOf(zone, 'MeshTimeout');
      expect(Object.entries(timeouts).map(([name, { name: inside }]) => [name, inside])).toEqual([['slow.default', 'slow']]);
      const services = await stateOf(zone, 'MeshService');
      expect(services).toMatchObject({ 'backend-of-west.default': { name: 'backend-of-west', status: {} } });
      const everywhere = await stateOf(zone, 'MeshMultiZoneService');
      expect(everywhere).toMatchObject({ 'all.default': { name: 'all', status: {} } });
      await remove();
      expect(await zone.take()).toMatchObject({ typeUrl: 'MeshMultiZoneService', removedResources: ['all.default'] });
    });
  });

  describe('of Kuma (D26)', () => {
    const byName = { targetRef: { kind: 'Mesh' }, to: [{ targetRef: { kind: 'MeshService', name: 'cart' }, default: {} }] };
    const byLabels = {
      targetRef: { kind: 'Mesh' },
      to: [{ targetRef: { kind: 'MeshService', labels: { 'kuma.io/display-name': 'cart' } }, default: {} }],
    };
    const unsayable = { targetRef: { kind: 'MeshSubset', tags: { app: 'cart' } } };

    /** Keeps ZoneInsights as a global does; what the row of the zone says of its sync. */
    function keepInsights(zone: string): () => Promise<unknown> {
      const { store, observers } = server;
      const keeper = { mode: 'global', instanceId: 'global-1' } as const;
      const insights = new ZoneInsightWriter({ store, keeper, log: createLogger('silent'), clock: systemClock });
      observers.push((event) => insights.observe(event));
      cleanUps.push(() => observers.splice(0));
      return async () => (await store.get({ type: 'ZoneInsight', mesh: '', name: zone }))?.status['syncProblems'];
    }

    it('gets content that Kuma can read, while Meridian zones get it unchanged', async () => {
      await put('MeshRetry', 'cart', byName);
      const guest = await stateOf(join(KUMA), 'MeshRetry');
      expect(guest[wireName('cart')]?.spec).toEqual(byLabels);
      const ours = await stateOf(join(OURS, 'ours'), 'MeshRetry');
      expect(ours[wireName('cart')]?.spec).toEqual(byName);
    });

    it('does not get resources that Kuma cannot read, and they are listed on the zone until it can', async () => {
      const problems = keepInsights('guest');
      await put('MeshRetry', 'subset', unsayable);
      await put('MeshRetry', 'cart', byName);
      const zone = join(KUMA);
      expect(Object.keys(await stateOf(zone, 'MeshRetry'))).toEqual([wireName('cart')]);
      const message = expect.stringContaining('not "MeshSubset"') as unknown;
      const problem = { stream: 'globalToZone', type: 'MeshRetry', kind: 'withheld', resources: [wireName('subset')], message };
      await vi.waitFor(async () => expect(await problems()).toEqual([expect.objectContaining(problem)]), WAIT);
      await put('MeshRetry', 'subset', { targetRef: { kind: 'Mesh' } });
      expect(Object.keys(resourcesIn(await zone.take()))).toEqual([wireName('subset')]);
      await vi.waitFor(async () => expect(await problems()).toBeUndefined(), WAIT);
    });

    it('does not get resources that it cannot decode, which are listed on the zone with the field, and gets all others', async () => {
      const problems = keepInsights('guest');
      await put('MeshRetry', 'broken', {
        targetRef: { kind: 'Mesh' },
        to: [{ targetRef: { kind: 'Mesh' }, default: { tcp: 5 } }],
      });
      await put('MeshRetry', 'cart', byName);
      const zone = join(KUMA);
      expect(Object.keys(await stateOf(zone, 'MeshRetry'))).toEqual([wireName('cart')]);
      const message = expect.stringContaining('spec.to[0].default.tcp: must be an object') as unknown;
      const problem = { type: 'MeshRetry', kind: 'withheld', resources: [wireName('broken')], message };
      await vi.waitFor(async () => expect(await problems()).toEqual([expect.objectContaining(problem)]), WAIT);
    });

    it('does not get a protobuf spec that does not fit its message, which is listed on the zone with the field', async () => {
      const problems = keepInsights('guest');
      await server.store.write({
        op: 'put',
        key: { type: 'Secret', mesh: 'default', name: 'odd' },
        labels: {},
        spec: { data: 5 },
      });
      cleanUps.push(() => server.store.write({ op: 'delete', key: { type: 'Secret', mesh: 'default', name: 'odd' } }));
      const zone = join(KUMA);
      expect(Object.keys(await stateOf(zone, 'Secret'))).not.toContain('odd.default');
      const problem = {
        type: 'Secret',
        kind: 'withheld',
        resources: ['odd.default'],
        message: expect.stringContaining('data') as unknown,
      };
      await vi.waitFor(async () => expect(await problems()).toEqual([expect.objectContaining(problem)]), WAIT);
    });

    it('loses resources that Kuma can no longer read', async () => {
      const problems = keepInsights('guest');
      await put('MeshRetry', 'cart', byName);
      const zone = join(KUMA);
      await stateOf(zone, 'MeshRetry');
      await put('MeshRetry', 'cart', unsayable);
      expect(await zone.take()).toMatchObject({ resources: [], removedResources: [wireName('cart')] });
      const problem = { kind: 'withheld', resources: [wireName('cart')] };
      await vi.waitFor(async () => expect(await problems()).toMatchObject([problem]), WAIT);
    });

    it('receives all resources with the control plane `global`', async () => {
      const zone = join(KUMA);
      zone.subscribe('MeshTimeout');
      expect((await zone.take()).controlPlane).toBe('global');
    });
  });

  describe('with some features', () => {
    const producer = { 'kuma.io/policy-role': 'producer', 'k8s.kuma.io/namespace': 'shop' };
    const toOwn = { targetRef: { kind: 'Mesh' }, to: [{ targetRef: { kind: 'MeshService', name: 'backend' }, default: {} }] };
    const { hostnameGeneratorMultiZone, producerPolicyFlow } = feature;
    const generators = ['everywhere', 'in-zone'].map((name) => `${hashName({ mesh: '', name })}.`);

    async function putForSome(): Promise<void> {
      await put('Zone', WEST.name, { enabled: true });
      await put('HostnameGenerator', 'everywhere', { selector: { meshMultiZoneService: {} }, template: 'a' });
      await put('HostnameGenerator', 'in-zone', { selector: { meshService: {} }, template: 'b' });
      await put('MeshRetry', 'policy-of-west', toOwn, { ...fromWest, ...producer });
    }

    it.each([
      ['neither', [], ['in-zone'], 0],
      ['the selector of services of many zones', [hostnameGeneratorMultiZone], ['everywhere', 'in-zone'], 0],
      ['the flow of producer policies', [producerPolicyFlow], ['in-zone'], 1],
      ['both', [hostnameGeneratorMultiZone, producerPolicyFlow], ['everywhere', 'in-zone'], 1],
    ])('gets only resources that need no other features: %s', async (_, features, seen, policies) => {
      await putForSome();
      const zone = join([...KUMA, ...features]);
      const names = seen.map((name) => `${hashName({ mesh: '', name })}.`);
      expect(Object.keys(await stateOf(zone, 'HostnameGenerator')).sort()).toEqual(names);
      expect(Object.keys(await stateOf(zone, 'MeshRetry'))).toHaveLength(policies);
    });

    it('gets and loses the resources that depend on features when it reconnects with others (engine 17)', async () => {
      await putForSome();
      const [everywhere = ''] = generators;
      const before = join([...OURS, hostnameGeneratorMultiZone]);
      before.subscribe('HostnameGenerator');
      const { resources } = await before.take();
      const known = new Map(resources.map(({ name, version }) => [name, version]));
      expect([...known.keys()].sort()).toEqual(generators);
      before.leave();
      const without = join(OURS);
      without.subscribe('HostnameGenerator', known);
      expect(await without.take()).toMatchObject({ resources: [], removedResources: [everywhere] });
      without.leave();
      known.delete(everywhere);
      const again = join([...OURS, hostnameGeneratorMultiZone]);
      again.subscribe('HostnameGenerator', known);
      expect(await again.take()).toMatchObject({ resources: [{ name: everywhere }], removedResources: [] });
    });

    it('gets hashed names when it reconnects with the feature (engine 17)', async () => {
      await put('Mesh', 'default', {});
      expect(Object.keys(await stateOf(join(OLD), 'MeshTimeout'))).toEqual(['slow.default']);
      const known = new Map([['slow.default', 'v']]);
      const zone = join(OURS);
      zone.subscribe('MeshTimeout', known);
      expect(await zone.take()).toMatchObject({ resources: [{ name: SLOW }], removedResources: ['slow.default'] });
    });
  });
});
