// The zones that global sends a resource to: the filters of kds-wire 5.2, row by row.
import { describe, expect, it } from 'vitest';
import {
  ALL,
  FROM_EAST,
  NAMESPACE,
  NO_PEER,
  labelled,
  policySpec,
  resource,
  whom,
  type Target,
} from '../../../test/support/rule-rows.ts';
import { label } from '../../resource/labels.ts';
import { resourceTypes } from '../../resource/type-registry.ts';
import type { JsonObject, Labels, Resource } from '../../resource/types.ts';
import { feature } from './features.ts';
import { isVisibleTo, type Visibility, visibilityOf, globalSendRules, zoneSendRules } from './rules.ts';
import { ANY_ZONE } from '../../resource/zone-profile.ts';

const MULTI_ZONE: Visibility = { to: 'all', feature: feature.hostnameGeneratorMultiZone };

describe('the resources that global sends to zones (kds-wire 5.2)', () => {
  const rules = globalSendRules();
  const disabled = { [label.kdsSync]: 'disabled' };

  it.each<[string, Resource, Visibility, because: RegExp]>([
    ['1 a disabled policy', labelled('MeshTimeout', disabled), NO_PEER, /kds-sync/],
    ['1 a disabled Mesh', labelled('Mesh', disabled), NO_PEER, /kds-sync/],
    ['1 a disabled resource of a zone', labelled('MeshService', { ...FROM_EAST, ...disabled }), NO_PEER, /kds-sync/],
    ['1 the cluster id, disabled', labelled('Config', disabled, { name: 'kuma-cluster-id' }), NO_PEER, /kds-sync/],
    ['1 kds-sync enabled', labelled('MeshTimeout', { [label.kdsSync]: 'enabled' }), ALL, /global/],
    ['2 the cluster id', resource('Config', { name: 'kuma-cluster-id' }), ALL, /global/],
    ['2 another Config', resource('Config', { name: 'cp-catalog' }), NO_PEER, /Config/],
    ['3 a GlobalSecret of a user', resource('GlobalSecret', { name: 'my-secret' }), ALL, /global/],
    ['3 a zone-token key', resource('GlobalSecret', { name: 'zone-token-signing-key-1' }), ALL, /global/],
    ['3 zone-token revocations', resource('GlobalSecret', { name: 'zone-token-revocations' }), ALL, /global/],
    ['3 a name that only begins like a private one', resource('GlobalSecret', { name: 'envoy-admin-ca-2' }), ALL, /global/],
    ['3 a Secret that is called like a private one', resource('Secret', { name: 'envoy-admin-ca' }), ALL, /global/],
    ['4 without an origin', resource('MeshTimeout'), ALL, /global/],
    ['4 of origin global', labelled('MeshTimeout', { [label.origin]: 'global' }), ALL, /global/],
    ['4 a dataplane token key', resource('Secret', { name: 'dataplane-token-signing-key-default-1' }), ALL, /global/],
    ['5a a producer policy', policy({}, 'own'), others('east', feature.producerPolicyFlow), /producer/],
    ['5a no role label', policy({ [label.policyRole]: '' }, 'own'), NO_PEER, /producer/],
    ['5a label consumer', policy({ [label.policyRole]: 'consumer' }, 'own'), NO_PEER, /producer/],
    ['5a label producer, spec consumer', policy({}, 'other'), NO_PEER, /producer/],
    ['5a label producer, spec mixed', policy({}, 'own', 'other'), NO_PEER, /producer/],
    ['5a label producer, no to[]', policy({}), NO_PEER, /producer/],
    ['5a label producer, no namespace', policy({ [label.namespace]: '' }, 'own'), NO_PEER, /producer/],
    ['5b a MeshService of a zone', labelled('MeshService', FROM_EAST), others('east'), /zone/],
    ['5b a MeshZoneAddress of a zone', labelled('MeshZoneAddress', FROM_EAST), others('east'), /zone/],
    ['5b a MeshTrust of a zone', labelled('MeshTrust', FROM_EAST), others('east'), /zone/],
    ['5b a label and a legacy name', labelled('MeshService', FROM_EAST, { name: 'west.backend' }), others('east'), /zone/],
    ['5b a legacy name', labelled('MeshService', { [label.origin]: 'zone' }, { name: 'west.backend.x' }), others('west'), /zone/],
    ['6 a Dataplane of a zone', labelled('Dataplane', FROM_EAST), NO_PEER, /control plane/],
    ['6 a Mesh of a zone', labelled('Mesh', FROM_EAST), NO_PEER, /control plane/],
    ['6 a MeshExternalService of a zone', labelled('MeshExternalService', FROM_EAST), NO_PEER, /control plane/],
    ['6 a HostnameGenerator of a zone', labelled('HostnameGenerator', FROM_EAST), NO_PEER, /control plane/],
    ['6 an unknown origin', labelled('Mesh', { [label.origin]: 'moon' }), NO_PEER, /control plane/],
    ['7 an ordinary HostnameGenerator', generator({ meshService: {} }), ALL, /global/],
    ['7 one for MeshMultiZoneServices', generator({ meshMultiZoneService: {} }), MULTI_ZONE, /meshMultiZoneService/],
    ['7 one whose selector is null', generator({ meshMultiZoneService: null }), ALL, /global/],
    ['7 one of a zone', generator({ meshMultiZoneService: {} }, FROM_EAST), NO_PEER, /control plane/],
    ['7 one that is disabled', generator({ meshMultiZoneService: {} }, disabled), NO_PEER, /kds-sync/],
  ])('%s', (_, sent, visibility, because) => {
    const decided = visibilityOf(rules, sent);
    expect(whom(decided.visibility)).toEqual(visibility);
    expect(decided.because).toMatch(because);
  });

  it('leaves the MeshTrusts of zones on global if meshTrustAcrossZones is false', () => {
    const kept = globalSendRules({ meshTrustAcrossZones: false });
    expect(whom(visibilityOf(kept, labelled('MeshTrust', FROM_EAST)).visibility)).toEqual(NO_PEER);
    expect(whom(visibilityOf(kept, resource('MeshTrust')).visibility)).toEqual(ALL);
    expect(whom(visibilityOf(kept, labelled('MeshService', FROM_EAST)).visibility)).toEqual(others('east'));
  });

  function others(zone: string, needs?: string): Visibility {
    return { to: 'others', zone, ...(needs !== undefined && { feature: needs }) };
  }

  function policy(labels: Labels, ...items: Target[]): Resource {
    const producer = { ...FROM_EAST, [label.policyRole]: 'producer', [label.namespace]: NAMESPACE };
    return labelled('MeshTimeout', { ...producer, ...labels }, { spec: policySpec(...items) });
  }

  function generator(selector: JsonObject, labels: Labels = {}): Resource {
    return labelled('HostnameGenerator', labels, { spec: { selector } });
  }

  const own = ['envoy-admin-ca', 'admin-user-token', 'inter-cp-ca', 'user-token-revocations'];
  const keys = ['', '-1', '-23'].map((serial) => `user-token-signing-key${serial}`);

  it.each([...own, ...keys])('3 does not send GlobalSecret %s, with any labels', (name) => {
    for (const labels of [{}, { [label.origin]: 'global' }, FROM_EAST, { [label.kdsSync]: 'enabled' }]) {
      expect(visibilityOf(rules, labelled('GlobalSecret', labels, { name }))).toEqual({
        visibility: NO_PEER,
        because: 'this GlobalSecret belongs to its own control plane',
      });
    }
  });

  /** The types that kds-wire 3 does not mark G→Z, and the Gateway API routes, which have no form on the wire. */
  const notForZones = [
    ...['Dataplane', 'DataplaneInsight', 'MeshInsight', 'Zone', 'ZoneInsight', 'MeshService', 'MeshZoneAddress', 'Workload'],
    ...['HTTPRoute', 'TCPRoute'],
  ];

  it('4 sends rows of global of every type, except types that only zones write or that are not synced', () => {
    const sent = resourceTypes.filter(({ name }) => {
      const row = resource(name, { name: name === 'Config' ? 'kuma-cluster-id' : 'thing' });
      const { visibility } = visibilityOf(rules, row);
      expect([ALL, NO_PEER]).toContainEqual(whom(visibility));
      return visibility.to === 'all';
    });
    const names = sent.map(({ name }) => name);
    expect(resourceTypes.map(({ name }) => name).filter((name) => !names.includes(name))).toEqual(notForZones);
    expect(names).toHaveLength(27);
  });

  it('6 does not give another control plane as the reason for a local resource', () => {
    for (const type of ['MeshService', 'Dataplane'])
      expect(visibilityOf(rules, resource(type)).because).not.toBe('comes from another control plane');
  });

  it('has a reason for every rule', () => {
    for (const { because } of [...rules.filter, ...zoneSendRules({}).filter]) expect(because).not.toBe('');
  });
});

