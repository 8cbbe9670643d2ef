// The form in which each side stores a received resource, and the rows that are in scope of a response (kds-wire 6.1).
import { isDeepStrictEqual } from 'node:util';
import { fc } from '../../../test/support/property.ts';
import { describe, expect, it } from 'vitest';
import { FROM_EAST, ZONE_OWNER, frozen } from '../../../test/support/rule-rows.ts';
import type { WireResource } from '../../resource/codec.ts';
import { label } from '../../resource/labels.ts';
import { typeOf } from '../../resource/type-registry.ts';
import type { JsonObject, Labels } from '../../resource/types.ts';
import { globalConsumes, globalReceiveRules, zoneConsumes, zoneReceiveRules } from './rules.ts';

describe('the receive rules of a zone (kds-wire 6.1)', () => {
  const rules = zoneReceiveRules();

  it('request the types marked G→Z or X, store them unchanged and keep the own status', () => {
    expect(rules).toMatchObject({ by: 'zone', types: zoneConsumes, status: 'keep', ownerOnCreate: null, scope: null });
    const sent = { name: 'x', mesh: 'default', labels: FROM_EAST, spec: { a: 1 }, status: {} };
    for (const info of rules.types) expect(rules.rewrite(sent, info)).toBe(sent);
    expect(rules.storedName('x')).toBe('x');
  });

  it.each<[string, Labels, syncVersion: string | null, inScope: boolean]>([
    ['of origin global', { [label.origin]: 'global' }, null, true],
    ['of an unknown origin', { [label.origin]: 'moon' }, null, true],
    ['of origin zone', { [label.origin]: 'zone' }, null, false],
    ['without an origin', {}, null, false],
    ['without an origin, synced', {}, 'abc', true],
    ['of origin zone, synced', { [label.origin]: 'zone' }, 'abc', true],
  ])('sees a row %s', (_, labels, syncVersion, inScope) => {
    for (const info of rules.types) {
      const always = ['Mesh', 'ServiceInsight', 'MeshMultiZoneService'].includes(info.name);
      expect([info.name, rules.inScope({ name: 'x', labels, syncVersion }, info)]).toEqual([info.name, always || inScope]);
    }
  });
});

describe('the revocation lists in a zone', () => {
  it.each<[string, mesh: string, name: string, replaces: boolean]>([
    ['GlobalSecret', '', 'zone-token-revocations', true],
    ['GlobalSecret', '', 'user-token-revocations', false],
    ['GlobalSecret', '', 'dataplane-token-revocations-shop', false],
    ['Secret', 'shop', 'dataplane-token-revocations-shop', true],
    ['Secret', 'shop', 'dataplane-token-revocations-other', false],
    ['Secret', 'shop', 'zone-token-revocations', false],
    ['MeshTimeout', 'shop', 'dataplane-token-revocations-shop', false],
  ])('are replaced by those of global: %s %s/%s', (type, mesh, name, replaces) => {
    expect(zoneReceiveRules().replaces({ mesh, name }, typeOf(type))).toBe(replaces);
    expect(globalReceiveRules('east', { hashedNames: true }).replaces({ mesh, name }, typeOf(type))).toBe(false);
  });
});

