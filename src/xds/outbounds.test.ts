// What outbounds and destinations add to a configuration, beside what the recorded proxies show.
import { describe, expect, it } from 'vitest';
import { make } from '../../test/policy/make-resource.ts';
import { buildRules } from '../policy/build-rules.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import { objectOf, objectsOf } from '../resource/read-json.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import { BackendResolver } from './backends.ts';
import { Client } from './client.ts';
import { type ProxyConfig, type ProxyContext, emptyConfig } from './proxy-context.ts';
import { lasting } from './lasting-chains.ts';
import { listedOutbounds } from './listed-outbounds.ts';
import { NO_NAMES } from './name-table.ts';
import { addDestination, addOutbound } from './outbounds.ts';
import { proxyConfig } from './proxy-config.ts';
import { WITHOUT_FEATURES } from './proxy-features.ts';

const CART = 'kri_msvc_default_east__cart_80';
const CART_REF = { kind: 'MeshService', name: 'cart', port: 80 };
const NAMED = { kind: 'MeshService', labels: { 'kuma.io/display-name': 'cart' } };

function web(outbound: JsonObject[], more: { zone?: string; namespace?: string } = {}, networking: JsonObject = {}): Resource {
  const inbound = [{ port: 8080, name: 'http', protocol: 'http' }];
  const spec = { networking: { address: '10.0.0.9', inbound, outbound, ...networking } };
  return make('Dataplane', 'web', spec, { zone: 'east', ...more });
}

function contextOf(dataplane: Resource, ...rows: Resource[]): ProxyContext {
  const index = new MeshIndex('default', [dataplane, ...rows]);
  const [proxy] = index.proxies();
  if (proxy === undefined) throw new Error('the mesh has no Dataplane');
  return {
    ...{ index, rules: buildRules(index, proxy), resolver: new BackendResolver(index, 'east') },
    ...{ client: new Client(proxy), features: WITHOUT_FEATURES, tls: null, names: NO_NAMES },
  };
}

const serviceOf = (protocol: string): Resource =>
  make('MeshService', 'cart', { ports: [{ port: 80, appProtocol: protocol }] }, { zone: 'east' });

/** The outbound of a proxy that calls `cart`, and its destinations. */
function called(protocol: string, ...rows: Resource[]): ProxyConfig {
  const context = contextOf(web([{ port: 10_000, backendRef: CART_REF }]), serviceOf(protocol), ...rows);
  const config = emptyConfig();
  for (const placed of listedOutbounds(context.index, context.rules.proxy, context.resolver).byKri.values())
    for (const destination of addOutbound(config, context, placed)) addDestination(config, context, destination);
  return config;
}

/** The last filter of the listener. */
function filterOf({ listeners }: ProxyConfig): JsonObject {
  const [chain] = objectsOf(listeners.get(CART)?.['filterChains']);
  return objectOf(objectsOf(chain?.['filters']).at(-1)?.['typedConfig']);
}

describe('an outbound with two places', () => {
  const placed = (protocol: string, ...rows: Resource[]): ProxyConfig => {
    const transparentProxying = { redirectPortInbound: 15_006, redirectPortOutbound: 15_001 };
    const dataplane = web([{ port: 10_000, backendRef: CART_REF }], {}, { transparentProxying });
    const cart = { ...serviceOf(protocol), status: { vips: [{ ip: '241.0.0.1' }] } };
    const context = contextOf(dataplane, cart, ...rows);
    const config = emptyConfig();
    for (const one of listedOutbounds(context.index, context.rules.proxy, context.resolver).byKri.values())
      addOutbound(config, context, one);
    return config;
  };

  it('has a listener at each, one of which has redirected connections, and one route configuration', () => {
    const { listeners, routes } = placed('http');
    expect([...listeners.values()].map(({ name, address, bindToPort }) => [name, address, bindToPort])).toEqual([
      [CART, { socketAddress: { address: '127.0.0.1', portValue: 10_000 } }, undefined],
      [CART, { socketAddress: { address: '241.0.0.1', portValue: 80 } }, false],
    ]);
    expect([...routes.keys()]).toEqual([CART]);
  });

  it('of TCP has one filter, which both listeners discover by the name of the outbound', () => {
    const { listeners, filters } = lasting(placed('tcp'));
    const discovered = [...listeners.values()].map(({ filterChains }) => objectsOf(objectsOf(filterChains)[0]?.['filters'])[0]);
    expect(discovered).toMatchObject([
      { name: CART, configDiscovery: {} },
      { name: CART, configDiscovery: {} },
    ]);
    expect([...filters.keys()]).toEqual([CART]);
  });

  it('is patched at both by its name', () => {
    const patch = { op: 'replace', path: '/statPrefix', value: 'patched' };
    const listener = { operation: 'Patch', match: { name: CART }, jsonPatches: [patch] };
    const row = make('MeshProxyPatch', 'p', { default: { appendModifications: [{ listener }] } }, { zone: 'east' });
    expect([...placed('http', row).listeners.values()].map(({ statPrefix }) => statPrefix)).toEqual(['patched', 'patched']);
  });
});

