// Random rows of a mesh, of the kinds that the configuration of proxies is made from.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject, Resource } from '../../src/resource/types.ts';
import { serviceSni } from '../../src/resource/sni.ts';
import { make, type Made } from '../policy/make-resource.ts';
import { withDemandedTls } from '../../src/policy/demanded-tls.ts';
import { inForceSpec, WITHDRAWAL_STEPS } from '../../src/resource/identity-in-force.ts';
import { kriOf } from '../../src/resource/kri.ts';
import { fc } from '../support/property.ts';

const names = fc.constantFrom('a', 'b', 'c');
const apps = fc.constantFrom('x', 'y');
const made: fc.Arbitrary<Made> = fc
  .record({
    zone: fc.constantFrom('east', 'east', 'west', 'north', undefined),
    namespace: fc.constantFrom('shop', undefined, undefined),
    role: fc.constantFrom('system', 'producer', 'consumer'),
    app: apps,
    effect: fc.constantFrom({}, {}, {}, { 'kuma.io/effect': 'shadow' }),
  })
  .map(({ zone, namespace, role, app, effect }) => ({
    labels: { app, ...effect },
    ...(zone !== undefined && { zone }),
    ...(namespace !== undefined && { namespace, role }),
  }));

const service: fc.Arbitrary<JsonObject> = fc.oneof(
  names.map((name): JsonObject => ({ kind: 'MeshService', name, port: 80 })),
  names.map((name): JsonObject => ({ kind: 'MeshService', name, sectionName: 'admin' })),
  apps.map((app): JsonObject => ({ kind: 'MeshService', labels: { app }, port: 80 })),
  names.map((name): JsonObject => ({ kind: 'MeshMultiZoneService', name, port: 80 })),
  names.map((name): JsonObject => ({ kind: 'MeshExternalService', name })),
);

const EGRESS = { address: '10.0.1.1', port: 10_002 };
/** What makes a Dataplane a zone proxy: the form of MADR 095 or that of Kuma. */
const zoneListeners: fc.Arbitrary<JsonObject> = fc.constantFrom<JsonObject[]>(
  {},
  {},
  { zoneIngress: { address: '10.0.1.1', port: 10_001, advertisedAddress: '10.0.1.1', advertisedPort: 10_001 } },
  { zoneEgress: EGRESS },
  {
    listeners: [
      { type: 'ZoneIngress', address: '10.0.1.2', port: 10_001, name: 'in' },
      { type: 'ZoneEgress', address: '10.0.1.2', port: 10_002, name: 'out' },
    ],
  },
);

const CALLED: readonly JsonObject[][] = [
  [{ kind: 'MeshService', name: 'a', port: 80 }],
  [
    { kind: 'MeshService', name: 'a', port: 80 },
    { kind: 'MeshService', labels: { app: 'x' }, port: 80 },
    { kind: 'MeshMultiZoneService', name: 'b', port: 80 },
  ],
];

const REDIRECTED: JsonObject = { redirectPortInbound: 15_006, redirectPortOutbound: 15_001 };

/** Whether connections are redirected to the proxy, and what it reaches by virtual addresses. */
const transparent: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.constantFrom<JsonObject[]>(
    {},
    {},
    { transparentProxying: REDIRECTED },
    { transparentProxying: REDIRECTED },
    { transparentProxying: { redirectPortOutbound: 15_001, ipFamilyMode: 'DualStack' } },
    { transparentProxying: { redirectPortOutbound: 15_001, ipFamilyMode: 'IPv4' } },
    { transparentProxying: { redirectPortInbound: 15_006 } },
  ),
  fc
    .array(service, { maxLength: 2 })
    .map((refs): JsonObject => ({ transparentProxying: { ...REDIRECTED, reachableBackends: { refs } } })),
);

/** The address of a Dataplane is among them. */
const virtualIp = fc.constantFrom('', '241.0.0.1', '241.0.0.2', '241.0.0.3', 'fd00::1', '10.0.0.112');