describe('the receive rules of global (kds-wire 6.1)', () => {
  const rules = globalReceiveRules('east', { hashedNames: true });
  const legacy = globalReceiveRules('east', { hashedNames: false });
  const wire = (fields: Partial<WireResource> = {}): WireResource => ({
    ...{ name: 'thing', mesh: 'default', labels: {}, spec: {}, status: undefined },
    ...fields,
  });

  it('request the types marked Z→G, store their status and make the Zone their owner', () => {
    expect(rules).toMatchObject({ by: 'global', types: globalConsumes, status: 'take', ownerOnCreate: ZONE_OWNER });
  });

  it('set origin and zone to those of the caller, for any payload', () => {
    const labels = { [label.origin]: 'global', [label.zone]: 'west', team: 'blue' };
    for (const info of rules.types) {
      expect(rules.rewrite(frozen(wire({ labels })), info).labels).toEqual({ ...FROM_EAST, team: 'blue' });
      expect(rules.inScope(rules.rewrite(wire({ labels }), info), info)).toBe(true);
    }
  });

  it('keep names, and prefix those of a peer without hash-suffix with the zone, also removed names', () => {
    for (const info of rules.types) {
      expect(rules.rewrite(wire(), info).name).toBe('thing');
      expect(legacy.rewrite(wire(), info).name).toBe('east.thing');
    }
    expect([rules.storedName('thing'), legacy.storedName('thing')]).toEqual(['thing', 'east.thing']);
  });

  it('overwrite the zone tag of a gateway, and do not add one', () => {
    const dataplane = typeOf('Dataplane');
    const gateway = (tags: JsonObject): JsonObject => ({
      networking: { address: '10.0.0.1', gateway: { type: 'DELEGATED', tags } },
    });
    const rewritten = (spec: JsonObject): JsonObject => rules.rewrite(frozen(wire({ spec })), dataplane).spec;
    expect(rewritten(gateway({ [label.zone]: 'west', a: 'b' }))).toEqual(gateway({ [label.zone]: 'east', a: 'b' }));
    for (const spec of [gateway({ a: 'b' }), { networking: { address: '10.0.0.1' } }, {}, { networking: { gateway: {} } }])
      expect(rewritten(spec)).toEqual(spec);
    const other = gateway({ [label.zone]: 'west' });
    expect(rules.rewrite(wire({ spec: other }), typeOf('MeshTimeout')).spec).toEqual(other);
  });

  it.each<[string, name: string, Labels, inScope: boolean]>([
    ['with the label of the zone', 'thing', FROM_EAST, true],
    ['with the label of the zone alone', 'thing', { [label.zone]: 'east' }, true],
    ['with the label of another zone', 'thing', { ...FROM_EAST, [label.zone]: 'west' }, false],
    ['without labels', 'thing', {}, false],
    ['of global', 'thing', { [label.origin]: 'global' }, false],
    ['under a legacy name', 'east.thing', {}, true],
    ['under a legacy name of origin zone', 'east.thing', { [label.origin]: 'zone' }, true],
    ['under the legacy name of another zone', 'east-2.thing', {}, false],
    ['under a legacy name that only contains the zone', 'north.east.thing', {}, false],
    ['under a legacy name with the label of another zone', 'east.thing', { [label.zone]: 'west' }, false],
    // A row that was written on global is never pruned (engine 13).
    ['of global with the label of the zone', 'thing', { [label.origin]: 'global', [label.zone]: 'east' }, false],
    ['of global under a legacy name', 'east.thing', { [label.origin]: 'global' }, false],
  ])('sees a row %s', (_, name, labels, inScope) => {
    for (const info of rules.types) {
      expect(rules.inScope({ name, labels }, info)).toBe(inScope);
      expect(legacy.inScope({ name, labels }, info)).toBe(inScope);
    }
  });

  it('find every row in scope with their queries', () => {
    const labels = fc.dictionary(
      fc.constantFrom<string>(label.origin, label.zone),
      fc.constantFrom('global', 'zone', 'east', 'west'),
    );
    const name = fc.constantFrom('east.thing', 'west.thing', 'thing', 'eastern.thing');
    const owners = fc.constantFrom(null, ZONE_OWNER, { ...ZONE_OWNER, name: 'west' });
    fc.assert(
      fc.property(name, labels, owners, (row, rowLabels, owner) => {
        const hasLabels = Object.entries(rules.scope?.labels ?? {}).every(([key, value]) => rowLabels[key] === value);
        const isOwned = isDeepStrictEqual(owner, rules.scope?.owner);
        const isFound = hasLabels || isOwned || row.startsWith(rules.scope?.namePrefix ?? 'none');
        if (rules.inScope({ name: row, labels: rowLabels, owner }, typeOf('MeshTimeout'))) expect(isFound).toBe(true);
      }),
    );
  });
});