describe('an outbound of HTTP', () => {
  it('has routes and a connection manager', () => {
    const config = called('http');
    expect([...config.listeners.keys(), ...config.routes.keys(), ...config.clusters.keys()]).toEqual([CART, CART, CART]);
    expect(filterOf(config)['@type']).toContain('HttpConnectionManager');
    expect(config.listeners.get(CART)).toMatchObject({
      ...{ name: CART, statPrefix: CART, trafficDirection: 'OUTBOUND' },
      address: { socketAddress: { address: '127.0.0.1', portValue: 10_000 } },
    });
  });

  it('logs all requests alike, and those of a route with a log of its own there', () => {
    const log = (path: string, kind: string): Resource =>
      make('MeshAccessLog', path.slice(1), {
        to: [
          {
            targetRef: { kind, ...(kind !== 'Mesh' && { name: 'r' }) },
            default: { backends: [{ type: 'File', file: { path } }] },
          },
        ],
      });
    const matches = [{ path: { type: 'Exact', value: '/a' } }];
    const route = make('MeshHTTPRoute', 'r', {
      to: [{ targetRef: NAMED, rules: [{ matches, default: { backendRefs: [CART_REF] } }] }],
    });
    const logsOf = (...rows: Resource[]) => {
      const config = called('http', route, ...rows);
      const [host] = objectsOf(config.routes.get(CART)?.['virtualHosts']);
      const loggers = objectsOf(filterOf(config)['accessLog']);
      return [
        loggers.map(({ filter }) => filter !== undefined),
        objectsOf(host?.['routes']).map(({ metadata }) => metadata !== undefined),
      ];
    };
    expect(logsOf()).toEqual([[], [false, false]]);
    expect(logsOf(log('/all', 'Mesh'))).toEqual([[false], [false, false]]);
    expect(logsOf(log('/all', 'Mesh'), log('/route', 'MeshHTTPRoute'))).toEqual([
      [true, true],
      [true, false],
    ]);
  });

  it('keeps what a route says beside its log', () => {
    const backends = [{ type: 'File', file: { path: '/route' } }];
    const log = make('MeshAccessLog', 'own', {
      to: [{ targetRef: { kind: 'MeshHTTPRoute', name: 'r' }, default: { backends } }],
    });
    const matches = [{ path: { type: 'Exact', value: '/a' } }];
    const route = make('MeshHTTPRoute', 'r', { to: [{ targetRef: NAMED, rules: [{ matches, default: {} }] }] });
    const [host] = objectsOf(called('http', route, log).routes.get(CART)?.['virtualHosts']);
    expect(objectsOf(host?.['routes'])[0]).toMatchObject({ match: { path: '/a' }, route: { cluster: CART } });
  });

  it('is one of TCP with a MeshTCPRoute, and stays one of HTTP beside a MeshHTTPRoute', () => {
    const tcp = make('MeshTCPRoute', 't', { to: [{ targetRef: NAMED, rules: [{ default: { backendRefs: [CART_REF] } }] }] });
    const matches = [{ path: { type: 'PathPrefix', value: '/a' } }];
    const http = make('MeshHTTPRoute', 'h', { to: [{ targetRef: NAMED, rules: [{ matches, default: {} }] }] });
    expect([...called('http', tcp).routes.keys()]).toEqual([]);
    expect([...called('http', tcp, http).routes.keys()]).toEqual([CART]);
  });

  it('adds no resource of a MeshProxyPatch: the proxy has it once', () => {
    const value = 'name: added\nconnectTimeout: 1s\n';
    const added = make('MeshProxyPatch', 'p', { default: { appendModifications: [{ cluster: { operation: 'Add', value } }] } });
    expect([...called('http', added).clusters.keys()]).toEqual([CART]);
  });
});

