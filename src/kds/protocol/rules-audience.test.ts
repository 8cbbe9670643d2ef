// The zones that get a resource: members of its mesh, with the labels that a service names, and the reason for every other zone.
import { describe, expect, it } from 'vitest';
import { FROM_EAST, labelled, resource } from '../../../test/support/rule-rows.ts';
import { makeRow } from '../../../test/support/make-row.ts';
import type { Labels, Resource } from '../../resource/types.ts';
import { ANY_ZONE, type ZoneProfile } from '../../resource/zone-profile.ts';
import { resourceTypes } from '../../resource/type-registry.ts';
import { isSameVisibility, isVisibleTo, reasonHidden, type Visibility, globalSendRules, visibilityOf } from './rules.ts';
import { feature, nodeFeatures } from './features.ts';

const rules = globalSendRules();
const ALL_FEATURES = new Set(nodeFeatures);
const EXPORTED = { 'exported-to.meridian.io/region': 'eu' };

function zone(meshes: readonly string[] | null, labels: Labels = {}): ZoneProfile {
  return { isEnabled: true, meshes: meshes === null ? null : new Set(meshes), labels };
}

/** Returns null if the zone west gets the row, else the reason. */
function reasonFor(row: Resource, west: ZoneProfile, east = ANY_ZONE, features: ReadonlySet<string> | null = ALL_FEATURES) {
  const { visibility } = visibilityOf(rules, row);
  if (visibility.to === 'none') throw new Error('no zone gets the row');
  const viewer = { zone: 'west', features, profileOf: (name: string) => (name === 'west' ? west : east) };
  const reason = reasonHidden(visibility, viewer);
  expect(isVisibleTo(visibility, viewer)).toBe(reason === null);
  return reason;
}

describe('a zone that is a member of some meshes', () => {
  it('gets every synced type of its meshes, and none of another', () => {
    const ofMesh = (mesh: string): Resource[] =>
      resourceTypes
        .filter(({ scope, kds }) => scope === 'Mesh' && kds.globalToZone)
        .map(({ name }) => makeRow(name, 'thing', { mesh }));
    for (const row of ofMesh('shop')) expect(reasonFor(row, zone(['shop']))).toBeNull();
    for (const row of ofMesh('payments'))
      expect(reasonFor(row, zone(['shop']))).toBe('the zone is not a member of mesh payments');
  });

  it('gets its Meshes alone', () => {
    expect(reasonFor(resource('Mesh', { name: 'shop' }), zone(['shop']))).toBeNull();
    expect(reasonFor(resource('Mesh', { name: 'payments' }), zone(['shop']))).toBe('the zone is not a member of mesh payments');
  });

  it('gets every Mesh, without its resources, if it cannot keep its own resources in a removed Mesh', () => {
    const kuma = new Set([feature.hashSuffix]);
    expect(reasonFor(resource('Mesh', { name: 'payments' }), zone(['shop']), ANY_ZONE, kuma)).toBeNull();
    expect(reasonFor(resource('Secret', { mesh: 'payments' }), zone(['shop']), ANY_ZONE, kuma)).not.toBeNull();
  });

  it('gets resources without a mesh', () => {
    const cluster = resource('Config', { name: 'kuma-cluster-id' });
    for (const row of [resource('GlobalSecret'), resource('HostnameGenerator'), cluster])
      expect(reasonFor(row, zone(['shop']))).toBeNull();
  });

  it('sends nothing of another mesh to the members of that mesh', () => {
    const service = labelled('MeshService', FROM_EAST, { mesh: 'shop' });
    expect(reasonFor(service, zone(['shop']), zone(['shop', 'x']))).toBeNull();
    expect(reasonFor(service, zone(null), zone(['x']))).toBe('zone east, from which it comes, is not a member of mesh shop');
  });
});

describe('a service with a label exported-to.meridian.io/…', () => {
  it('goes to zones with that label alone', () => {
    const service = labelled('MeshService', { ...FROM_EAST, ...EXPORTED });
    expect(reasonFor(service, zone(null, { region: 'eu' }))).toBeNull();
    expect(reasonFor(service, zone(null, { region: 'us' }))).toBe('it is exported to zones with the labels region: eu alone');
  });

  it('goes to members of its mesh alone', () => {
    const service = labelled('MeshExternalService', EXPORTED);
    expect(reasonFor(service, zone(['shop'], { region: 'eu' }))).toBe('the zone is not a member of mesh default');
  });
});

it.each<[Visibility, Visibility, boolean]>([
  [{ to: 'none' }, { to: 'none' }, true],
  [{ to: 'none' }, { to: 'all' }, false],
  [{ to: 'all', mesh: 'a' }, { to: 'all', mesh: 'a' }, true],
  [{ to: 'all', mesh: 'a' }, { to: 'all', mesh: 'b' }, false],
  [{ to: 'all', mesh: 'a', among: 'x' }, { to: 'all', mesh: 'a' }, false],
  [{ to: 'all', feature: 'x' }, { to: 'all' }, false],
  [{ to: 'others', zone: 'east' }, { to: 'others', zone: 'west' }, false],
  [{ to: 'all', exportedTo: { a: '1', b: '2' } }, { to: 'all', exportedTo: { b: '2', a: '1' } }, true],
  [{ to: 'all', exportedTo: { a: '1' } }, { to: 'all', exportedTo: { a: '1', b: '2' } }, false],
  [{ to: 'all', exportedTo: { a: '1', b: '2' } }, { to: 'all', exportedTo: { a: '1' } }, false],
  [{ to: 'all', exportedTo: {} }, { to: 'all' }, false],
])('the visibilities %j and %j are the same: %s', (one, other, isSame) => {
  expect(isSameVisibility(one, other)).toBe(isSame);
});
