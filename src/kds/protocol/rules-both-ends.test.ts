// Properties of the rules of global and zone together: no resource is sent back to its origin, and a MeshService passes both as the
// reference says (kds-wire 5.4).
import { fc } from '../../../test/support/property.ts';
import { describe, expect, it } from 'vitest';
import { NAMESPACE, NO_PEER, ZONE_OWNER, policySpec, resource, whom } from '../../../test/support/rule-rows.ts';
import { label } from '../../resource/labels.ts';
import { resourceTypes, typeOf } from '../../resource/type-registry.ts';
import type { JsonObject } from '../../resource/types.ts';
import { visibilityOf, globalReceiveRules, globalSendRules, zoneReceiveRules, zoneSendRules } from './rules.ts';

describe('no echo', () => {
  const anyLabels = fc.dictionary(
    fc.constantFrom(label.origin, label.zone, label.displayName, label.policyRole, label.namespace, label.kdsSync),
    fc.constantFrom('global', 'zone', 'east', 'west', 'producer', 'enabled', NAMESPACE, ''),
  );
  const anyName = fc.constantFrom('backend-d8466458x7574b7b', 'east.backend', 'west.backend', 'kuma-cluster-id', 'a.b.c');
  const remote = fc.record({
    type: fc.constantFrom(...resourceTypes.map(({ name }) => name)),
    name: anyName,
    labels: anyLabels,
    spec: fc.constantFrom<JsonObject>({}, policySpec('own'), policySpec('other')),
  });

  it('sends a zone nothing that came from it, for any change of the labels (engine 13)', () => {
    // An edited row has lost its version (D29).
    fc.assert(
      fc.property(remote, fc.constantFrom('abc', null), ({ type, ...fields }, syncVersion) => {
        const { visibility } = visibilityOf(globalSendRules(), resource(type, { ...fields, syncVersion, owner: ZONE_OWNER }));
        expect(visibility.to).not.toBe('all');
        if (visibility.to === 'others') expect(visibility.zone).toBe('east');
      }),
      { numRuns: 2_000 },
    );
  });

  it('never sends a resource of global back to global', () => {
    fc.assert(
      fc.property(remote, ({ type, ...fields }) => {
        const copy = resource(type, { ...fields, syncVersion: 'abc' });
        expect(visibilityOf(zoneSendRules({ zone: 'east' }), copy).visibility).toEqual(NO_PEER);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('the way of a MeshService from zone-1 over global to zone-2 (kds-wire 5.4)', () => {
  it('has the names and labels of the table', () => {
    const info = typeOf('MeshService');
    const written = resource('MeshService', { name: 'backend', status: { vips: [{ ip: '240.0.0.1' }] } });
    const up = zoneSendRules({ zone: 'zone-1' }).map(written, info);
    const stored = globalReceiveRules('zone-1', { hashedNames: true }).rewrite(up, info);
    for (const { name, labels, status } of [up, stored]) {
      expect(name).toBe('backend-d8466458x7574b7b');
      expect(labels).toEqual({ [label.origin]: 'zone', [label.zone]: 'zone-1', [label.displayName]: 'backend' });
      expect(status).toEqual(written.status);
    }
    const onGlobal = {
      ...written,
      ...stored,
      status: stored.status ?? {},
      syncVersion: 'v',
      owner: { ...ZONE_OWNER, name: 'zone-1' },
    };
    expect(whom(visibilityOf(globalSendRules(), onGlobal).visibility)).toEqual({ to: 'others', zone: 'zone-1' });
    const down = globalSendRules().map(onGlobal, info);
    expect(down).toMatchObject({ name: 'backend-d8466458x7574b7b', status: { tls: {}, dataplaneProxies: {} } });
    expect(down.labels).toEqual({ [label.origin]: 'global', [label.zone]: 'zone-1', [label.displayName]: 'backend' });
    expect(zoneReceiveRules().inScope(down, info)).toBe(true);
  });
});
