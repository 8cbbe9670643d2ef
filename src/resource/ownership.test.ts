// The ownership of a row, as tables of its labels, its version on the wire and its owner.
import { describe, expect, it } from 'vitest';
import type { ControlPlaneIdentity } from './compute-labels.ts';
import type { Labels, ResourceKey } from './types.ts';
import { hashNameOf } from './hash-name.ts';
import { resourceTypes, typeOf } from './type-registry.ts';
import {
  asStoredIn,
  belongsToZone,
  fixedZoneOf,
  homeZoneOf,
  isFromGlobal,
  isInAllZones,
  isLocal,
  isNameOfZone,
  isOfZone,
  mayReplace,
  ownerLabelFaults,
  sourceZoneOf,
  zoneOf,
} from './ownership.ts';

const east: ResourceKey = { type: 'Zone', mesh: '', name: 'east' };
const mesh: ResourceKey = { type: 'Mesh', mesh: '', name: 'default' };
const origin = (value: string) => ({ 'kuma.io/origin': value });
const zone = (value: string) => ({ 'kuma.io/zone': value });

describe('a row is local', () => {
  it.each([
    [{ labels: {} }, { global: true, zone: true }],
    [{ labels: origin('global') }, { global: true, zone: false }],
    [{ labels: origin('zone') }, { global: false, zone: true }],
    [
      { labels: origin('zone'), syncVersion: 'v' },
      { global: false, zone: false },
    ],
    [
      { labels: {}, syncVersion: '' },
      { global: false, zone: false },
    ],
    [
      { labels: {}, owner: east },
      { global: false, zone: false },
    ],
    [
      { labels: origin('zone'), owner: mesh },
      { global: false, zone: true },
    ],
  ])('%j: %j', (row, expected) => {
    expect({ global: isLocal(row, 'global'), zone: isLocal(row, 'zone') }).toEqual(expected);
  });
});

describe('a row on global', () => {
  it.each([
    ['has an owner, which decides', { name: 'west.a', labels: zone('west'), owner: east }, 'east'],
    ['has a label', { name: 'west.a', labels: { ...origin('zone'), ...zone('east') } }, 'east'],
    ['has a legacy name', { name: 'east.a', labels: origin('zone') }, 'east'],
  ])('that %s comes from that zone only', (_, row, expected) => {
    expect(zoneOf(row)).toBe(expected);
    expect(['east', 'west'].filter((name) => belongsToZone(row, name))).toEqual([expected]);
  });

  it('that global wrote belongs to no zone, with any name and zone label', () => {
    const row = { name: 'east.a', labels: { ...origin('global'), ...zone('east') } };
    expect(belongsToZone(row, 'east')).toBe(false);
    expect(isOfZone(row)).toBe(false);
  });

  it('whose owner is a Zone belongs to that zone, also without labels', () => {
    expect(isOfZone({ labels: {}, owner: east })).toBe(true);
  });

  it('has a name from its zone: the hash of its labels, or the zone prefix', () => {
    const labels = { ...origin('zone'), ...zone('east'), 'kuma.io/display-name': 'cart' };
    const hashed = hashNameOf({ mesh: 'default', name: 'cart', labels });
    const names = [
      hashed,
      'east.cart',
      'cart',
      'west.cart',
      hashNameOf({ mesh: 'default', name: 'other', labels: zone('east') }),
    ];
    expect(names.filter((name) => isNameOfZone({ mesh: 'default', name, labels }))).toEqual([hashed, 'east.cart']);
    expect(['undefined.cart', '.cart'].map((name) => isNameOfZone({ mesh: 'default', name, labels: {} }))).toEqual([false, true]);
  });
});

it.each([
  [{ labels: origin('global') }, true],
  [{ labels: {}, syncVersion: '' }, true],
  [{ labels: origin('zone'), syncVersion: 'v' }, true],
  [{ labels: origin('zone') }, false],
  [{ labels: {} }, false],
])('a row in a zone came from global: %j, %j', (row, expected) => {
  expect(isFromGlobal(row)).toBe(expected);
});