const dataplane: fc.Arbitrary<Resource> = fc
  .record({
    name: fc.constantFrom('p', 'q', 'r'),
    app: apps,
    protocol: fc.constantFrom('http', 'tcp'),
    ready: fc.boolean(),
    // Some declare the same.
    outbounds: fc.oneof(fc.array(service, { maxLength: 4 }), fc.constantFrom(...CALLED)),
    zoneListeners,
    transparent,
    address: fc.constantFrom('127.0.0.1', '241.0.0.1'),
    firstPort: fc.constantFrom(80, 10_000),
    hasDemandedTls: fc.boolean(),
  })
  .map(
    ({
      name,
      app,
      protocol,
      ready,
      outbounds,
      zoneListeners: listeners,
      transparent: redirected,
      address,
      firstPort,
      hasDemandedTls,
    }) => ({
      ...make(
        'Dataplane',
        name,
        {
          networking: {
            address: `10.0.0.${String(name.charCodeAt(0))}`,
            inbound: [{ port: 8080, name: 'main', protocol, state: ready ? 'Ready' : 'NotReady' }],
            outbound: outbounds.map((backendRef, at) => ({ address, port: firstPort + at, backendRef })),
            ...listeners,
            ...redirected,
          },
        },
        { zone: 'east', labels: { app } },
      ),
      status: withDemandedTls({}, hasDemandedTls),
    }),
  );

const meshService: fc.Arbitrary<Resource> = fc
  .record({
    ...{ name: names, made, protocol: fc.constantFrom('http', 'tcp'), app: apps, hasAdmin: fc.boolean() },
    tls: fc.constantFrom<JsonObject>({}, { status: 'NotReady' }, { status: 'Ready' }, { status: 'Ready', enforced: true }),
    state: fc.constantFrom('Available', 'Available', 'Unavailable'),
    zoneIngress: fc.constantFrom(undefined, { address: '10.0.2.1', port: 10_001, sni: 'a.b' }),
    ip: virtualIp,
  })
  .map(({ name, made: { role: _, ...place }, protocol, app, hasAdmin, tls, state, zoneIngress, ip }) => ({
    ...make(
      'MeshService',
      name,
      {
        selector: { dataplaneLabels: { matchLabels: { app } } },
        ports: [{ port: 80, targetPort: 8080, appProtocol: protocol }, ...(hasAdmin ? [{ port: 8080, name: 'admin' }] : [])],
        identities: [{ type: 'SpiffeID', value: `spiffe://default.${place.zone ?? 'east'}.mesh.local/${app}` }],
        state,
        ...(zoneIngress !== undefined && { zoneIngress }),
      },
      place,
    ),
    status: { tls, ...(ip !== '' && { vips: [{ ip }] }) },
  }));

const IDENTITY = {
  selector: { dataplane: { matchLabels: {} } },
  spiffeID: { path: '/{{ label "app" }}' },
  provider: { type: 'Bundled', bundled: { autogenerate: { enabled: true } } },
};
const identity: fc.Arbitrary<Resource> = fc
  .record({
    name: fc.constantFrom('m', 'n'),
    matchLabels: fc.oneof(
      fc.constant({}),
      apps.map((app) => ({ app })),
    ),
    status: fc.constantFrom('True', 'True', 'False'),
  })
  .map(({ name, matchLabels, status }) => ({
    ...make(
      'MeshIdentity',
      name,
      {
        ...IDENTITY,
        selector: { dataplane: { matchLabels } },
      },
      { zone: 'east' },
    ),
    status: { conditions: [{ type: 'Ready', status, reason: 'Ready' }] },
  }));

/** A MeshIdentity that is in force, or that is being withdrawn. */
const identityInForce: fc.Arbitrary<Resource> = fc
  .record({ of: identity, step: fc.constantFrom(...WITHDRAWAL_STEPS), withdrawn: fc.array(meshService, { maxLength: 2 }) })
  .map(({ of: { labels, spec, mesh, name }, step, withdrawn }) => ({
    ...make('Secret', `${name}-in-force`, {}),
    ...{
      mesh,
      labels: {},
      spec: inForceSpec({
        identity: { labels, spec },
        step,
        services: withdrawn.flatMap((one) => kriOf(one) ?? []),
        since: '',
        until: '',
      }),
    },
  }));

const AUTHORITY = readFileSync(join(import.meta.dirname, 'authority.pem'), 'utf8');
const trust: fc.Arbitrary<Resource> = fc
  .constantFrom('default.east.mesh.local', 'default.east.mesh.local', 'default.west.mesh.local', 'default.north.mesh.local')
  .map(trustOf);

function trustOf(trustDomain: string): Resource {
  return make('MeshTrust', trustDomain, { trustDomain, caBundles: [{ type: 'Pem', pem: { value: AUTHORITY } }] });
}

const multiZone: fc.Arbitrary<Resource> = fc.tuple(names, apps, virtualIp).map(([name, app, ip]) => ({
  ...make('MeshMultiZoneService', name, {
    selector: { meshService: { matchLabels: { app } } },
    ports: [{ port: 80, appProtocol: 'http' }],
  }),
  status: ip === '' ? {} : { vips: [{ ip }] },
}));

