// The effect of a change of a zone on the log.
import { describe, expect, it } from 'vitest';
import { TinyStore } from '../../../test/support/tiny-store.ts';
import { ANY_ZONE, type ZoneProfile } from '../../resource/zone-profile.ts';
import type { ResourceKey } from '../../resource/types.ts';
import { namesOf, start } from './changelog.fixture.ts';
import type { ZoneChange } from '../protocol/zone-access.ts';

/** The zone is disabled now. */
function disabled(zone: string): ZoneChange {
  return { zone, before: ANY_ZONE, after: { ...ANY_ZONE, isEnabled: false } };
}

describe('a row whose Zone changes while its labels stay', () => {
  const key = { type: 'MeshService', mesh: 'default', name: 'web' };

  it('belongs to the new Zone only, so that disabling the old Zone does not change it', async () => {
    const store = new TinyStore();
    const labels = { 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east' };
    const write = async (zone: string): Promise<void> => {
      await store.write({ op: 'delete', key });
      await store.write({ op: 'create', key, labels, spec: {}, owner: { type: 'Zone', mesh: '', name: zone } });
    };
    for (const name of ['east', 'west'])
      await store.write({ op: 'create', key: { type: 'Zone', mesh: '', name }, labels: {}, spec: {} });
    const changelog = start(store);
    await write('east');
    await changelog.caughtUp();
    await write('west');
    await changelog.caughtUp();
    const log = changelog.logOf('MeshService');
    expect([...(log?.since(0) ?? [])].map(({ entry }) => entry?.visibility)).toEqual([
      { to: 'others', zone: 'west', mesh: 'default' },
    ]);
    const before = log?.position ?? 0;
    changelog.touchZone(disabled('east'));
    expect(log?.position).toBe(before);
    changelog.touchZone(disabled('west'));
    expect(log?.position).toBe(before + 1);
    await store.write({ op: 'delete', key });
    await changelog.caughtUp();
    for (const zone of ['east', 'west']) changelog.touchZone(disabled(zone));
    expect(namesOf(changelog, 'MeshService')).toEqual([]);
  });

  it('belongs to the new Zone only, also where another program has changed its owner in place', async () => {
    const store = new TinyStore().withZones('east', 'west');
    const labels = { 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east' };
    await store.write({ op: 'create', key, labels, spec: {}, owner: { type: 'Zone', mesh: '', name: 'east' } });
    const changelog = start(store);
    await changelog.caughtUp();
    for (const [id, row] of store.rows)
      if (row.type === key.type) store.rows.set(id, { ...row, owner: { type: 'Zone', mesh: '', name: 'west' } });
    await store.write({ op: 'update', key, labels, spec: {} });
    await changelog.caughtUp();
    expect([...changelog.slotsFrom('east')]).toEqual([]);
    expect([...changelog.slotsFrom('west')].map(({ mesh, slots }) => [mesh, slots.size])).toEqual([['default', 1]]);
  });
});

describe('the rows of a zone', () => {
  it('are touched with their zone, also after one of them has gone', async () => {
    const store = new TinyStore().withZones('east');
    const keyOf = (name: string): ResourceKey => ({ type: 'MeshService', mesh: 'default', name });
    const owner = { type: 'Zone', mesh: '', name: 'east' };
    const labels = { 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east' };
    const changelog = start(store);
    const positionAfter = (change: () => void): number => {
      const before = changelog.logOf('MeshService')?.position ?? 0;
      change();
      return (changelog.logOf('MeshService')?.position ?? 0) - before;
    };
    for (const name of ['a', 'b', 'c']) await store.write({ op: 'create', key: keyOf(name), labels, spec: {}, owner });
    await changelog.caughtUp();
    const notified: string[] = [];
    changelog.onAppend((type) => void notified.push(type));
    expect(positionAfter(() => changelog.touchZone(disabled('east')))).toBe(3);
    expect(notified).toEqual(['MeshService']);
    for (const left of [2, 1, 0]) {
      await store.write({ op: 'delete', key: keyOf(['c', 'b', 'a'][left] ?? '') });
      await changelog.caughtUp();
      expect(positionAfter(() => changelog.touchZone(disabled('east')))).toBe(left);
    }
    expect(positionAfter(() => changelog.touchZone(disabled('west')))).toBe(0);
  });
});

it('a change of the membership of a zone touches its resources in the meshes that it joins or leaves', async () => {
  const store = new TinyStore().withZones('east');
  const owner = { type: 'Zone', mesh: '', name: 'east' };
  const labels = { 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east' };
  for (const mesh of ['shop', 'shop', 'pay'].entries())
    await store.write({
      ...{ op: 'create', labels, spec: {}, owner },
      key: { type: 'MeshService', mesh: mesh[1], name: `s${String(mesh[0])}` },
    });
  const changelog = start(store);
  await changelog.caughtUp();
  const of = (...meshes: string[]): ZoneProfile => ({ ...ANY_ZONE, meshes: meshes.length === 0 ? null : new Set(meshes) });
  const position = (): number => changelog.logOf('MeshService')?.position ?? 0;
  const moved = (before: ZoneProfile, after: ZoneProfile): number => {
    const from = position();
    changelog.touchZone({ zone: 'east', before, after });
    return position() - from;
  };
  expect(moved(of(), of('pay'))).toBe(2);
  expect(moved(of('pay'), of('pay', 'x'))).toBe(0);
  expect(moved(of('pay'), of('shop'))).toBe(3);
  expect(moved({ ...of('pay'), isEnabled: false }, of('pay'))).toBe(1);
  expect([...changelog.notForwarded('east', of('pay'))]).toEqual([['shop', 2]]);
  expect([...changelog.notForwarded('east', of())]).toEqual([]);
  expect([...changelog.notForwarded('west', of('pay'))]).toEqual([]);
});
