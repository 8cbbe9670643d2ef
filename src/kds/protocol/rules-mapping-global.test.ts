// The mapping of a resource before global sends it: names, labels, specs and statuses (kds-wire 5.3).
import { describe, expect, it } from 'vitest';
import { FROM_EAST, NAMESPACE, frozen, labelled, resource } from '../../../test/support/rule-rows.ts';
import { encodeKumaResource, wireVersion, type WireResource } from '../../resource/codec.ts';
import { hashName } from '../../resource/hash-name.ts';
import { label } from '../../resource/labels.ts';
import { typeOf } from '../../resource/type-registry.ts';
import type { JsonObject, Resource } from '../../resource/types.ts';
import { globalSendRules, zoneConsumes } from './rules.ts';

describe('the wire form of a resource of global (kds-wire 5.3)', () => {
  const map = (sent: Resource, skipPrefixes: string[] = []): WireResource =>
    globalSendRules({ skipPrefixes }).map(frozen(sent), typeOf(sent.type));

  it('has its origin set, also for a resource from a zone', () => {
    expect(map(labelled('MeshService', FROM_EAST)).labels).toMatchObject({ [label.origin]: 'global', [label.zone]: 'east' });
    expect(map(labelled('MeshTimeout', { [label.origin]: 'global' })).labels[label.origin]).toBe('global');
  });

  it('has only the origin for a Mesh without labels, and the bytes of the test vector (kds-wire 2.3)', () => {
    const mesh = map(resource('Mesh', { name: 'default' }));
    expect(mesh).toEqual({ name: 'default', mesh: '', labels: { [label.origin]: 'global' }, spec: {}, status: undefined });
    const bytes = encodeKumaResource(typeOf('Mesh'), mesh);
    expect(bytes).toHaveLength(84);
    expect(wireVersion(bytes)).toBe('ee3ed1993ca3721e6609c0fb78bb711a00f96c808af6675986293d420dc0d6d1');
  });

  it('has no labels with a skipped prefix', () => {
    const labels = { 'argocd.argoproj.io/instance': 'x', argocd: 'y', 'my.team/owner': 'z', team: 'blue' };
    expect(map(labelled('Mesh', labels), ['argocd.', 'my.team/']).labels).toEqual({
      ...{ argocd: 'y', team: 'blue', [label.origin]: 'global' },
    });
  });

  it('has the zero value as the status of every type with a status', () => {
    const zero: Record<string, JsonObject> = {
      ...{ MeshService: { tls: {}, dataplaneProxies: {} }, MeshExternalService: { vip: {} }, MeshMultiZoneService: {} },
      ...{ MeshIdentity: {}, MeshTrust: {}, MeshOpenTelemetryBackend: {}, MeshAccessLog: {}, MeshTrace: {}, MeshMetric: {} },
    };
    const status = { vips: [{ ip: '240.0.0.1' }], zoneEgress: { address: '10.0.0.1' } };
    for (const { name } of zoneConsumes) expect([name, map(resource(name, { status })).status]).toEqual([name, zero[name]]);
  });

  it.each(zoneConsumes)('has the wire name of $name', ({ name: type, kds }) => {
    const plain = resource(type);
    const named = labelled(type, { [label.displayName]: 'shown', [label.zone]: 'east', [label.namespace]: NAMESPACE });
    const { mesh } = plain;
    if (kds.skipHash) {
      expect(map(plain)).toMatchObject({ name: 'thing', mesh });
      expect(map(plain).labels).toEqual({ [label.origin]: 'global' });
      expect(map(named)).toMatchObject({ name: 'thing', mesh });
    } else {
      expect(map(plain)).toMatchObject({ name: hashName({ mesh, name: 'thing' }), mesh });
      expect(map(plain).labels).toEqual({ [label.origin]: 'global', [label.displayName]: 'thing' });
      expect(map(named)).toMatchObject({ name: hashName({ mesh, name: 'shown', zone: 'east', namespace: NAMESPACE }), mesh });
      expect(map(named).labels[label.displayName]).toBe('shown');
    }
  });

  it('has the full data of a Secret', () => {
    const spec = { data: 'c2VjcmV0' };
    expect(map(resource('Secret', { name: 'dataplane-token-signing-key-default-1', spec })).spec).toEqual(spec);
    expect(map(resource('GlobalSecret', { name: 'mine', spec })).spec).toEqual(spec);
  });
});