const SECRET = { type: 'Secret', secretRef: { kind: 'Secret', name: 'authority' } };
const external: fc.Arbitrary<Resource> = fc
  .record({
    ...{ name: names, hasEgress: fc.boolean(), protocol: fc.constantFrom('http', 'tcp'), ip: virtualIp },
    caCert: fc.constantFrom<JsonObject | null>(null, SECRET, { type: 'InsecureInline', insecureInline: { value: AUTHORITY } }),
  })
  .map(({ name, hasEgress, protocol, caCert, ip }) => ({
    ...make('MeshExternalService', name, {
      match: { type: 'HostnameGenerator', port: 443, protocol },
      endpoints: [{ address: 'example.com', port: 443 }],
      ...(caCert !== null && { tls: { enabled: true, verification: { caCert } } }),
    }),
    status: { ...(hasEgress && { zoneEgress: { ...EGRESS, sni: 'c.d' } }), ...(ip !== '' && { vip: { ip } }) },
  }));

const secret: fc.Arbitrary<Resource> = fc
  .constantFrom('one', 'two')
  .map((text) => make('Secret', 'authority', { data: Buffer.from(text).toString('base64') }));

/** An ingress of another zone. */
const zoneAddress: fc.Arbitrary<Resource> = fc
  .tuple(fc.constantFrom('one', 'two'), fc.constantFrom('west', 'north'), fc.constantFrom('10.0.2.1', '10.0.2.2', 'a.name'))
  .map(([name, zone, address]) => make('MeshZoneAddress', name, { address, port: 10_001 }, { zone }));

const top: fc.Arbitrary<JsonObject> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<JsonObject>({ kind: 'Mesh' }) },
  fc.constantFrom('p', 'q').map((name): JsonObject => ({ kind: 'Dataplane', name })),
  apps.map((app): JsonObject => ({ kind: 'Dataplane', labels: { app } })),
  fc.constant<JsonObject>({ kind: 'Dataplane', sectionName: 'main' }),
);
const to: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.constant<JsonObject>({ kind: 'Mesh' }),
  service.map(({ port: _, ...ref }) => ref),
  names.map((name): JsonObject => ({ kind: 'MeshHTTPRoute', name })),
);
const oldTop: fc.Arbitrary<JsonObject> = names.map((name): JsonObject => ({ kind: 'MeshHTTPRoute', name }));

const COLLECTOR = { backendRef: { kind: 'MeshOpenTelemetryBackend', name: 'a' } };

