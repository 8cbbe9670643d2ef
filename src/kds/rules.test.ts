// The rule table row by row: every filter, mapping and scope rule of kds-wire 5.2, 5.3, 5.4 and 6.1, and that no resource
// ever goes back to where it comes from.
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MeridianError } from '../base/errors.ts';
import { encodeKumaResource, wireVersion, type WireResource } from '../resource/codec.ts';
import { hashName } from '../resource/hash-name.ts';
import { label } from '../resource/labels.ts';
import { resourceTypes, typeOf } from '../resource/type-registry.ts';
import type { JsonObject, Labels, Resource } from '../resource/types.ts';
import { feature } from './features.ts';
import {
  audienceOf,
  globalConsumes,
  globalReceiveRules,
  globalSendRules,
  zoneConsumes,
  zoneReceiveRules,
  zoneSendRules,
  type Audience,
} from './rules.ts';

const NAMESPACE = 'payments';
const ZONE_OWNER = { type: 'Zone', mesh: '', name: 'east' };
const FROM_EAST = { [label.origin]: 'zone', [label.zone]: 'east' };
const NOBODY: Audience = { to: 'nobody' };
const ALL: Audience = { to: 'all' };
const MULTI_ZONE: Audience = { to: 'all', feature: feature.hostnameGeneratorMultiZone };

function resource(type: string, fields: Partial<Resource> = {}): Resource {
  const time = new Date(0);
  const mesh = typeOf(type).scope === 'Mesh' ? 'default' : '';
  return {
    ...{ type, mesh, name: 'thing', labels: {}, spec: {}, status: {} },
    ...{ version: 0, creationTime: time, modificationTime: time, owner: null, syncVersion: null },
    ...fields,
  };
}

function labelled(type: string, labels: Labels, fields: Partial<Resource> = {}): Resource {
  return resource(type, { labels, ...fields });
}

/** Whom an item of a `to[]` means: an object of the own namespace (producer), or of another (consumer). */
type Target = 'own' | 'other';

function policySpec(...items: Target[]): JsonObject {
  const to = items.map((item) => ({
    targetRef: {
      kind: 'MeshService',
      labels: { [label.displayName]: 'backend', [label.namespace]: item === 'own' ? NAMESPACE : 'elsewhere' },
    },
  }));
  return { to };
}