it.each<[string, Labels, Labels, string | null, boolean]>([
  ['of the same place', { ...origin('zone'), ...zone('east') }, { ...origin('zone'), ...zone('east') }, null, true],
  ['without a place', {}, { ...origin('zone'), ...zone('east') }, null, true],
  ['of another origin', origin('global'), origin('zone'), null, false],
  ['of another zone', zone('west'), zone('east'), null, false],
  ['of a zone, by one of none', zone('west'), {}, null, false],
  ['of the same namespace', { 'k8s.kuma.io/namespace': 'a' }, { 'k8s.kuma.io/namespace': 'a' }, null, true],
  ['of another namespace', { 'k8s.kuma.io/namespace': 'a' }, { 'k8s.kuma.io/namespace': 'b' }, null, false],
  ['of a namespace, by one of none', { 'k8s.kuma.io/namespace': 'a' }, {}, null, false],
  ['of no namespace, by one of some', {}, { 'k8s.kuma.io/namespace': 'a' }, null, false],
  ['of no namespace, by one with an empty name of it', {}, { 'k8s.kuma.io/namespace': '' }, null, true],
  ['that came by KDS', {}, {}, '', false],
])('a write replaces a row or not: %s', (_, stored, written, syncVersion, expected) => {
  expect(mayReplace({ labels: stored, syncVersion }, { labels: written })).toBe(expected);
});

it('the zone that wrote a row is on global its owner, label or prefix, and in a zone its label', () => {
  const row = { name: 'west.a', labels: origin('zone') };
  expect([sourceZoneOf(row, 'global'), sourceZoneOf(row, 'zone')]).toEqual(['west', undefined]);
  const labelled = { ...row, labels: zone('north'), owner: east };
  expect([sourceZoneOf(labelled, 'global'), sourceZoneOf(labelled, 'zone')]).toEqual(['east', 'north']);
  expect(zoneOf({ name: 'west.a', labels: zone('north'), owner: mesh })).toBe('north');
});

it('an update keeps the zone label, except of a row that global wrote and changes itself', () => {
  const rows = [{ ...origin('global'), ...zone('east') }, { ...origin('zone'), ...zone('east') }, zone('east'), {}];
  expect(rows.map((labels) => [fixedZoneOf({ labels }, 'global'), fixedZoneOf({ labels }, 'zone')])).toEqual([
    [undefined, 'east'],
    ['east', 'east'],
    ['east', 'east'],
    [undefined, undefined],
  ]);
});

it('a service has its own name in its zone, and a hashed name of origin global in another', () => {
  const at = { type: 'MeshService', mesh: 'default', name: 'stored' };
  const named = { 'kuma.io/display-name': 'cart', 'k8s.kuma.io/namespace': 'shop' };
  const ofEast = { ...at, labels: { ...named, ...zone('east') } };
  expect(asStoredIn(ofEast, 'east')).toEqual({ ...at, name: 'cart.shop', labels: { ...ofEast.labels, ...origin('zone') } });
  const copy = { ...at, name: hashNameOf(ofEast), labels: { ...ofEast.labels, ...origin('global') } };
  expect(asStoredIn(ofEast, 'west')).toEqual(copy);
  const ofNone = { ...at, labels: { ...origin('zone') } };
  expect(asStoredIn(ofNone, 'west')).toEqual({ ...ofNone, name: 'stored' });
  expect(asStoredIn({ ...at, labels: {} }, 'west').labels).toEqual(origin('global'));
});

it('a write replaces no row of a Zone, even without labels', () => {
  expect(mayReplace({ labels: {} }, { labels: origin('global') })).toBe(true);
  expect(mayReplace({ labels: {}, owner: east }, { labels: origin('global') })).toBe(false);
});