const seconds = fc.constantFrom('1s', '2s');
/** Type and conf of a policy on what a proxy calls. */
const outbound: fc.Arbitrary<readonly [string, JsonObject]> = fc.oneof(
  seconds.map((requestTimeout): [string, JsonObject] => [
    'MeshTimeout',
    { idleTimeout: requestTimeout, http: { requestTimeout } },
  ]),
  fc.nat(3).map((numRetries): [string, JsonObject] => ['MeshRetry', { http: { numRetries } }]),
  fc.constantFrom<[string, JsonObject]>(
    [
      'MeshRetry',
      { http: { hostSelection: [{ predicate: 'OmitPreviousHosts', updateFrequency: 2 }], hostSelectionMaxAttempts: 5 } },
    ],
    ['MeshRetry', { tcp: { maxConnectAttempt: 2 } }],
  ),
  fc.nat(3).map((maxConnections): [string, JsonObject] => ['MeshCircuitBreaker', { connectionLimits: { maxConnections } }]),
  seconds.map((interval): [string, JsonObject] => ['MeshHealthCheck', { interval, http: { path: '/health' } }]),
  fc.constantFrom<[string, JsonObject]>(
    ['MeshLoadBalancingStrategy', { loadBalancer: { type: 'Maglev' } }],
    ['MeshLoadBalancingStrategy', { hashPolicies: [{ type: 'Header', header: { name: 'x' } }] }],
    ['MeshLoadBalancingStrategy', { localityAwareness: { localZone: { affinityTags: [{ key: 'app' }] } } }],
    ['MeshLoadBalancingStrategy', { localityAwareness: { disabled: true } }],
    [
      'MeshLoadBalancingStrategy',
      { localityAwareness: { crossZone: { failover: [{ to: { type: 'Only', zones: ['west'] } }] } } },
    ],
    ['MeshAccessLog', { backends: [{ type: 'File', file: { path: '/dev/stdout' } }] }],
    ['MeshAccessLog', { backends: [{ type: 'Tcp', tcp: { address: 'logs:9000' } }] }],
    ['MeshAccessLog', { backends: [{ type: 'OpenTelemetry', openTelemetry: COLLECTOR }] }],
  ),
);
const serverName = fc.constantFrom(
  'sni.msvc.default.east.a.80',
  'sni.extsvc.default.b.443',
  'sni.mzsvc.default.a.80',
  serviceSni({ type: 'MeshService', mesh: 'default', name: 'b', labels: {} }, 80) ?? '',
);
const inbound: fc.Arbitrary<readonly [string, JsonObject]> = fc.oneof(
  seconds.map((requestTimeout): [string, JsonObject] => [
    'MeshTimeout',
    { idleTimeout: requestTimeout, http: { requestTimeout } },
  ]),
  fc.constant<[string, JsonObject]>(['MeshRateLimit', { local: { tcp: { connectionRate: { num: 9, interval: '1s' } } } }]),
  fc.constant<[string, JsonObject]>(['MeshAccessLog', { backends: [{ type: 'File', file: { path: '/dev/stdout' } }] }]),
  fc
    .nat(3)
    .map((num): [string, JsonObject] => [
      'MeshRateLimit',
      { local: { http: { requestRate: { num: num + 1, interval: '1s' } } } },
    ]),
  fc.constantFrom<[string, JsonObject]>(
    ['MeshTLS', { mode: 'Strict', tlsVersion: { min: 'TLS12', max: 'TLS13' } }],
    ['MeshTLS', { mode: 'Permissive' }],
    ['MeshTrafficPermission', { allow: [{ spiffeID: { type: 'Prefix', value: 'spiffe://default.east.mesh.local' } }] }],
    [
      'MeshTrafficPermission',
      { allowWithShadowDeny: [{ spiffeID: { type: 'Prefix', value: 'spiffe://default.west.mesh.local' } }] },
    ],
    ['MeshTrafficPermission', { deny: [{ spiffeID: { type: 'Exact', value: 'spiffe://default.east.mesh.local/x' } }] }],
  ),
  serverName.map((value): [string, JsonObject] => ['MeshTrafficPermission', { deny: [{ sni: { type: 'Exact', value } }] }]),
  fc
    .nat(99)
    .map((percentage): [string, JsonObject] => ['MeshFaultInjection', { http: [{ abort: { httpStatus: 503, percentage } }] }]),
);

const toPolicy: fc.Arbitrary<Resource> = fc
  .record({
    name: names,
    targetRef: fc.oneof({ weight: 5, arbitrary: top }, oldTop),
    items: fc.array(to, { minLength: 1, maxLength: 2 }),
    of: outbound,
    made,
  })
  .map(({ name, targetRef, items, of: [type, conf], made: where }) =>
    make(type, name, { targetRef, to: items.map((ref) => ({ targetRef: ref, default: conf })) }, where),
  );
/** Types whose rules may name a server. */
const NAMES_SERVERS: ReadonlySet<string> = new Set(['MeshTimeout', 'MeshRateLimit', 'MeshFaultInjection', 'MeshAccessLog']);
const inboundPolicy: fc.Arbitrary<Resource> = fc
  .record({ name: fc.constantFrom('i', 'j'), targetRef: top, of: inbound, made, sni: fc.option(serverName) })
  .map(({ name, targetRef, of: [type, conf], made: where, sni }) => {
    const matches = sni === null || !NAMES_SERVERS.has(type) ? {} : { matches: [{ sni: { type: 'Exact', value: sni } }] };
    return make(type, name, { targetRef, rules: [{ ...matches, default: conf }] }, where);
  });

/** Policies about the whole proxy. */
const proxyWide: fc.Arbitrary<Resource> = fc
  .record({
    name: fc.constantFrom('i', 'j'),
    targetRef: top,
    of: fc.constantFrom<[string, JsonObject]>(
      ['MeshTrace', { backends: [{ type: 'Zipkin', zipkin: { url: 'http://zipkin:9411/spans' } }] }],
      ['MeshTrace', { backends: [{ type: 'OpenTelemetry', openTelemetry: COLLECTOR }] }],
      ['MeshMetric', { backends: [{ type: 'Prometheus', prometheus: { port: 5670 } }] }],
      ['MeshMetric', { backends: [{ type: 'Prometheus', prometheus: { clientId: 'x', port: 5671 } }] }],
      ['MeshPassthrough', { passthroughMode: 'None' }],
      ['MeshPassthrough', { passthroughMode: 'Matched', appendMatch: [{ type: 'Domain', value: 'a.b', protocol: 'http' }] }],
      ['MeshProxyPatch', { appendModifications: [{ cluster: { operation: 'Patch', value: 'connectTimeout: 7s' } }] }],
      ['MeshProxyPatch', { appendModifications: [{ cluster: { operation: 'Add', value: 'name: added' } }] }],
      ['MeshProxyPatch', { appendModifications: [{ listener: { operation: 'Remove', match: { origin: 'outbound' } } }] }],
    ),
    made,
  })
  .map(({ name, targetRef, of: [type, conf], made: where }) => make(type, name, { targetRef, default: conf }, where));

