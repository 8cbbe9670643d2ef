import { fc } from '../../test/support/property.ts';
import { describe, expect, it } from 'vitest';
import type { WireResource } from '../resource/codec.ts';
import { toKumaForm } from './kuma-form.ts';
import { resourceTypes, typeOf } from '../resource/type-registry.ts';
import type { Json, JsonObject, Labels } from '../resource/types.ts';

const MESH = { kind: 'Mesh' };
const DISPLAY = 'kuma.io/display-name';
const NAMESPACE = 'k8s.kuma.io/namespace';

/** Labels of a producer policy that global sends to other zones. */
const GUEST = { [NAMESPACE]: 'own', 'kuma.io/origin': 'global', 'kuma.io/zone': 'east', 'kuma.io/policy-role': 'producer' };

const resource = (spec: JsonObject, labels: Labels = {}): WireResource => ({
  name: 'one',
  mesh: 'default',
  labels,
  spec,
  status: undefined,
});

/** The translated spec; fails when the resource is withheld. */
function said(type: string, spec: JsonObject, labels?: Labels): JsonObject {
  const form = toKumaForm(typeOf(type), resource(spec, labels));
  if ('withheld' in form) throw new Error(form.withheld);
  return form.resource.spec;
}

const to = (targetRef: JsonObject, conf: JsonObject = {}): JsonObject => ({
  targetRef: MESH,
  to: [{ targetRef, default: conf }],
});
const rules = (rule: JsonObject): JsonObject => ({ targetRef: MESH, rules: [rule] });
const backend = (ref: JsonObject): JsonObject => ({
  targetRef: MESH,
  to: [{ targetRef: { kind: 'MeshService', labels: { a: 'b' } }, rules: [{ default: { backendRefs: [ref] } }] }],
});
const mirror = (ref: JsonObject): JsonObject => ({
  targetRef: MESH,
  to: [{ rules: [{ default: { filters: [{ type: 'RequestMirror', requestMirror: { percentage: 1, backendRef: ref } }] } }] }],
});
const strategy = (conf: JsonObject): JsonObject => to(MESH, conf);
const telemetry = (openTelemetry: JsonObject): JsonObject => to(MESH, { backends: [{ type: 'OpenTelemetry', openTelemetry }] });
const permission = (value: string, type = 'Prefix', key = 'spiffeID'): JsonObject =>
  rules({ default: { deny: [{ [key]: { type, value } }] } });

const header = [{ type: 'Header', header: { name: 'x' } }];
const cookie = [{ type: 'Cookie', cookie: { name: 'c' } }];
const cart = { kind: 'MeshService', name: 'cart', namespace: 'shop', sectionName: 'http' };
const cartByLabels = { kind: 'MeshService', sectionName: 'http', labels: { [DISPLAY]: 'cart', [NAMESPACE]: 'shop' } };
const certificate = (caCert: Json): JsonObject => ({ match: { port: 443 }, tls: { verification: { mode: 'Secured', caCert } } });
const inSecret = { type: 'Secret', secretRef: { kind: 'Secret', name: 'ca' } };
const inline = (value: string): JsonObject => ({ type: 'InsecureInline', insecureInline: { value } });
const zones = { zoneIngress: { address: '10.0.0.1', port: 1 }, zoneEgress: { address: '10.0.0.1', port: 2 } };

