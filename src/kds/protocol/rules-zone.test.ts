// The resources that a zone sends to global, and their mapping (kds-wire 5.4).
import { describe, expect, it } from 'vitest';
import { ALL, FROM_EAST, NAMESPACE, NO_PEER, frozen, labelled, resource } from '../../../test/support/rule-rows.ts';
import type { WireResource } from '../../resource/codec.ts';
import { hashName } from '../../resource/hash-name.ts';
import { label } from '../../resource/labels.ts';
import { typeOf } from '../../resource/type-registry.ts';
import type { JsonObject, Resource } from '../../resource/types.ts';
import { type Visibility, visibilityOf, globalConsumes, zoneSendRules } from './rules.ts';

describe('the resources that a zone sends to global (kds-wire 5.4)', () => {
  const rules = zoneSendRules({ zone: 'east' });

  it.each<[string, Resource, Visibility, because: RegExp]>([
    ['without an origin', resource('MeshTimeout'), ALL, /this zone/],
    ['of origin zone', labelled('MeshTimeout', { [label.origin]: 'zone' }), ALL, /this zone/],
    ['with the label of another zone', labelled('Dataplane', { [label.zone]: 'west' }), ALL, /this zone/],
    ['of origin global', labelled('MeshTimeout', { [label.origin]: 'global' }), NO_PEER, /another control plane/],
    [
      'of another zone, by way of global',
      labelled('MeshService', { ...FROM_EAST, [label.origin]: 'global' }),
      NO_PEER,
      /another/,
    ],
    ['disabled', labelled('MeshTimeout', { [label.kdsSync]: 'disabled' }), NO_PEER, /kds-sync/],
    ['disabled, of origin zone', labelled('Dataplane', { ...FROM_EAST, [label.kdsSync]: 'disabled' }), NO_PEER, /kds-sync/],
  ])('%s', (_, sent, visibility, because) => {
    const decided = visibilityOf(rules, sent);
    expect(decided.visibility).toEqual(visibility);
    expect(decided.because).toMatch(because);
  });
});

describe('the wire form of a resource of a zone (kds-wire 5.4)', () => {
  const map = (sent: Resource, skipPrefixes: string[] = []): WireResource =>
    zoneSendRules({ zone: 'east', skipPrefixes }).map(frozen(sent), typeOf(sent.type));

  it('has the origin and zone of the sender, in place of any other value', () => {
    for (const labels of [{}, { [label.origin]: 'global', [label.zone]: 'west' }])
      expect(map(labelled('Dataplane', labels)).labels).toEqual({ ...FROM_EAST, [label.displayName]: 'thing' });
  });

  it('has no grace period and no labels with a skipped prefix', () => {
    const labels = { [label.deletionGracePeriodStartedAt]: '2026-01-01T00:00:00Z', 'argocd.x/y': 'z', team: 'blue' };
    expect(map(labelled('Dataplane', labels), ['argocd.']).labels).toEqual({
      ...FROM_EAST,
      ...{ team: 'blue', [label.displayName]: 'thing' },
    });
  });

  it.each(globalConsumes)('has the hashed name of $name', ({ name: type }) => {
    const { mesh } = resource(type);
    expect(map(resource(type))).toMatchObject({ name: hashName({ mesh, name: 'thing', zone: 'east' }), mesh });
    const named = labelled(type, { [label.displayName]: 'shown', [label.namespace]: NAMESPACE });
    expect(map(named).name).toBe(hashName({ mesh, name: 'shown', zone: 'east', namespace: NAMESPACE }));
  });

  it('has the name of its Dataplane for an insight without labels', () => {
    expect(map(resource('DataplaneInsight')).name).toBe(map(resource('Dataplane')).name);
  });

  it('has the stored status, and none for a type without a status', () => {
    const status = { vips: [{ ip: '240.0.0.1' }], dataplaneProxies: { connected: 2 } };
    for (const { name, hasStatus } of globalConsumes)
      expect([name, map(resource(name, { status })).status]).toEqual([name, hasStatus ? status : undefined]);
  });

  it('has no status.zoneEgress of a MeshExternalService (D22)', () => {
    const status = { vip: { ip: '242.0.0.1' }, zoneEgress: { address: '10.0.0.1', port: 10002 } };
    expect(map(resource('MeshExternalService', { status })).status).toEqual({ vip: { ip: '242.0.0.1' } });
    expect(map(resource('MeshService', { status })).status).toEqual(status);
  });

  it('has for a Dataplane without an address that of its zoneIngress, else that of its zoneEgress (D18)', () => {
    const addressOf = (networking: JsonObject): unknown =>
      (map(resource('Dataplane', { spec: { networking } })).spec['networking'] as JsonObject)['address'];
    const [zoneIngress, zoneEgress] = [{ address: '10.0.0.1' }, { address: '10.0.0.2' }];
    expect(addressOf({ zoneEgress, zoneIngress })).toBe('10.0.0.1');
    expect(addressOf({ zoneEgress })).toBe('10.0.0.2');
    expect(addressOf({ address: '10.0.0.3', zoneEgress, zoneIngress })).toBe('10.0.0.3');
  });

  it('has the subscriptions of an insight without their generations', () => {
    const spec = { subscriptions: [{ id: 'a', generation: 7 }, { id: 'b' }], mTLS: { issuedBackend: 'ca' } };
    expect(map(resource('DataplaneInsight', { spec })).spec).toEqual({ ...spec, subscriptions: [{ id: 'a' }, { id: 'b' }] });
    expect(map(resource('DataplaneInsight', { spec: {} })).spec).toEqual({});
    expect(map(resource('DataplaneInsight', { spec: { subscriptions: null } })).spec).toEqual({ subscriptions: null });
  });
});
