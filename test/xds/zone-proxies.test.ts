// What no recording shows of zone proxies: both server names, and what is left out and reported.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { buildRules } from '../../src/policy/build-rules.ts';
import { MeshIndex } from '../../src/policy/mesh-index.ts';
import { objectOf, objectsOf } from '../../src/resource/read-json.ts';
import { serviceSni } from '../../src/resource/sni.ts';
import type { JsonObject, Resource } from '../../src/resource/types.ts';
import { type ProxyConfig, emptyConfig } from '../../src/xds/proxy-context.ts';
import { proxyConfig } from '../../src/xds/proxy-config.ts';
import { WITHOUT_FEATURES } from '../../src/xds/proxy-features.ts';
import { addZoneListeners } from '../../src/xds/zone-listeners.ts';
import { make } from '../policy/make-resource.ts';
import { identity, trustOf } from './crossing-mesh.ts';

const EAST = { zone: 'east' };
const INGRESS = { zoneIngress: { address: '10.0.0.1', port: 10_001, name: 'in' } };
const EGRESS = { zoneEgress: { address: '10.0.0.1', port: 10_002, name: 'out' } };
const CART = make('MeshService', 'cart', { ports: [{ port: 80 }, { name: 'admin', port: 81 }] }, EAST);
const HASHED = serviceSni(CART, 80) ?? '';
const KUMA = 'sni.msvc.default.east.cart.80';

function configOf(networking: JsonObject, rows: readonly Resource[] = [], features = WITHOUT_FEATURES): ProxyConfig {
  const index = new MeshIndex('default', [
    make('Dataplane', 'zone-proxy', { networking }, { ...EAST, labels: { 'kuma.io/workload': 'egress' } }),
    ...rows,
  ]);
  const [proxy] = index.proxies();
  if (proxy === undefined) throw new Error('the mesh has no Dataplane');
  return proxyConfig(index, proxy, features);
}

const policy = (type: string, rules: JsonObject[]): Resource =>
  make(type, 'policy', { targetRef: { kind: 'Dataplane' }, rules }, EAST);
const serverNames = ({ listeners }: ProxyConfig): unknown[] =>
  [...listeners.values()].flatMap((listener) =>
    objectsOf(listener['filterChains']).map((chain) => objectOf(chain['filterChainMatch'])['serverNames'] ?? 'any'),
  );