describe('toKumaForm translates', () => {
  it.each<[string, string, JsonObject, JsonObject]>([
    ['a name in to[]', 'MeshTimeout', to(cart), to(cartByLabels)],
    [
      'a name without a namespace',
      'MeshRetry',
      to({ kind: 'MeshHTTPRoute', name: 'r' }),
      to({ kind: 'MeshHTTPRoute', labels: { [DISPLAY]: 'r' } }),
    ],
    [
      'a Dataplane at the top',
      'MeshMetric',
      { targetRef: { kind: 'Dataplane', name: 'web' } },
      { targetRef: { kind: 'Dataplane', labels: { [DISPLAY]: 'web' } } },
    ],
    ['a name beside empty labels', 'MeshTimeout', to({ ...cart, labels: {} }), to(cartByLabels)],
    ['a missing targetRef', 'MeshTrace', { default: {} }, { default: {}, targetRef: MESH }],
    ['a targetRef of null', 'MeshTrace', { targetRef: null }, { targetRef: MESH }],
    ['backendRefs', 'MeshTCPRoute', backend({ ...cart, weight: 2 }), backend({ ...cartByLabels, weight: 2 })],
    ['mirrors', 'MeshHTTPRoute', mirror(cart), mirror(cartByLabels)],
    [
      'a telemetry backend',
      'MeshAccessLog',
      telemetry({ backendRef: { kind: 'MeshOpenTelemetryBackend', name: 'o' } }),
      telemetry({ backendRef: { kind: 'MeshOpenTelemetryBackend', labels: { [DISPLAY]: 'o' } } }),
    ],
    [
      'nested hash policies',
      'MeshLoadBalancingStrategy',
      strategy({ loadBalancer: { type: 'RingHash', ringHash: { minRingSize: 2, hashPolicies: header } } }),
      strategy({ loadBalancer: { type: 'RingHash', ringHash: { minRingSize: 2 } }, hashPolicies: header }),
    ],
    [
      'nested hash policies beside an empty root',
      'MeshLoadBalancingStrategy',
      strategy({ hashPolicies: [], loadBalancer: { type: 'Maglev', maglev: { hashPolicies: header } } }),
      strategy({ hashPolicies: [], loadBalancer: { type: 'Maglev', maglev: {} } }),
    ],
    [
      'nested hash policies of both balancers',
      'MeshLoadBalancingStrategy',
      strategy({ loadBalancer: { type: 'Maglev', ringHash: { hashPolicies: header }, maglev: { hashPolicies: cookie } } }),
      strategy({ loadBalancer: { type: 'Maglev', ringHash: {}, maglev: {} }, hashPolicies: cookie }),
    ],
    [
      'nested hash policies without effect',
      'MeshLoadBalancingStrategy',
      strategy({ loadBalancer: { type: 'Random', ringHash: { hashPolicies: header } } }),
      strategy({ loadBalancer: { type: 'Random', ringHash: {} } }),
    ],
    ['a SPIFFE prefix', 'MeshTrafficPermission', permission('spiffe://default/'), permission('spiffe://default')],
    [
      'a SPIFFE prefix by its alias',
      'MeshTrafficPermission',
      permission('spiffe://d/ns/a/', 'Prefix', 'spiffeId'),
      permission('spiffe://d/ns/a', 'Prefix', 'spiffeId'),
    ],
    [
      'a SPIFFE prefix of other policies',
      'MeshTimeout',
      rules({ matches: [{ spiffeID: { type: 'Prefix', value: 'spiffe://d/' } }] }),
      rules({ matches: [{ spiffeID: { type: 'Prefix', value: 'spiffe://d' } }] }),
    ],
    ['a certificate in a Secret', 'MeshExternalService', certificate({ secret: 'ca' }), certificate(inSecret)],
    ['a certificate in base64', 'MeshExternalService', certificate({ inline: 'w6Q=' }), certificate(inline('ä'))],
    ['a certificate as text', 'MeshExternalService', certificate({ inlineString: 'w6Q=' }), certificate(inline('w6Q='))],
    [
      'a certificate and its key',
      'MeshExternalService',
      { tls: { verification: { clientCert: { secret: 'ca' }, clientKey: { inlineString: 'k' } } } },
      { tls: { verification: { clientCert: inSecret, clientKey: inline('k') } } },
    ],
    [
      'a Dataplane',
      'Dataplane',
      { networking: { address: '10.0.0.1', inbound: [{ port: 80, tags: { a: 'b' } }, { port: 81 }], ...zones } },
      { networking: { address: '10.0.0.1', inbound: [{ port: 80 }, { port: 81 }] } },
    ],
    [
      'a Dataplane with zone sections and an address',
      'Dataplane',
      { networking: { address: '10.0.0.1', ...zones } },
      { networking: { address: '10.0.0.1' } },
    ],
    ...[{ inbound: [{ port: 80 }] }, { listeners: [{ type: 'ZoneEgress' }] }, { gateway: {} }].map(
      (rest): [string, string, JsonObject, JsonObject] => [
        `a Dataplane without address but with ${Object.keys(rest).join()}`,
        'Dataplane',
        { networking: { ...zones, ...rest } },
        { networking: rest },
      ],
    ),
  ])('%s', (_, type, spec, expected) => {
    expect(said(type, spec)).toEqual(expected);
  });

  it("a name without a namespace into the policy's own namespace", () => {
    const labels = { [DISPLAY]: 'cart', [NAMESPACE]: 'own' };
    expect(said('MeshTimeout', to({ kind: 'MeshService', name: 'cart' }), { [NAMESPACE]: 'own' })).toEqual(
      to({ kind: 'MeshService', labels }),
    );
  });

  it('a producer policy of another zone into one for services of that zone, without rules for inbounds', () => {
    const identity = { [DISPLAY]: 'cart', [NAMESPACE]: 'own' };
    const narrowed = to({ kind: 'MeshService', labels: { ...identity, 'kuma.io/zone': 'east' } });
    const byName = to({ kind: 'MeshService', name: 'cart' });
    expect(said('MeshTimeout', byName, GUEST)).toEqual(narrowed);
    expect(said('MeshTimeout', to({ kind: 'MeshService', labels: identity }), GUEST)).toEqual(narrowed);
    expect(said('MeshTimeout', narrowed, GUEST)).toEqual(narrowed);
    expect(said('MeshTimeout', { ...byName, rules: [{ default: {} }] }, GUEST)).toEqual(narrowed);
    for (const other of [{ 'kuma.io/origin': 'zone' }, { 'kuma.io/policy-role': 'consumer' }])
      expect(said('MeshTimeout', byName, { ...GUEST, ...other })).toEqual(to({ kind: 'MeshService', labels: identity }));
  });

  it('without touching a prototype', () => {
    const spec = JSON.parse(
      '{"__proto__":{"x":1},"to":[{"targetRef":{"kind":"MeshService","name":"a","__proto__":{"y":1}}}]}',
    ) as JsonObject;
    expect(JSON.stringify(said('MeshTimeout', spec))).toBe(
      `{"__proto__":{"x":1},"to":[{"targetRef":{"kind":"MeshService","__proto__":{"y":1},"labels":{"${DISPLAY}":"a"}}}],"targetRef":{"kind":"Mesh"}}`,
    );
    const dataplane = JSON.parse('{"networking":{"address":"a","zoneEgress":{},"__proto__":{"x":1}}}') as JsonObject;
    expect(JSON.stringify(said('Dataplane', dataplane))).toBe('{"networking":{"address":"a","__proto__":{"x":1}}}');
  });
});

