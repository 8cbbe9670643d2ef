// The places where the demo expects a resource, compared with the table of kds-wire 5.4 and the rules of the engine for every type.
import { describe, expect, it } from 'vitest';
import { visibilityOf, globalReceiveRules, globalSendRules, zoneSendRules } from '../../kds/protocol/rules.ts';
import { hashName } from '../../resource/hash-name.ts';
import { label } from '../../resource/labels.ts';
import { resourceTypes, typeOf } from '../../resource/type-registry.ts';
import type { Labels, Resource } from '../../resource/types.ts';
import { placements, type AppliedResource, type Holding } from './placement.ts';

const ZONES = ['zone-1', 'zone-2', 'zone-3'];

function applied(type: string, at: string, name: string, labels: Labels = {}): AppliedResource {
  const info = typeOf(type);
  return { at, info, mesh: info.scope === 'Mesh' ? 'default' : '', name, labels };
}

const placesOf = (holdings: readonly Holding[]): string[] => holdings.map(({ place }) => place);

describe('the placement of a resource', () => {
  it('agrees with the table of kds-wire 5.4 for a MeshService of zone-1', () => {
    const [hash, shown] = ['backend-d8466458x7574b7b', { [label.displayName]: 'backend' }];
    expect(placements(applied('MeshService', 'zone-1', 'backend'), ['zone-1', 'zone-2'])).toEqual([
      { place: 'zone-1', storedName: 'backend', labels: { ...shown, [label.origin]: 'zone' } },
      { place: 'global', storedName: hash, labels: { ...shown, [label.origin]: 'zone', [label.zone]: 'zone-1' } },
      { place: 'zone-2', storedName: hash, labels: { ...shown, [label.origin]: 'global', [label.zone]: 'zone-1' } },
    ]);
  });

  it('agrees with the table for a policy of global in any zone', () => {
    const labels = { [label.displayName]: 'default-timeout-global', [label.origin]: 'global' };
    const storedName = 'default-timeout-global-54dbd4c66zwbcf9c';
    expect(placements(applied('MeshTimeout', 'global', 'default-timeout-global'), ZONES)).toEqual([
      { place: 'global', storedName: 'default-timeout-global', labels },
      ...ZONES.map((place) => ({ place, storedName, labels })),
    ]);
  });

  it.each<[type: string, at: string, places: string[]]>([
    ['Mesh', 'global', ['global', ...ZONES]],
    ['Secret', 'global', ['global', ...ZONES]],
    ['MeshTimeout', 'global', ['global', ...ZONES]],
    ['MeshMultiZoneService', 'global', ['global', ...ZONES]],
    ['HostnameGenerator', 'global', ['global', ...ZONES]],
    ['Zone', 'global', ['global']],
    ['MeshService', 'zone-2', ['zone-2', 'global', 'zone-1', 'zone-3']],
    ['MeshZoneAddress', 'zone-2', ['zone-2', 'global', 'zone-1', 'zone-3']],
    ['Dataplane', 'zone-2', ['zone-2', 'global']],
    ['Workload', 'zone-2', ['zone-2', 'global']],
    ['HostnameGenerator', 'zone-2', ['zone-2', 'global']],
    ['MeshExternalService', 'zone-2', ['zone-2', 'global']],
    // Without a namespace a policy is a system policy, and those stay with their zone and global.
    ['MeshTimeout', 'zone-2', ['zone-2', 'global']],
    ['Secret', 'zone-2', ['zone-2']],
    ['Zone', 'zone-2', ['zone-2']],
  ])('of type %s applied on %s is %j', (type, at, places) => {
    expect(placesOf(placements(applied(type, at, 'thing'), ZONES))).toEqual(places);
  });

  it.each(['global', 'zone-1'])('applied on %s stays there when kds-sync is disabled', (at) => {
    const labels = { [label.kdsSync]: 'disabled' };
    for (const { name } of resourceTypes) expect(placesOf(placements(applied(name, at, 'thing', labels), ZONES))).toEqual([at]);
  });

  it('keeps the names of the four types without hashed names, and of no other type', () => {
    for (const { name, kds } of resourceTypes.filter(({ kds: ways }) => ways.globalToZone)) {
      const [, copy] = placements(applied(name, 'global', 'thing'), ZONES);
      const { mesh } = applied(name, 'global', 'thing');
      expect([name, copy?.storedName]).toEqual([name, kds.skipHash ? 'thing' : hashName({ mesh, name: 'thing' })]);
    }
  });

  it('agrees with the rules of the engine for every type', () => {
    // A GlobalSecret or Config of any other name is the engine's own business (kds-wire 5.2.2, 5.2.3).
    for (const info of resourceTypes.filter(({ name }) => name !== 'Config')) {
      for (const at of ['global', 'zone-1'])
        expect(placements(applied(info.name, at, 'thing'), ZONES)).toEqual(byRules(info.name, at));
    }
  });
});

/** The places of a resource by the rules of global and zones for sending and receiving. */
function byRules(type: string, at: string): Holding[] {
  const { info, mesh } = applied(type, at, 'thing');
  const origin = at === 'global' ? 'global' : 'zone';
  const row: Resource = {
    ...{ type, mesh, name: 'thing', spec: {}, status: {}, version: 0, owner: null, syncVersion: null },
    ...{
      labels: { [label.displayName]: 'thing', [label.origin]: origin },
      creationTime: new Date(0),
      modificationTime: new Date(0),
    },
  };
  const own: Holding = { place: at, storedName: row.name, labels: row.labels };
  if (at === 'global') return [own, ...toZones(row)];
  const up = zoneSendRules({ zone: at });
  if (!up.types.includes(info) || visibilityOf(up, row).visibility.to !== 'all') return [own];
  const { name, labels } = globalReceiveRules(at, { hashedNames: true }).rewrite(up.map(row, info), info);
  const copy = { ...row, name, labels, syncVersion: 'v', owner: { type: 'Zone', mesh: '', name: at } };
  return [own, { place: 'global', storedName: name, labels }, ...toZones(copy)];
}

function toZones(row: Resource): Holding[] {
  const down = globalSendRules();
  const { visibility } = visibilityOf(down, row);
  if (!down.types.includes(typeOf(row.type)) || visibility.to === 'none') return [];
  const { name: storedName, labels } = down.map(row, typeOf(row.type));
  const zones = visibility.to === 'all' ? ZONES : ZONES.filter((zone) => zone !== visibility.zone);
  return zones.map((place) => ({ place, storedName, labels }));
}