describe('an ingress', () => {
  it('has no chain of its own for a service without rules of its own', () => {
    const config = configOf(INGRESS, [CART]);
    expect(serverNames(config)).toEqual(['any']);
    expect([...config.clusters.keys()].sort()).toEqual(
      [HASHED, KUMA, serviceSni(CART, 81) ?? '', 'sni.msvc.default.east.cart.admin'].map((sni) => `ingress:${sni}`).sort(),
    );
    expect(config.assignments.size).toBe(2);
  });

  it('opens no service of another zone, nor a multi-zone service without a member here', () => {
    const west = make('MeshService', 'cart', { ports: [{ port: 80 }] }, { zone: 'west', labels: { app: 'x' } });
    const everywhere = make('MeshMultiZoneService', 'all', {
      selector: { meshService: { matchLabels: { app: 'x' } } },
      ports: [{ port: 80 }],
    });
    expect(configOf(INGRESS, [west, everywhere]).clusters.size).toBe(0);
    const here = make('MeshService', 'cart', { ports: [] }, { zone: 'east', labels: { app: 'x' } });
    expect(configOf(INGRESS, [west, here, everywhere]).clusters.size).toBe(2);
  });

  it('looks through the services of the mesh for its chains only where each port has its own', () => {
    const looksAtServices = (...rows: Resource[]): boolean => {
      const dataplane = make('Dataplane', 'zone-proxy', { networking: INGRESS }, EAST);
      const index = new MeshIndex('default', [dataplane, CART, ...rows]);
      const [proxy] = index.proxies();
      if (proxy === undefined) throw new Error('the mesh has no Dataplane');
      const context = { index, rules: buildRules(index, proxy), features: WITHOUT_FEATURES, tls: null };
      const resources = vi.spyOn(index, 'resources');
      addZoneListeners(emptyConfig(), context);
      return resources.mock.calls.some(([type]) => type === 'MeshService');
    };
    const limit = { tcp: { connectionRate: { num: 1, interval: '1s' } } };
    expect([looksAtServices(), looksAtServices(policy('MeshRateLimit', [{ default: { local: limit } }]))]).toEqual([false, true]);
  });

  describe('with two services of one server name', () => {
    const ports = { ports: [{ port: 80 }] };
    const older = make('MeshService', 'a', ports, { ...EAST, namespace: 'b' });
    const younger = { ...make('MeshService', 'a.b', ports, EAST), name: 'dotted', creationTime: new Date(1) };
    const [shared, other] = [serviceSni(older, 80) ?? '', 'sni.msvc.default.east.a.b.80'];
    const endpointsOf = (config: ProxyConfig, sni: string): unknown =>
      objectOf(config.clusters.get(`ingress:${sni}`)?.['edsClusterConfig'])['serviceName'];

    it.each([
      ['older', [older, younger]],
      ['older, whichever comes first', [younger, older]],
    ])('gives it to the %s, opens the other by its own, and says so', (_, rows) => {
      expect(serviceSni(younger, 80)).toBe(shared);
      const config = configOf(INGRESS, rows);
      expect(endpointsOf(config, shared)).toBe('ingress:kri_msvc_default_east_b_a_80');
      expect(endpointsOf(config, other)).toBe('ingress:kri_msvc_default_east__a.b_80');
      expect(config.problems).toEqual([
        {
          ...{ policy: null, field: 'networking.zoneIngress' },
          reason: `does not open kri_msvc_default_east__a.b_80 as ${shared}: the older kri_msvc_default_east_b_a_80 has this server name; it is open as ${other}`,
        },
      ]);
    });

    it('opens the remaining ports when the older one goes or changes its ports', () => {
      const alone = configOf(INGRESS, [younger]);
      expect([endpointsOf(alone, shared), alone.problems]).toEqual(['ingress:kri_msvc_default_east__a.b_80', []]);
      const apart = configOf(INGRESS, [{ ...older, spec: { ports: [{ port: 81 }] } }, younger]);
      expect([endpointsOf(apart, shared), apart.problems]).toEqual(['ingress:kri_msvc_default_east__a.b_80', []]);
    });

    it('does not open one that has no server name of its own', () => {
      const [first, second] = ['one', 'two'].map((name, age) => ({
        ...make('MeshService', name, ports, { ...EAST, labels: { 'kuma.io/display-name': 'same' } }),
        creationTime: new Date(age),
      }));
      if (first === undefined || second === undefined) throw new Error('two services');
      const rules = [{ default: { local: { tcp: { connectionRate: { num: 1, interval: '1s' } } } } }];
      const config = configOf(INGRESS, [second, first, policy('MeshRateLimit', rules)]);
      expect(config.clusters.size).toBe(2);
      expect(serverNames(config)).toHaveLength(1);
      expect(config.problems.map(({ reason }) => reason)).toEqual(
        Array.from({ length: 2 }, () => expect.stringContaining('give one of them another name') as unknown),
      );
    });
  });

  it.each([HASHED, KUMA])('has a chain of both names for a port that a rule names by %s', (value) => {
    const rules = [{ matches: [{ sni: { type: 'Exact', value } }], default: { idleTimeout: '7s' } }];
    const config = configOf(INGRESS, [CART, policy('MeshTimeout', rules)]);
    expect(serverNames(config)).toEqual(['any', [KUMA, HASHED]]);
    expect(JSON.stringify([...config.listeners.values()]).match(/"idleTimeout":"7s"/g)).toHaveLength(1);
  });

  it('lays the conf of a named port over that of all ports', () => {
    const named = { matches: [{ sni: { type: 'Exact', value: KUMA } }], default: { idleTimeout: '7s' } };
    const config = configOf(INGRESS, [CART, policy('MeshTimeout', [named, { default: { idleTimeout: '9s' } }])]);
    const times = JSON.stringify([...config.listeners.values()]).matchAll(/"idleTimeout":"(\d)s"/g);
    expect([...times].map(([, seconds]) => seconds)).toEqual(['9', '7']);
  });

  it('reports rules about clients, which it cannot identify', () => {
    const matches = [{ spiffeID: { type: 'Exact', value: 'spiffe://a/b' } }];
    const conf = { backends: [{ type: 'File', file: { path: '/dev/stdout' } }] };
    const { problems } = configOf(INGRESS, [policy('MeshAccessLog', [{ matches, default: conf }])]);
    expect(problems).toMatchObject([
      { field: 'spec.rules[0].matches', reason: expect.stringContaining('cannot identify clients') as unknown },
    ]);
  });

  it('offers its metrics at its own address', () => {
    const backends = [{ type: 'Prometheus', prometheus: { port: 5670, tls: { mode: 'Disabled' } } }];
    const metrics = make('MeshMetric', 'policy', { targetRef: { kind: 'Mesh' }, default: { backends } });
    const { listeners } = configOf(INGRESS, [metrics], { ...WITHOUT_FEATURES, adminSocket: '/admin' });
    const places = [...listeners.values()].map(({ address }) => objectOf(objectOf(address)['socketAddress']));
    expect(places).toContainEqual({ address: '10.0.0.1', portValue: 5670 });
  });

  it('has no listener at an address that is no IP address', () => {
    const config = configOf({ zoneIngress: { address: 'a.name', port: 10_001 } });
    expect(config.listeners.size).toBe(0);
    expect(config.problems).toMatchObject([{ field: 'networking.zoneIngress.address' }]);
  });
});