it('toKumaForm withholds a spec that Go cannot decode, and names the field', () => {
  const given = resource({ targetRef: { kind: 'Mesh' }, to: [{ targetRef: { kind: 'Mesh', name: 5 } }] });
  expect(toKumaForm(typeOf('MeshTimeout'), given)).toEqual({ withheld: 'spec.to[0].targetRef.name: must be a string' });
});

describe('toKumaForm gives back the same object for', () => {
  it.each<[string, string, JsonObject]>([
    ['labels', 'MeshTimeout', to(cartByLabels)],
    ['labels beside a name', 'MeshTimeout', to({ ...cart, labels: { a: 'b' } })],
    ['a Mesh by name, which is the mesh anyway', 'MeshTimeout', { targetRef: { kind: 'Mesh', name: 'default' } }],
    ['root hash policies', 'MeshLoadBalancingStrategy', strategy({ hashPolicies: header, loadBalancer: { type: 'Maglev' } })],
    ['a prefix without slash', 'MeshTrafficPermission', permission('spiffe://default')],
    ['a certificate with a type', 'MeshExternalService', certificate(inSecret)],
    ['no certificate', 'MeshExternalService', certificate(null)],
    ['an exact SPIFFE ID', 'MeshTrafficPermission', permission('spiffe://default/', 'Exact')],
    ['slashes alone', 'MeshTrafficPermission', permission('spiffe:///')],
    [
      'references of a Dataplane',
      'Dataplane',
      { networking: { outbound: [{ backendRef: { kind: 'MeshService', name: 'a' } }] } },
    ],
    ['listeners', 'Dataplane', { networking: { address: 'a', listeners: [{ type: 'ZoneIngress' }] } }],
    ['a MeshService', 'MeshService', { ports: [{ port: 80 }], zoneIngress: { address: 'a', port: 1, sni: 'b' } }],
    ['wrong types of a type without a schema', 'Dataplane', { networking: { inbound: [null, 'x'], address: 5 } }],
  ])('%s', (_, type, spec) => {
    const given = resource(spec);
    expect(toKumaForm(typeOf(type), given)).toEqual({ resource: given });
    expect(said(type, spec)).toBe(spec);
  });
});