describe('a row is in all zones', () => {
  const ofEast = { ...origin('zone'), ...zone('east') };
  const producer = { 'kuma.io/policy-role': 'producer' };

  it.each([
    ['MeshTimeout', {}, true],
    ['MeshTimeout', origin('global'), true],
    ['MeshTimeout', { ...origin('global'), 'kuma.io/kds-sync': 'disabled' }, false],
    ['MeshTimeout', { ...origin('global'), 'kuma.io/kds-sync': 'enabled' }, true],
    ['MeshTimeout', { ...origin('global'), ...zone('east') }, true],
    ['MeshTimeout', origin('zone'), true],
    ['MeshTimeout', ofEast, false],
    ['MeshTimeout', { ...origin('zone'), ...zone('') }, true],
    ['MeshTimeout', { ...ofEast, ...producer }, true],
    ['MeshService', ofEast, true],
    ['Dataplane', { ...ofEast, ...producer }, false],
  ])('%s %j: %s', (type, labels, expected) => {
    expect(isInAllZones({ labels }, typeOf(type))).toBe(expected);
  });

  it('not without its type, unless it is of global', () => {
    expect(isInAllZones({ labels: { ...ofEast, ...producer } }, undefined)).toBe(false);
    expect(isInAllZones({ labels: {} }, undefined)).toBe(true);
  });

  it('or at home in the zone of its label, else here', () => {
    expect([homeZoneOf({ labels: zone('west') }, 'east'), homeZoneOf({ labels: {} }, 'east')]).toEqual(['west', 'east']);
  });
});

describe('the origin and the zone that a caller gives', () => {
  const GLOBAL = { mode: 'global', zone: null, federated: false } as const;
  const ALONE = { mode: 'zone', zone: 'east', federated: false } as const;
  const FEDERATED = { ...ALONE, federated: true };
  const must = 'must be zone: a zone that has a global says so with every resource it writes';
  const [origin, zone] = ['kuma.io/origin', 'kuma.io/zone'];

  it.each<[string, ControlPlaneIdentity, Labels, (readonly [string, string])[]]>([
    ['global, none', GLOBAL, {}, []],
    ['global, its own', GLOBAL, { [origin]: 'global', [zone]: 'west' }, []],
    ['global, that of a zone', GLOBAL, { [origin]: 'zone' }, [[origin, 'must be global here']]],
    ['global, an unknown one', GLOBAL, { [origin]: 'moon' }, [[origin, 'must be global here']]],
    ['a zone without a global, that of global', ALONE, { [origin]: 'global' }, []],
    ['another zone, from global', ALONE, { [origin]: 'global', [zone]: 'west' }, [[zone, 'must be east, the name of this zone']]],
    ['a zone without a global, an unknown one', ALONE, { [origin]: 'moon' }, [[origin, 'must be zone here']]],
    ['a zone with a global, none', FEDERATED, {}, [[origin, must]]],
    ['a zone with a global, its own', FEDERATED, { [origin]: 'zone', [zone]: 'east' }, []],
    ['a zone with a global, that of global', FEDERATED, { [origin]: 'global' }, [[origin, 'must be zone here']]],
    ['a zone, another zone', FEDERATED, { [origin]: 'zone', [zone]: 'west' }, [[zone, 'must be east, the name of this zone']]],
  ])('are refused or not: %s', (_, writer, labels, expected) => {
    expect(ownerLabelFaults(typeOf('MeshTimeout'), labels, { writer, checksOrigin: true })).toEqual(expected);
  });

  it('are never another zone in a zone, for each type, origin and setting', () => {
    for (const info of resourceTypes)
      for (const writer of [ALONE, FEDERATED])
        for (const checksOrigin of [true, false])
          for (const from of [undefined, 'zone', 'global']) {
            const labels = { [zone]: 'west', ...(from !== undefined && { [origin]: from }) };
            const fields = ownerLabelFaults(info, labels, { writer, checksOrigin }).map(([key]) => key);
            expect(fields, `${info.name} ${String(from)}`).toContain(zone);
          }
  });

  it('may be any known origin where it is not checked, and for a type of the old form', () => {
    for (const value of ['global', 'zone'])
      for (const writer of [GLOBAL, FEDERATED])
        expect(ownerLabelFaults(typeOf('MeshTimeout'), { [origin]: value }, { writer, checksOrigin: false })).toEqual([]);
    expect(ownerLabelFaults(typeOf('Mesh'), {}, { writer: FEDERATED, checksOrigin: true })).toEqual([]);
    expect(ownerLabelFaults(typeOf('Mesh'), { [origin]: 'moon' }, { writer: FEDERATED, checksOrigin: false })).toEqual([
      [origin, 'must be zone here'],
    ]);
  });
});