describe('what global sends to zones (kds-wire 5.2)', () => {
  const rules = globalSendRules();
  const disabled = { [label.kdsSync]: 'disabled' };

  it.each<[string, Resource, Audience, because: RegExp]>([
    ['1 a disabled policy', labelled('MeshTimeout', disabled), NOBODY, /kds-sync/],
    ['1 a disabled Mesh', labelled('Mesh', disabled), NOBODY, /kds-sync/],
    ['1 a disabled resource of a zone', labelled('MeshService', { ...FROM_EAST, ...disabled }), NOBODY, /kds-sync/],
    ['1 the cluster id, disabled', labelled('Config', disabled, { name: 'kuma-cluster-id' }), NOBODY, /kds-sync/],
    ['1 kds-sync enabled', labelled('MeshTimeout', { [label.kdsSync]: 'enabled' }), ALL, /global/],
    ['2 the cluster id', resource('Config', { name: 'kuma-cluster-id' }), ALL, /global/],
    ['2 another Config', resource('Config', { name: 'cp-catalog' }), NOBODY, /Config/],
    ['3 a GlobalSecret of a user', resource('GlobalSecret', { name: 'my-secret' }), ALL, /global/],
    ['3 a zone-token key', resource('GlobalSecret', { name: 'zone-token-signing-key-1' }), ALL, /global/],
    ['3 zone-token revocations', resource('GlobalSecret', { name: 'zone-token-revocations' }), ALL, /global/],
    ['3 a name that only begins like a private one', resource('GlobalSecret', { name: 'envoy-admin-ca-2' }), ALL, /global/],
    ['3 a Secret that is called like a private one', resource('Secret', { name: 'envoy-admin-ca' }), ALL, /global/],
    ['4 without an origin', resource('MeshTimeout'), ALL, /global/],
    ['4 of origin global', labelled('MeshTimeout', { [label.origin]: 'global' }), ALL, /global/],
    ['4 a dataplane token key', resource('Secret', { name: 'dataplane-token-signing-key-default-1' }), ALL, /global/],
    ['5a a producer policy', policy({}, 'own'), others('east', feature.producerPolicyFlow), /producer/],
    ['5a no role label', policy({ [label.policyRole]: '' }, 'own'), NOBODY, /producer/],
    ['5a label consumer', policy({ [label.policyRole]: 'consumer' }, 'own'), NOBODY, /producer/],
    ['5a label producer, spec consumer', policy({}, 'other'), NOBODY, /producer/],
    ['5a label producer, spec mixed', policy({}, 'own', 'other'), NOBODY, /producer/],
    ['5a label producer, no to[]', policy({}), NOBODY, /producer/],
    ['5a label producer, no namespace', policy({ [label.namespace]: '' }, 'own'), NOBODY, /producer/],
    ['5b a MeshService of a zone', labelled('MeshService', FROM_EAST), others('east'), /zone/],
    ['5b a MeshZoneAddress of a zone', labelled('MeshZoneAddress', FROM_EAST), others('east'), /zone/],
    ['5b a label and a legacy name', labelled('MeshService', FROM_EAST, { name: 'west.backend' }), others('east'), /zone/],
    ['5b a legacy name', labelled('MeshService', { [label.origin]: 'zone' }, { name: 'west.backend.x' }), others('west'), /zone/],
    ['6 a Dataplane of a zone', labelled('Dataplane', FROM_EAST), NOBODY, /control plane/],
    ['6 a Mesh of a zone', labelled('Mesh', FROM_EAST), NOBODY, /control plane/],
    ['6 a MeshExternalService of a zone', labelled('MeshExternalService', FROM_EAST), NOBODY, /control plane/],
    ['6 a HostnameGenerator of a zone', labelled('HostnameGenerator', FROM_EAST), NOBODY, /control plane/],
    ['6 an unknown origin', labelled('Mesh', { [label.origin]: 'moon' }), NOBODY, /control plane/],
    ['7 an ordinary HostnameGenerator', generator({ meshService: {} }), ALL, /global/],
    ['7 one for MeshMultiZoneServices', generator({ meshMultiZoneService: {} }), MULTI_ZONE, /meshMultiZoneService/],
    ['7 one whose selector is null', generator({ meshMultiZoneService: null }), ALL, /global/],
    ['7 one of a zone', generator({ meshMultiZoneService: {} }, FROM_EAST), NOBODY, /control plane/],
    ['7 one that is disabled', generator({ meshMultiZoneService: {} }, disabled), NOBODY, /kds-sync/],
  ])('%s', (_, sent, audience, because) => {
    const decided = audienceOf(rules, sent);
    expect(decided.audience).toEqual(audience);
    expect(decided.because).toMatch(because);
  });

  function others(zone: string, needs?: string): Audience {
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

  it.each([...own, ...keys])('3 keeps GlobalSecret %s at home, whatever its labels say', (name) => {
    for (const labels of [{}, { [label.origin]: 'global' }, FROM_EAST, { [label.kdsSync]: 'enabled' }]) {
      expect(audienceOf(rules, labelled('GlobalSecret', labels, { name }))).toEqual({
        audience: NOBODY,
        because: 'this GlobalSecret belongs to its own control plane',
        section: 'kds-wire 5.2.3',
      });
    }
  });

  it('4 sends what is written on global of every type marked G→Z, and of no other', () => {
    for (const info of resourceTypes) {
      const { audience } = audienceOf(rules, resource(info.name, { name: info.name === 'Config' ? 'kuma-cluster-id' : 'thing' }));
      expect([info.name, audience]).toEqual([info.name, info.kds.globalToZone ? ALL : NOBODY]);
    }
  });

  it('6 does not blame another control plane for what is written here', () => {
    for (const type of ['MeshService', 'Dataplane'])
      expect(audienceOf(rules, resource(type)).because).not.toBe('comes from another control plane');
  });

  it('gives every rule a reason and its section', () => {
    for (const { because, section } of [...rules.filter, ...zoneSendRules({}).filter]) {
      expect(because).not.toBe('');
      expect(section).toMatch(/^kds-wire 5\./);
    }
  });
});

describe('what a zone sends to global (kds-wire 5.4)', () => {
  const rules = zoneSendRules({ zone: 'east' });

  it.each<[string, Resource, Audience, because: RegExp]>([
    ['without an origin', resource('MeshTimeout'), ALL, /this zone/],
    ['of origin zone', labelled('MeshTimeout', { [label.origin]: 'zone' }), ALL, /this zone/],
    ['with the label of another zone', labelled('Dataplane', { [label.zone]: 'west' }), ALL, /this zone/],
    ['of origin global', labelled('MeshTimeout', { [label.origin]: 'global' }), NOBODY, /another control plane/],
    ['of another zone, by way of global', labelled('MeshService', { ...FROM_EAST, [label.origin]: 'global' }), NOBODY, /another/],
    ['disabled', labelled('MeshTimeout', { [label.kdsSync]: 'disabled' }), NOBODY, /kds-sync/],
    ['disabled, of origin zone', labelled('Dataplane', { ...FROM_EAST, [label.kdsSync]: 'disabled' }), NOBODY, /kds-sync/],
  ])('%s', (_, sent, audience, because) => {
    const decided = audienceOf(rules, sent);
    expect(decided.audience).toEqual(audience);
    expect(decided.because).toMatch(because);
  });
});

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

  it('sends a zone nothing that came from it, whatever became of the labels (engine 13)', () => {
    // An edited row has lost its version (decisions D29).
    fc.assert(
      fc.property(remote, fc.constantFrom('abc', null), ({ type, ...fields }, syncVersion) => {
        const { audience } = audienceOf(globalSendRules(), resource(type, { ...fields, syncVersion, owner: ZONE_OWNER }));
        expect(audience.to).not.toBe('all');
        if (audience.to === 'others') expect(audience.zone).toBe('east');
      }),
      { numRuns: 2_000 },
    );
  });

  it('never sends global what came from it', () => {
    fc.assert(
      fc.property(remote, ({ type, ...fields }) => {
        const copy = resource(type, { ...fields, syncVersion: 'abc' });
        expect(audienceOf(zoneSendRules({ zone: 'east' }), copy).audience).toEqual(NOBODY);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('what global makes of a resource (kds-wire 5.3)', () => {
  const map = (sent: Resource, skipPrefixes: string[] = []): WireResource =>
    globalSendRules({ skipPrefixes }).map(frozen(sent), typeOf(sent.type));

  it('sets the origin, on what comes from a zone too', () => {
    expect(map(labelled('MeshService', FROM_EAST)).labels).toMatchObject({ [label.origin]: 'global', [label.zone]: 'east' });
    expect(map(labelled('MeshTimeout', { [label.origin]: 'global' })).labels[label.origin]).toBe('global');
  });

  it('gives a Mesh without labels exactly its origin, and the bytes of the test vector (kds-wire 2.3)', () => {
    const mesh = map(resource('Mesh', { name: 'default' }));
    expect(mesh).toEqual({ name: 'default', mesh: '', labels: { [label.origin]: 'global' }, spec: {}, status: undefined });
    const bytes = encodeKumaResource(typeOf('Mesh'), mesh);
    expect(bytes).toHaveLength(84);
    expect(wireVersion(bytes)).toBe('ee3ed1993ca3721e6609c0fb78bb711a00f96c808af6675986293d420dc0d6d1');
  });

  it('leaves labels with a skipped prefix at home', () => {
    const labels = { 'argocd.argoproj.io/instance': 'x', argocd: 'y', 'my.team/owner': 'z', team: 'blue' };
    expect(map(labelled('Mesh', labels), ['argocd.', 'my.team/']).labels).toEqual({
      ...{ argocd: 'y', team: 'blue', [label.origin]: 'global' },
    });
  });

  it('puts the zero value in place of the status of every type that has one', () => {
    const zero: Record<string, JsonObject> = {
      ...{ MeshService: { tls: {}, dataplaneProxies: {} }, MeshExternalService: { vip: {} }, MeshMultiZoneService: {} },
      ...{ MeshIdentity: {}, MeshTrust: {}, MeshOpenTelemetryBackend: {}, MeshAccessLog: {}, MeshTrace: {}, MeshMetric: {} },
    };
    const status = { vips: [{ ip: '240.0.0.1' }], zoneEgress: { address: '10.0.0.1' } };
    for (const { name } of zoneConsumes) expect([name, map(resource(name, { status })).status]).toEqual([name, zero[name]]);
  });

  it.each(zoneConsumes)('gives $name its name on the wire', ({ name: type, kds }) => {
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

  it('sends Secrets in full', () => {
    const spec = { data: 'c2VjcmV0' };
    expect(map(resource('Secret', { name: 'dataplane-token-signing-key-default-1', spec })).spec).toEqual(spec);
    expect(map(resource('GlobalSecret', { name: 'mine', spec })).spec).toEqual(spec);
  });
});

describe('a zone-token signing key (kds-wire 5.3, step 2)', () => {
  const { privateKey: pem } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    publicKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const key = (name: string, spec: JsonObject, labels: Labels = {}): Resource => resource('GlobalSecret', { name, spec, labels });
  const map = (secret: Resource): WireResource => globalSendRules().map(frozen(secret), typeOf('GlobalSecret'));

  it.each([
    ['zone-token-signing-key-1', 'zone-token-signing-public-key-1'],
    ['zone-token-signing-key-12', 'zone-token-signing-public-key-12'],
    ['zone-token-signing-key', 'zone-token-signing-public-key'],
  ])('%s goes to zones as %s, its public half alone', (name, onWire) => {
    const sent = map(key(name, { data: base64(pem) }));
    expect(sent).toMatchObject({ name: onWire, mesh: '', status: undefined });
    expect(sent.labels).toEqual({ [label.origin]: 'global', [label.displayName]: name });
    const published = Buffer.from(String(sent.spec['data']), 'base64').toString();
    expect(published).toMatch(/^-----BEGIN RSA PUBLIC KEY-----\n/);
    expect(published).not.toContain('PRIVATE');
    expect(createPublicKey(published).equals(createPublicKey(createPrivateKey(pem)))).toBe(true);
    expect(Object.keys(sent.spec)).toEqual(['data']);
  });

  it('keeps a display name that is there', () => {
    const sent = map(key('zone-token-signing-key-1', { data: base64(pem) }, { [label.displayName]: 'mine' }));
    expect(sent.labels[label.displayName]).toBe('mine');
  });

  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'sec1', format: 'pem' });

  it.each<[string, JsonObject]>([
    ['no data', {}],
    ['data that is no PEM', { data: base64('no key at all') }],
    ['half a PEM', { data: base64(pem.slice(0, pem.length / 2)) }],
    ['a public key', { data: base64(String(createPublicKey(pem).export({ type: 'pkcs1', format: 'pem' }))) }],
    ['a key that is not RSA', { data: base64(String(ec)) }],
    ['data of another type', { data: 7 }],
  ])('with %s is an error that names the secret and shows nothing of it', (_, spec) => {
    const secret = key('zone-token-signing-key-1', spec);
    expect(() => map(secret)).toThrow(MeridianError);
    expect(() => map(secret)).toThrow(/^GlobalSecret zone-token-signing-key-1 holds no PEM «RSA PRIVATE KEY»/);
    expect(() => map(secret)).not.toThrow(/BEGIN/);
  });
});

describe('what a zone makes of a resource (kds-wire 5.4)', () => {
  const map = (sent: Resource, skipPrefixes: string[] = []): WireResource =>
    zoneSendRules({ zone: 'east', skipPrefixes }).map(frozen(sent), typeOf(sent.type));

  it('sets origin and zone to its own, whatever stands there', () => {
    for (const labels of [{}, { [label.origin]: 'global', [label.zone]: 'west' }])
      expect(map(labelled('Dataplane', labels)).labels).toEqual({ ...FROM_EAST, [label.displayName]: 'thing' });
  });

  it('leaves the grace period and skipped prefixes at home', () => {
    const labels = { [label.deletionGracePeriodStartedAt]: '2026-01-01T00:00:00Z', 'argocd.x/y': 'z', team: 'blue' };
    expect(map(labelled('Dataplane', labels), ['argocd.']).labels).toEqual({
      ...FROM_EAST,
      ...{ team: 'blue', [label.displayName]: 'thing' },
    });
  });

  it.each(globalConsumes)('hashes the name of $name', ({ name: type }) => {
    const { mesh } = resource(type);
    expect(map(resource(type))).toMatchObject({ name: hashName({ mesh, name: 'thing', zone: 'east' }), mesh });
    const named = labelled(type, { [label.displayName]: 'shown', [label.namespace]: NAMESPACE });
    expect(map(named).name).toBe(hashName({ mesh, name: 'shown', zone: 'east', namespace: NAMESPACE }));
  });

  it('gives an insight without labels the name of its Dataplane', () => {
    expect(map(resource('DataplaneInsight')).name).toBe(map(resource('Dataplane')).name);
  });

  it('sends the status as it is, and none of a type without one', () => {
    const status = { vips: [{ ip: '240.0.0.1' }], dataplaneProxies: { connected: 2 } };
    for (const { name, hasStatus } of globalConsumes)
      expect([name, map(resource(name, { status })).status]).toEqual([name, hasStatus ? status : undefined]);
  });

  it('keeps status.zoneEgress of a MeshExternalService at home (decisions D22)', () => {
    const status = { vip: { ip: '242.0.0.1' }, zoneEgress: { address: '10.0.0.1', port: 10002 } };
    expect(map(resource('MeshExternalService', { status })).status).toEqual({ vip: { ip: '242.0.0.1' } });
    expect(map(resource('MeshService', { status })).status).toEqual(status);
  });

  it('sends the subscriptions of an insight without their generations', () => {
    const spec = { subscriptions: [{ id: 'a', generation: 7 }, { id: 'b' }], mTLS: { issuedBackend: 'ca' } };
    expect(map(resource('DataplaneInsight', { spec })).spec).toEqual({ ...spec, subscriptions: [{ id: 'a' }, { id: 'b' }] });
    expect(map(resource('DataplaneInsight', { spec: {} })).spec).toEqual({});
    expect(map(resource('DataplaneInsight', { spec: { subscriptions: null } })).spec).toEqual({ subscriptions: null });
  });
});

describe('what a zone stores (kds-wire 6.1)', () => {
  const rules = zoneReceiveRules();

  it('asks for the types marked G→Z or X, takes them as they are and keeps its own status', () => {
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

describe('what global stores of a zone (kds-wire 6.1)', () => {
  const rules = globalReceiveRules('east', { hashedNames: true });
  const legacy = globalReceiveRules('east', { hashedNames: false });
  const wire = (fields: Partial<WireResource> = {}): WireResource => ({
    ...{ name: 'thing', mesh: 'default', labels: {}, spec: {}, status: undefined },
    ...fields,
  });

  it('asks for the types marked Z→G, takes their status, and makes the Zone their owner', () => {
    expect(rules).toMatchObject({ by: 'global', types: globalConsumes, status: 'take', ownerOnCreate: ZONE_OWNER });
  });

  it('forces origin and zone to the caller, whatever the payload says', () => {
    const labels = { [label.origin]: 'global', [label.zone]: 'west', team: 'blue' };
    for (const info of rules.types) {
      expect(rules.rewrite(frozen(wire({ labels })), info).labels).toEqual({ ...FROM_EAST, team: 'blue' });
      expect(rules.inScope(rules.rewrite(wire({ labels }), info), info)).toBe(true);
    }
  });

  it('keeps names, or puts the zone before those of a peer without hash-suffix, removed ones too', () => {
    for (const info of rules.types) {
      expect(rules.rewrite(wire(), info).name).toBe('thing');
      expect(legacy.rewrite(wire(), info).name).toBe('east.thing');
    }
    expect([rules.storedName('thing'), legacy.storedName('thing')]).toEqual(['thing', 'east.thing']);
  });

  it('overwrites the zone tag of a gateway, and adds none', () => {
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

  it('finds every row in scope by its queries', () => {
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
    expect(audienceOf(globalSendRules(), onGlobal).audience).toEqual({ to: 'others', zone: 'zone-1' });
    const down = globalSendRules().map(onGlobal, info);
    expect(down).toMatchObject({ name: 'backend-d8466458x7574b7b', status: { tls: {}, dataplaneProxies: {} } });
    expect(down.labels).toEqual({ [label.origin]: 'global', [label.zone]: 'zone-1', [label.displayName]: 'backend' });
    expect(zoneReceiveRules().inScope(down, info)).toBe(true);
  });
});

/** What a rule gets it must not change. */
function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    if (!(value instanceof Date)) Object.freeze(value);
    for (const inner of Object.values(value)) frozen(inner);
  }
  return value;
}