describe('toKumaForm leaves out what a Kuma 3 reads over in its own rows', () => {
  const MESH_OF_GATEWAYS = { kind: 'Mesh', proxyTypes: ['Gateway'] };
  const [item] = to(MESH, {})['to'] as Json[];
  it.each<[string, string, JsonObject, JsonObject]>([
    ['proxyTypes', 'MeshTrace', { targetRef: MESH_OF_GATEWAYS }, { targetRef: MESH }],
    ['from beside to', 'MeshTimeout', { ...to(MESH), from: [{ targetRef: MESH }] }, to(MESH)],
    ['from beside rules', 'MeshTimeout', { ...rules({}), from: [{ targetRef: MESH }] }, rules({})],
    ['from of a policy that needs no section', 'MeshTLS', { targetRef: MESH, from: [{}] }, { targetRef: MESH }],
    ['an empty from', 'MeshTimeout', { ...to(MESH), from: [] }, to(MESH)],
    ['both', 'MeshTimeout', { targetRef: MESH_OF_GATEWAYS, from: [{}], to: [item ?? null] }, to(MESH)],
    ['a moved field', 'MeshHealthCheck', to(MESH, { healthyPanicThreshold: 5, tcp: {} }), to(MESH, { tcp: {} })],
  ])('%s', (_, type, spec, expected) => {
    expect(said(type, spec)).toEqual(expected);
  });
});

describe('toKumaForm withholds, and names the field', () => {
  it.each<[string, JsonObject, string]>([
    [
      'MeshTimeout',
      { targetRef: { kind: 'MeshSubset', tags: { a: 'b' } } },
      'spec.targetRef.kind: Kuma takes Mesh, Dataplane at the top of a MeshTimeout, not "MeshSubset"',
    ],
    ['MeshRateLimit', { targetRef: { kind: 'MeshHTTPRoute', name: 'r' } }, 'spec.targetRef.kind: '],
    ['MeshTimeout', to({ kind: 'MeshTCPRoute', name: 'r' }), 'spec.to[0].targetRef.kind: '],
    ['MeshCircuitBreaker', to({ kind: 'MeshHTTPRoute', name: 'r' }), 'spec.to[0].targetRef.kind: '],
    ['MeshHTTPRoute', to(MESH), 'spec.to[0].targetRef.kind: '],
    ...['MeshTrafficPermission', 'MeshTimeout', 'MeshAccessLog', 'MeshCircuitBreaker', 'MeshRateLimit'].map(
      (type): [string, JsonObject, string] => [type, { targetRef: MESH, from: [{ targetRef: MESH }] }, 'spec.from: '],
    ),
    ['MeshTrafficPermission', rules({ matches: [{ sni: { type: 'Exact', value: 'a' } }] }), 'spec.rules[0].matches: '],
    ['MeshTCPRoute', backend({ kind: 'MeshServiceSubset', name: 'a' }), 'spec.to[0].rules[0].default.backendRefs[0].kind: '],
    ['MeshHTTPRoute', backend({ kind: 'MeshMultiZoneService', name: 'a' }), 'spec.to[0].rules[0].default.backendRefs[0].port: '],
    [
      'MeshHTTPRoute',
      mirror({ kind: 'MeshGateway', name: 'a' }),
      'spec.to[0].rules[0].default.filters[0].requestMirror.backendRef.kind: ',
    ],
    [
      'MeshLoadBalancingStrategy',
      to(cart, { localityAwareness: { crossZone: {} } }),
      'spec.to[0].default.localityAwareness.crossZone: ',
    ],
    [
      'MeshLoadBalancingStrategy',
      strategy({ hashPolicies: [{ type: 'SourceIP' }] }),
      'spec.to[0].default.hashPolicies[0].type: ',
    ],
    ['MeshAccessLog', telemetry({ endpoint: 'a:1' }), 'spec.to[0].default.backends[0].openTelemetry.endpoint: '],
    ...['MeshTrace', 'MeshMetric'].map((type): [string, JsonObject, string] => [
      type,
      { default: { backends: [{ type: 'OpenTelemetry', openTelemetry: { endpoint: 'a:1' } }] } },
      'spec.default.backends[0].openTelemetry.endpoint: ',
    ]),
    ['Dataplane', { networking: zones }, 'networking.address: '],
    ...[{}, { secret: '' }, { secret: 'a', inline: 'YQ==' }, { inline: '/w==' }, { inline: '%' }].map(
      (source): [string, JsonObject, string] => [
        'MeshExternalService',
        certificate(source),
        'spec.tls.verification.caCert: Kuma takes type Secret with secretRef',
      ],
    ),
  ])('%s %j', (type, spec, sentence) => {
    const form = toKumaForm(typeOf(type), resource(spec));
    expect('withheld' in form ? form.withheld : form).toContain(sentence);
  });
});

