// Explain-sync in a multizone mesh: its answers agree with the content of the stores.
import { describe, expect, it } from 'vitest';
import type { Answer } from '../../src/answers/answers.ts';
import { displayNameOf } from '../../src/resource/labels.ts';
import { zones } from '../golden/control-planes.ts';
import { asInTheZone } from './as-in-the-zone.ts';
import { meshOfTwoZones } from './mesh-of-two-zones.ts';

const mesh = meshOfTwoZones();
const { planes } = mesh;

describe('explaining sync', () => {
  it('names each zone, the name there, and the rule', async () => {
    const { body } = await planes.ask('global', '/meshes/default/meshtimeouts/everywhere/_sync');
    expect(body).toMatchObject({
      from: 'global',
      targets: zones.map((to) => ({ to, isSent: true, reason: 'written on global' })),
    });
    const sent = (body as { targets: { name: string }[] }).targets.map(({ name }) => name);
    for (const [at, zone] of zones.entries())
      expect(planes.stores[zone].rows.has(mesh.idOf('MeshTimeout', sent[at] ?? ''))).toBe(true);
  });

  it.each<[name: string, west: boolean, reason: RegExp]>([
    ['producer.shop', true, /only producer policies cross zones/],
    ['consumer.web', false, /only producer policies cross zones/],
    ['inbound', false, /only producer policies cross zones/],
  ])('%s goes to the other zone: %s', async (name, isSent, reason) => {
    const stored = mesh.storedOnGlobal('MeshTimeout', 'east', name);
    const { body } = await planes.ask('global', `/meshes/default/meshtimeouts/${stored}/_sync`);
    const expectedRole = { 'producer.shop': 'producer', 'consumer.web': 'consumer' }[name] ?? 'system';
    expect(body).toMatchObject({ role: { label: expectedRole, computed: expectedRole } });
    const { targets } = body as { targets: { to: string; isSent: boolean; name: string | null; reason: string }[] };
    const [east, west] = targets;
    expect(east).toMatchObject({ to: 'east', isSent: false, name: null });
    expect(west).toMatchObject({ to: 'west', isSent });
    expect(west?.reason).toMatch(reason);
    expect([...planes.stores.west.rows.values()].some((row) => displayNameOf(row) === name.split('.')[0])).toBe(isSent);
    const { body: inEast } = await planes.ask('east', `/meshes/default/meshtimeouts/${name}/_sync`);
    expect(inEast).toMatchObject({
      from: 'east',
      targets: [
        { to: 'global', isSent: true, name: stored },
        { to: 'other zones', isSent, name: west?.name ?? null },
      ],
    });
  });

  it('explains a page of resources as it explains each of them', async () => {
    const { body } = await planes.ask('global', '/meshes/default/meshtimeouts/_sync?size=2&offset=1');
    const page = body as { total: number; items: { storedName: string }[]; next: string | null };
    expect(page.items).toHaveLength(2);
    expect([page.total > 3, page.next]).toEqual([true, expect.stringContaining('offset=3')]);
    for (const item of page.items)
      expect((await planes.ask('global', `/meshes/default/meshtimeouts/${item.storedName}/_sync`)).body).toMatchObject(item);
    expect((await planes.ask('global', '/meshes/nowhere/meshtimeouts/_sync')).status).toBe(404);
  });

  it.each(['global', 'east'] as const)('has a matrix that agrees with the explanation of each resource, on %s', async (cp) => {
    const { body } = await planes.ask(cp, '/meshes/default/meshtimeouts/_matrix?size=100');
    const { zones: names = [], items, total } = body as Answer<'SyncMatrix'>;
    expect([items.length, total > 3]).toEqual([total, true]);
    for (const { storedName, verdicts, runs } of items) {
      const explained = (await planes.ask(cp, `/meshes/default/meshtimeouts/${storedName}/_sync`)).body;
      const cells = Array.from({ length: runs.length / 2 }, (_, at) => [runs[2 * at] ?? 0, runs[2 * at + 1] ?? 0] as const);
      const targets = cells
        .flatMap(([verdict, count]) => Array.from({ length: count }, () => verdicts[verdict]))
        .map((verdict, at) => ({ to: names[at], isSent: verdict?.isSent, name: verdict?.name, reason: verdict?.reason }));
      expect(explained).toMatchObject({ targets });
    }
    expect((await planes.ask(cp, '/meshes/nowhere/meshtimeouts/_matrix')).status).toBe(404);
    expect((await planes.ask(cp, '/zones/_matrix')).body).toMatchObject({ total: expect.any(Number) as number });
  });

  it('explains a global type, a synced copy and an unsynced type', async () => {
    expect((await planes.ask('global', '/zones/east/_sync')).body).toMatchObject({
      targets: [{ isSent: false, reason: 'the type Zone is not synced to zones' }, { isSent: false }],
    });
    const copy = [...planes.stores.west.rows.values()].find((row) => displayNameOf(row) === 'everywhere')?.name ?? '';
    expect((await planes.ask('west', `/meshes/default/meshtimeouts/${copy}/_sync`)).body).toMatchObject({
      targets: [{ to: 'global', isSent: false, reason: 'comes from another control plane' }],
    });
  });

  it('explains that the zone of the resource is disabled', async () => {
    const stored = mesh.storedOnGlobal('MeshTimeout', 'east', 'producer.shop');
    await mesh.apply('global', { type: 'Zone', name: 'east', enabled: false });
    const { body } = await planes.ask('global', `/meshes/default/meshtimeouts/${stored}/_sync`);
    expect(body).toMatchObject({
      targets: [{ to: 'east' }, { to: 'west', isSent: false, reason: 'zone east, from which it comes, is disabled' }],
    });
    await planes.rest();
    for (const [zone, name] of [['east', 'web-1.web'] as const, ['west', 'web-1.web'] as const]) {
      const there = mesh.storedOnGlobal('Dataplane', zone, name);
      for (const question of ['_rules', '_effective', '_layout']) {
        const here = await planes.ask(zone, `/meshes/default/dataplanes/${name}/${question}`);
        expect(JSON.stringify(here.body).includes('kri_msvc_default_east_shop_cart_')).toBe(
          zone === 'east' && question !== '_rules',
        );
        const onGlobal = await planes.ask('global', `/meshes/default/dataplanes/${there}/${question}`);
        expect(asInTheZone(onGlobal.body, zone)).toEqual(asInTheZone(here.body, zone));
      }
    }
  });
});
