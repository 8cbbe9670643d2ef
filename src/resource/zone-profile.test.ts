// The profile of a zone in its Zone, as it is written, and as it is read.
import { describe, expect, it } from 'vitest';
import { makeRow } from '../../test/support/make-row.ts';
import { ANY_ZONE, exportSelectorOf, fits, isMember, profileOf, zoneViolations } from './zone-profile.ts';

const zone = (spec: Record<string, never> | object) => profileOf(makeRow('Zone', 'east', { spec: { ...spec } }));

describe('the profile of a zone', () => {
  it.each([[{}], [{ meshes: null }], [{ meshes: [] }]])('is a member of all meshes with the spec %j', (spec) => {
    expect(zone(spec)).toEqual(ANY_ZONE);
    expect(isMember(zone(spec), 'shop')).toBe(true);
  });

  it('is a member of the named meshes alone', () => {
    const profile = zone({ meshes: ['shop', 'not-yet-there'], enabled: false });
    expect(['shop', 'not-yet-there', 'payments'].map((mesh) => isMember(profile, mesh))).toEqual([true, true, false]);
    expect(profile.isEnabled).toBe(false);
  });

  it.each([[{ meshes: 'shop' }], [{ meshes: { shop: true } }], [{ meshes: [1] }]])(
    'is a member of no mesh with the unreadable spec %j',
    (spec) => expect(isMember(zone(spec), 'shop')).toBe(false),
  );
});

describe('the meshes of a Zone as a person writes it', () => {
  it.each([[{}], [{ meshes: null }], [{ meshes: ['shop', 'a.b_c-1'] }]])('may be %j', (spec) =>
    expect(zoneViolations(spec)).toEqual([]),
  );

  it.each([
    [{ meshes: 'shop' }, 'meshes', /must be a list/],
    [{ meshes: [] }, 'meshes', /leave the field out for all meshes/],
    [{ meshes: ['shop', 'Shop'] }, 'meshes[1]', /must be the name of a mesh/],
    [{ meshes: [7] }, 'meshes[0]', /must be the name of a mesh/],
    [{ meshes: ['shop', 'a', 'shop'] }, 'meshes[2]', /"shop" is in the list already/],
    [{ meshes: Array.from({ length: 1_001 }, (_, index) => `m${String(index)}`) }, 'meshes', /at most 1000/],
  ])('may not be %j', (spec, field, reason) => {
    expect(zoneViolations(spec)).toEqual([{ field, reason: expect.stringMatching(reason) as unknown }]);
  });
});

describe('the zones that a service is exported to', () => {
  const labels = { team: 'a', 'exported-to.meridian.io/region': 'eu', 'exported-to.meridian.io/tier': 'gold' };

  it.each(['MeshService', 'MeshMultiZoneService', 'MeshExternalService'])('have the labels that a %s names', (type) => {
    const selector = exportSelectorOf({ type, labels });
    expect(selector).toEqual({ region: 'eu', tier: 'gold' });
    expect(fits(selector ?? {}, { region: 'eu', tier: 'gold', more: 'x' })).toBe(true);
    expect(fits(selector ?? {}, { region: 'eu' })).toBe(false);
    expect(fits(selector ?? {}, { region: 'us', tier: 'gold' })).toBe(false);
  });

  it('are all zones without such a label, and for other types', () => {
    expect(exportSelectorOf({ type: 'MeshService', labels: { team: 'a' } })).toBeUndefined();
    expect(exportSelectorOf({ type: 'MeshTimeout', labels })).toBeUndefined();
  });
});