describe('toKumaForm', () => {
  const text = fc.constantFrom(
    ...[
      'Mesh',
      'MeshService',
      'MeshHTTPRoute',
      'Dataplane',
      'RingHash',
      'Maglev',
      'Prefix',
      'spiffe://a/',
      'spiffe://b',
      'x',
      '',
    ],
  );
  const json = fc.jsonValue({ maxDepth: 2 }).map((value) => value as Json);
  const orAny = (shape: fc.Arbitrary<Json>): fc.Arbitrary<Json> => fc.oneof({ weight: 4, arbitrary: shape }, json);
  const listOf = (item: fc.Arbitrary<Json>): fc.Arbitrary<Json> => orAny(fc.array(item, { maxLength: 2 }));
  const shape = (fields: Record<string, fc.Arbitrary<Json>>): fc.Arbitrary<JsonObject> =>
    fc.record(fields, { requiredKeys: [] }).map((given) => given as JsonObject);
  const ref = orAny(shape({ kind: text, name: orAny(text), namespace: orAny(text), labels: json }));
  const conf = orAny(
    shape({
      backendRefs: listOf(ref),
      filters: listOf(shape({ requestMirror: shape({ backendRef: ref }) })),
      backends: listOf(shape({ openTelemetry: shape({ backendRef: ref }) })),
      hashPolicies: json,
      loadBalancer: orAny(
        shape({ type: text, ringHash: shape({ hashPolicies: listOf(json) }), maglev: shape({ hashPolicies: listOf(json) }) }),
      ),
      allow: listOf(shape({ spiffeID: shape({ type: text, value: text }) })),
    }),
  );
  const rule = listOf(orAny(shape({ matches: listOf(shape({ spiffeId: shape({ type: text, value: text }) })), default: conf })));
  const named = new Set(['Dataplane', 'MeshService', 'MeshExternalService']);
  const types = resourceTypes.filter((info) => info.policy !== null || named.has(info.name));
  const specs = shape({
    targetRef: ref,
    to: listOf(orAny(shape({ targetRef: ref, rules: rule, default: conf }))),
    from: json,
    rules: rule,
    tls: shape({
      verification: shape({
        caCert: shape({ type: text, secret: text, inline: text, inlineString: orAny(text) }),
        clientKey: json,
      }),
    }),
    networking: orAny(
      shape({ address: json, inbound: listOf(shape({ tags: json, port: json })), zoneIngress: json, zoneEgress: json }),
    ),
  });

  it('never throws, never mutates its input, and is idempotent', () => {
    const outcomes = { withheld: 0, same: 0, translated: 0 };
    fc.assert(
      fc.property(
        fc.constantFrom(...types),
        specs,
        fc.constantFrom<Labels>({}, { [NAMESPACE]: 'own' }, GUEST),
        (info, spec, labels) => {
          const given = resource(spec, labels);
          const before = JSON.stringify(given);
          const form = toKumaForm(info, given);
          expect(JSON.stringify(given)).toBe(before);
          outcomes['withheld' in form ? 'withheld' : form.resource === given ? 'same' : 'translated'] += 1;
          if ('withheld' in form) return;
          const again = toKumaForm(info, form.resource);
          expect('resource' in again && again.resource === form.resource).toBe(true);
        },
      ),
      { numRuns: 2_000 },
    );
    for (const count of Object.values(outcomes)) expect(count).toBeGreaterThan(20);
  });
});