describe('an outbound of TCP', () => {
  it('leads to its cluster, with an idle timeout of an hour and no log', () => {
    expect(filterOf(called('tcp'))).toEqual({
      '@type': 'type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy',
      ...{ statPrefix: CART, cluster: CART, idleTimeout: '3600s' },
    });
  });

  it('has the attempts, the idle timeout and the log of its policies', () => {
    const to = (type: string, conf: JsonObject): Resource =>
      make(type, 'p', { to: [{ targetRef: { kind: 'Mesh' }, default: conf }] });
    const config = called(
      'tcp',
      to('MeshRetry', { tcp: { maxConnectAttempt: 3 } }),
      to('MeshTimeout', { idleTimeout: '7s' }),
      to('MeshAccessLog', { backends: [{ type: 'File', file: { path: '/log' } }] }),
    );
    expect(filterOf(config)).toMatchObject({ maxConnectAttempts: 3, idleTimeout: '7s', accessLog: [{}] });
  });

  it('shares its connections among the backends of a route', () => {
    const other = make('MeshService', 'other', { ports: [{ port: 80 }] }, { zone: 'east' });
    const backendRefs = [
      { ...CART_REF, weight: 1 },
      { ...CART_REF, name: 'other', weight: 3 },
    ];
    const route = make('MeshTCPRoute', 'r', { to: [{ targetRef: NAMED, rules: [{ default: { backendRefs } }] }] });
    const config = called('tcp', other, route);
    expect(filterOf(config)).not.toHaveProperty('cluster');
    expect(JSON.stringify(filterOf(config)['weightedClusters'])).toContain('"weight":3');
    expect([...config.clusters.keys()]).toEqual([CART, 'kri_msvc_default_east__other_80']);
  });
});

describe('a MeshTCPRoute without a usable backend', () => {
  const other = make('MeshService', 'other', { ports: [{ port: 80 }] }, { zone: 'east' });
  const toOther = { kind: 'MeshService', labels: { 'kuma.io/display-name': 'other' } };
  const none = { ...CART_REF, name: 'none' };
  // Another route leads to the service, so that its cluster exists.
  const back = make('MeshTCPRoute', 'back', { to: [{ targetRef: toOther, rules: [{ default: { backendRefs: [CART_REF] } }] }] });
  const outbounds = [
    { port: 10_000, backendRef: CART_REF },
    { port: 10_001, backendRef: { ...CART_REF, name: 'other' } },
  ];

  it.each<[what: string, backendRefs: JsonObject[], problems: string[]]>([
    ['missing', [none], ['spec.to[0].rules[0].default.backendRefs[0]']],
    ['missing or without weight', [none, { ...CART_REF, weight: 0 }], ['spec.to[0].rules[0].default.backendRefs[0]']],
    ['without weight', [{ ...CART_REF, name: 'other', weight: 0 }], []],
  ])('closes connections, and does not lead to the original service: %s', (_, backendRefs, problems) => {
    const route = make('MeshTCPRoute', 'r', { to: [{ targetRef: NAMED, rules: [{ default: { backendRefs } }] }] });
    const index = new MeshIndex('default', [web(outbounds), serviceOf('tcp'), other, route, back]);
    const [proxy] = index.proxies();
    if (proxy === undefined) throw new Error('the mesh has no Dataplane');
    const config = proxyConfig(index, proxy, WITHOUT_FEATURES);
    expect(config.clusters.has(CART)).toBe(true);
    const { cluster } = filterOf(config);
    expect(cluster).toBe('self_no_cluster');
    expect(config.clusters.has(String(cluster))).toBe(false);
    const reason = 'MeshService none does not exist: connections are closed';
    expect(config.problems).toEqual(
      problems.map((field) => ({ policy: expect.stringContaining('_r_') as unknown, field, reason })),
    );
  });
});

it('a cluster has the common settings of all its policies', () => {
  const to = (type: string, conf: JsonObject): Resource =>
    make(type, 'p', { to: [{ targetRef: { kind: 'Mesh' }, default: conf }] });
  const affinityTags = [{ key: 'node', weight: 9 }];
  const config = called(
    'http',
    to('MeshCircuitBreaker', {
      outlierDetection: { healthyPanicThreshold: 70, detectors: { totalFailures: { consecutive: 3 } } },
    }),
    to('MeshLoadBalancingStrategy', { localityAwareness: { localZone: { affinityTags } } }),
  );
  expect(config.clusters.get(CART)?.['commonLbConfig']).toEqual({
    healthyPanicThreshold: { value: 70 },
    localityWeightedLbConfig: {},
  });
});