it('the MeshTrust of a zone is for the other zones, unless global keeps them apart', () => {
  const trust = labelled('MeshTrust', FROM_EAST);
  for (const rules of [globalSendRules(), globalSendRules({ meshTrustAcrossZones: true })])
    expect(whom(visibilityOf(rules, trust).visibility)).toEqual({ to: 'others', zone: 'east' });
  const apart = globalSendRules({ meshTrustAcrossZones: false });
  expect(visibilityOf(apart, trust)).toEqual({
    ...{ visibility: NO_PEER, because: 'multizone.global.kds.meshTrustAcrossZones is false' },
  });
  expect(whom(visibilityOf(apart, resource('MeshTrust')).visibility)).toEqual(
    whom(visibilityOf(globalSendRules(), resource('MeshTrust')).visibility),
  );
  expect(whom(visibilityOf(apart, labelled('MeshService', FROM_EAST)).visibility)).toEqual({ to: 'others', zone: 'east' });
});

it.each<[Visibility, boolean]>([
  [{ to: 'none' }, false],
  [{ to: 'all' }, true],
  [{ to: 'all', feature: 'has' }, true],
  [{ to: 'all', feature: 'lacks' }, false],
  [{ to: 'others', zone: 'east' }, false],
  [{ to: 'others', zone: 'west' }, true],
  [{ to: 'others', zone: 'west', feature: 'has' }, true],
  [{ to: 'others', zone: 'west', feature: 'lacks' }, false],
  [{ to: 'others', zone: 'disabled' }, false],
])('a resource that goes %j is seen by the zone east: %s', (visibility, isSeen) => {
  const profileOf = (zone: string) => ({ ...ANY_ZONE, isEnabled: zone !== 'disabled' });
  const viewer = { zone: 'east', features: new Set(['has']), profileOf };
  expect(isVisibleTo(visibility, viewer)).toBe(isSeen);
});