const collector: fc.Arbitrary<Resource> = fc
  .record({ port: fc.constantFrom(4317, 4318), made })
  .map(({ port, made: where }) => make('MeshOpenTelemetryBackend', 'a', { endpoint: { address: 'otel', port } }, where));

const route: fc.Arbitrary<Resource> = fc
  .record({
    name: names,
    kind: fc.constantFrom('MeshHTTPRoute', 'MeshHTTPRoute', 'MeshTCPRoute'),
    targetRef: top,
    destination: service.map(({ port: _, ...ref }) => ref),
    path: fc.constantFrom('/', '/one'),
    backends: fc.array(fc.tuple(service, fc.nat(3)), { maxLength: 3 }),
    made,
  })
  .map(({ name, kind, targetRef, destination, path, backends, made: where }) => {
    const backendRefs = backends.map(([ref, weight]) => ({ ...ref, weight }));
    const rules =
      kind === 'MeshTCPRoute'
        ? [{ default: { backendRefs } }]
        : [{ matches: [{ path: { type: 'PathPrefix', value: path } }], default: { backendRefs } }];
    return make(kind, name, { targetRef, to: [{ targetRef: destination, rules }] }, where);
  });

/** Any row of mesh `default`; Dataplanes are of zone `east`. */
export const row: fc.Arbitrary<Resource> = fc.oneof(
  { weight: 3, arbitrary: dataplane },
  { weight: 3, arbitrary: meshService },
  { weight: 4, arbitrary: toPolicy },
  { weight: 2, arbitrary: inboundPolicy },
  { weight: 4, arbitrary: route },
  { weight: 2, arbitrary: proxyWide },
  { weight: 2, arbitrary: identity },
  { weight: 2, arbitrary: trust },
  identityInForce,
  { weight: 2, arbitrary: multiZone },
  { weight: 2, arbitrary: zoneAddress },
  external,
  secret,
  collector,
);

export const rows: fc.Arbitrary<Resource[]> = fc.uniqueArray(row, {
  selector: ({ type, name }) => `${type}/${name}`,
  minLength: 8,
  maxLength: 30,
});

/** A proxy with an identity that calls every service; the authorities of all zones are trusted. */
export const callerRows: readonly Resource[] = [
  make(
    'Dataplane',
    'caller',
    {
      networking: {
        address: '10.0.0.9',
        inbound: [{ port: 8080, name: 'main', protocol: 'http' }],
        outbound: ['x', 'y'].flatMap((app, at) => [
          ...['MeshMultiZoneService', 'MeshExternalService'].map((kind, of) => ({
            port: 10_000 + at + 10 * of,
            backendRef: { kind, name: at === 0 ? 'a' : 'b', port: kind === 'MeshExternalService' ? 443 : 80 },
          })),
          ...['west', 'north'].map((zone, of) => ({
            port: 11_000 + at + 10 * of,
            backendRef: { kind: 'MeshService', labels: { app, 'kuma.io/zone': zone }, port: 80 },
          })),
        ]),
      },
    },
    { zone: 'east', labels: { app: 'x' } },
  ),
  {
    ...make('MeshIdentity', 'all', IDENTITY, { zone: 'east' }),
    status: { conditions: [{ type: 'Ready', status: 'True', reason: 'Ready' }] },
  },
  ...['east', 'west', 'north'].map((zone) => trustOf(`default.${zone}.mesh.local`)),
];

/** A row on which the ways of that proxy into other zones and to external services depend. */
export const crossingRow: fc.Arbitrary<Resource> = fc.oneof(
  { weight: 3, arbitrary: meshService },
  { weight: 3, arbitrary: zoneAddress },
  { weight: 2, arbitrary: multiZone },
  { weight: 2, arbitrary: external },
  { weight: 2, arbitrary: dataplane },
  toPolicy,
);