describe('an egress', () => {
  const external = (tls: JsonObject | null, endpoints: JsonObject[]): Resource =>
    make('MeshExternalService', 'bank', {
      match: { type: 'HostnameGenerator', port: 443, protocol: 'http' },
      endpoints,
      ...(tls !== null && { tls: { enabled: true, verification: tls } }),
    });
  const BANK = 'kri_extsvc_default___bank_443';
  const clusterOf = ({ clusters }: ProxyConfig): JsonObject =>
    clusters.get(`egress:${BANK}`) ?? clusters.get(`egress:tls:${BANK}`) ?? {};
  const endpoint = (address: string, priority?: number): JsonObject => ({
    ...{ address, port: 443 },
    ...(priority !== undefined && { priority }),
  });
  const secret = { type: 'Secret', secretRef: { kind: 'Secret', name: 'ca' } };

  it('traces requests to external services, and says where it is', () => {
    const conf = { backends: [{ type: 'Zipkin', zipkin: { url: 'http://zipkin:9411/api/v2/spans' } }] };
    const trace = make('MeshTrace', 'p', { targetRef: { kind: 'Mesh' }, default: conf }, EAST);
    const { listeners } = configOf(EGRESS, [external(null, [endpoint('10.1.1.1')]), trace, identity, trustOf('east')]);
    const traced = JSON.stringify(listeners.get('self_zoneegress_dp_out'));
    expect(traced).toContain('"collectorCluster":"system_meshtrace_zipkin"');
    expect(traced).toContain('"tag":"kuma.workload","literal":{"value":"kri_wl_default_east__egress_"}');
  });

  describe('with a policy', () => {
    const bank = external(null, [endpoint('10.1.1.1'), endpoint('10.1.1.2')]);
    const clusterWith = (type: string, conf: JsonObject, kind = 'MeshExternalService', top = 'Mesh'): JsonObject => {
      const targetRef = kind === 'Mesh' ? { kind } : { kind, name: 'bank' };
      const own = top === 'Dataplane' ? { labels: { 'kuma.io/display-name': 'zone-proxy' } } : {};
      const written = make(type, 'p', { targetRef: { kind: top, ...own }, to: [{ targetRef, default: conf }] });
      return clusterOf(configOf(EGRESS, [bank, written]));
    };
    const limits = {
      connectionLimits: { maxConnections: 7 },
      outlierDetection: { detectors: { totalFailures: { consecutive: 3 } } },
    };

    it.each<[type: string, conf: JsonObject, expected: JsonObject]>([
      [
        'MeshCircuitBreaker',
        limits,
        {
          circuitBreakers: { thresholds: [{ maxConnections: 7, trackRemaining: true }] },
          outlierDetection: { consecutive5xx: 3 },
        },
      ],
      ['MeshHealthCheck', { interval: '3s', http: { path: '/health' } }, { healthChecks: [{ interval: '3s' }] }],
      ['MeshTimeout', { connectionTimeout: '7s' }, { connectTimeout: '7s' }],
      ['MeshLoadBalancingStrategy', { loadBalancer: { type: 'LeastRequest' } }, { lbPolicy: 'LEAST_REQUEST' }],
    ])('to an external service, to the mesh or of the egress alone has the effect: %s', (type, conf, expected) => {
      expect(clusterWith(type, conf)).toMatchObject(expected);
      expect(clusterWith(type, conf, 'Mesh')).toMatchObject(expected);
      expect(clusterWith(type, conf, 'MeshExternalService', 'Dataplane')).toMatchObject(expected);
    });

    it('has the idle timeout of HTTP connections', () => {
      expect(JSON.stringify(clusterWith('MeshTimeout', { idleTimeout: '77s' }))).toContain('"idleTimeout":"77s"');
    });

    it('chooses an endpoint by its hash policies', () => {
      const hashPolicies = [{ type: 'Header', header: { name: 'x-user' } }];
      const to = [
        {
          targetRef: { kind: 'MeshExternalService', name: 'bank' },
          default: { loadBalancer: { type: 'RingHash' }, hashPolicies },
        },
      ];
      const strategy = make('MeshLoadBalancingStrategy', 'p', { to });
      const config = configOf(EGRESS, [bank, strategy, identity, trustOf('east')]);
      expect(clusterOf(config)).toMatchObject({ lbPolicy: 'RING_HASH' });
      expect(JSON.stringify([...config.routes.values()])).toContain('"hashPolicy":[{"header":{"headerName":"x-user"}}]');
    });

    it('is not led to another service, and does not retry what the client retries', () => {
      expect(clusterWith('MeshRetry', { http: { numRetries: 3 } })).toEqual(clusterOf(configOf(EGRESS, [bank])));
    });
  });

  it('has no listener without an identity, and says so', () => {
    const config = configOf(EGRESS, [external(null, [endpoint('10.1.1.1')])]);
    expect(config.listeners.size).toBe(0);
    expect(config.problems).toMatchObject([
      { field: 'networking.zoneEgress', reason: expect.stringContaining('identity') as unknown },
    ]);
  });

  it('has a chain for each service with a server name of its own, the older first', () => {
    const [older, other, hidden] = ['one', 'two', 'three'].map((name, age) => ({
      ...make('MeshExternalService', name, external(null, [endpoint('10.1.1.1')]).spec, {
        labels: { 'kuma.io/display-name': 'bank' },
        ...(name === 'two' && { namespace: 'b' }),
      }),
      creationTime: new Date(age),
    })) as [Resource, Resource, Resource];
    const rows = [hidden, other, older, identity, trustOf('east')];
    expect(serverNames(configOf(EGRESS, rows))).toEqual([
      ['sni.extsvc.default.bank.443', serviceSni(older, 443)],
      ['sni.extsvc.default.b.bank.443'],
    ]);
  });

  describe('with a rule for some clients', () => {
    const matches = [{ spiffeID: { type: 'Exact', value: 'spiffe://default.east.mesh.local/workload/cart' } }];
    const withRule = (type: string, conf: JsonObject): ProxyConfig =>
      configOf(EGRESS, [
        ...[external(null, [endpoint('10.1.1.1')]), identity, trustOf('east')],
        policy(type, [{ matches, default: conf }]),
      ]);

    it('logs the requests of these clients', () => {
      const config = withRule('MeshAccessLog', { backends: [{ type: 'File', file: { path: '/var/log/cart' } }] });
      const text = JSON.stringify([...config.listeners.values()]);
      expect([text.includes('/var/log/cart'), text.includes(String(matches[0]?.spiffeID.value))]).toEqual([true, true]);
      expect(config.problems).toEqual([]);
    });

    it.each<[string, JsonObject]>([
      ['MeshTimeout', { http: { requestTimeout: '1s' } }],
      ['MeshRateLimit', { local: { http: { requestRate: { num: 2, interval: '10s' } } } }],
    ])('reports that a %s has no effect', (type, conf) => {
      expect(withRule(type, conf).problems.map(({ field }) => field)).toEqual(['spec.rules[0].matches']);
    });
  });

  it.each<[string, JsonObject]>([
    ['without an authority', {}],
    ['without an authority and names', { mode: 'SkipSAN' }],
    ['with a Secret that does not exist', { caCert: secret }],
  ])('sends nothing to a service %s', (_, tls) => {
    const config = configOf(EGRESS, [external(tls, [endpoint('bank.example')])]);
    expect(objectOf(clusterOf(config)['loadAssignment'])).not.toHaveProperty('endpoints');
    expect(config.problems).toContainEqual({
      policy: null,
      field: 'MeshExternalService bank spec.tls.verification.caCert',
      reason: expect.stringContaining('answered 503') as unknown,
    });
  });

  it('leads to a cluster of another name with TLS, so that Envoy keeps none in plain text', () => {
    const ledTo = (tls: JsonObject | null, protocol: string): unknown[] => {
      const bank = external(tls, [endpoint('bank.example')]);
      const match = { type: 'HostnameGenerator', port: 443, protocol };
      const config = configOf(EGRESS, [{ ...bank, spec: { ...bank.spec, match } }, identity, trustOf('east')]);
      const text = JSON.stringify([...config.listeners.values(), ...config.routes.values()]);
      return [[...config.clusters.keys()], [...text.matchAll(/"cluster":"([^"]*)"/g)].map(([, name]) => name)];
    };
    for (const protocol of ['tcp', 'http']) {
      expect(ledTo(null, protocol)).toEqual([[`egress:${BANK}`], [`egress:${BANK}`]]);
      expect(ledTo({ mode: 'SkipAll' }, protocol)).toEqual([[`egress:tls:${BANK}`], [`egress:tls:${BANK}`]]);
    }
  });

  it('takes an authority from a Secret', () => {
    const data = readFileSync(join(import.meta.dirname, 'authority.pem')).toString('base64');
    const config = configOf(EGRESS, [external({ caCert: secret }, [endpoint('bank.example')]), make('Secret', 'ca', { data })]);
    expect(JSON.stringify(clusterOf(config))).toContain(`"trustedCa":{"inlineBytes":"${data}"}`);
  });

  it('asks each address for its own name', () => {
    const config = configOf(EGRESS, [external({ mode: 'SkipAll' }, [endpoint('a.example'), endpoint('b.example')])]);
    const sockets = objectsOf(clusterOf(config)['transportSocketMatches']);
    expect(sockets.map(({ match }) => match)).toEqual([
      { 'meridian.io/address': 'a.example' },
      { 'meridian.io/address': 'b.example' },
    ]);
    expect(sockets.map(({ transportSocket }) => objectOf(objectOf(transportSocket)['typedConfig'])['sni'])).toEqual([
      'a.example',
      'b.example',
    ]);
  });

  it('has priorities without gaps', () => {
    const config = configOf(EGRESS, [external(null, [endpoint('10.1.1.2', 5), endpoint('10.1.1.1', 2)])]);
    const groups = objectsOf(objectOf(clusterOf(config)['loadAssignment'])['endpoints']);
    expect(groups.map(({ locality, priority = 0 }) => [objectOf(locality)['subZone'], priority])).toEqual([
      ['priority-2', 0],
      ['priority-5', 1],
    ]);
  });
});
