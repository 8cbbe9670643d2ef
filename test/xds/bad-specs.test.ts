// Specs that no check has seen, as a peer may send them: generation never throws, and what it leaves out is named.
import { describe, expect, it } from 'vitest';
import { ResourceEncoder } from '../../src/ads/encode-resources.ts';
import { MeshIndex } from '../../src/policy/mesh-index.ts';
import type { ZodObject } from 'zod';
import { policyDefinitions } from '../../src/policies/registry.ts';
import { specOf } from '../../src/validation/arbitrary-spec.fixture.ts';
import { objectOf, objectsOf } from '../../src/resource/read-json.ts';
import { resourceTypes } from '../../src/resource/type-registry.ts';
import type { JsonObject, Resource } from '../../src/resource/types.ts';
import type { ProxyConfig } from '../../src/xds/proxy-context.ts';
import { proxyConfig } from '../../src/xds/proxy-config.ts';
import { make, makeDataplane } from '../policy/make-resource.ts';
import { fc } from '../support/property.ts';
import { FEATURES, shopRows, transparentShopRows } from './shop-mesh.ts';

const types = resourceTypes.flatMap(({ name, policy }) => (policy === null ? [] : [name]));

function configWith(type: string, ...specs: readonly JsonObject[]): ProxyConfig {
  return configOf(shopRows, type, ...specs);
}

function configOf(rows: readonly Resource[], type: string, ...specs: readonly JsonObject[]): ProxyConfig {
  const index = new MeshIndex('default', [...rows, ...specs.map((spec, at) => make(type, `bad-${String(at)}`, spec))]);
  const [proxy] = index.proxies();
  if (proxy === undefined) throw new Error('the mesh has no proxy');
  return proxyConfig(index, proxy, FEATURES);
}

describe('the configuration of a proxy', () => {
  it.each(types)('is valid for Envoy, with any stored %s', (type) => {
    const encoder = new ResourceEncoder();
    const spec = fc.oneof(specOf(type, 0), specOf(type, 5), specOf(type, 30));
    fc.assert(
      fc.property(spec, spec, fc.constantFrom('Mesh', 'Dataplane'), (one, other, kind) => {
        const rows = type === 'MeshPassthrough' || type === 'MeshAccessLog' ? transparentShopRows : shopRows;
        const config = configOf(rows, type, { ...one, targetRef: { kind } }, { ...other, targetRef: { kind: 'Mesh' } });
        expect(encoder.part({ ...config, problems: [] }).problems).toEqual([]);
        for (const { field, reason } of config.problems) {
          expect(field).toMatch(/^(spec|networking)/);
          expect(reason).not.toBe('');
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe('a policy with a section that its type does not have', () => {
  const sections = ['to', 'rules', 'from'] as const;
  const strange = types.flatMap((type) => {
    const { shape } = policyDefinitions[type as keyof typeof policyDefinitions].schema as ZodObject;
    return sections.filter((section) => !(section in shape)).map((section): [string, string] => [type, section]);
  });

  it.each(strange)('%s with %s: the configuration is that without it', (type, section) => {
    const item = {
      targetRef: { kind: 'Mesh' },
      default: { http: { numRetries: 3, requestTimeout: '1s' }, tcp: {}, mode: 'Strict' },
    };
    const { problems: _problems, ...config } = configWith(type, { [section]: [item] });
    const { problems: _none, ...without } = configOf(shopRows, type);
    expect(config).toEqual(without);
  });
});

describe('a Dataplane with a name as its address', () => {
  it('has no inbounds and is no endpoint, and the other endpoints hold', () => {
    const inbound = [{ name: 'http', port: 8080, protocol: 'http' }];
    const other = makeDataplane('named', { zone: 'east', labels: { app: 'shop' } }, { address: 'named.internal', inbound });
    const index = new MeshIndex('default', [...shopRows, other]);
    const [first, named] = [...index.proxies()].map((proxy) => proxyConfig(index, proxy, FEATURES));
    const endpoints = JSON.stringify(first?.assignments.get(HTTP));
    expect([endpoints.includes('10.0.0.1'), endpoints.includes('named.internal')]).toEqual([true, false]);
    expect([...(named?.listeners.keys() ?? [])]).toEqual([]);
    expect(named?.problems).toMatchObject([{ policy: null, field: 'networking.address' }]);
  });
});

describe('two outbounds to one port of a service', () => {
  it('are one listener, and the other one is named', () => {
    const to = (port: number): JsonObject => ({ port, backendRef: { kind: 'MeshService', name: 'http', port: 80 } });
    const twice = makeDataplane('twice', { zone: 'east' }, { outbound: [to(1001), to(1002)] });
    const index = new MeshIndex('default', [...shopRows, twice]);
    const proxy = index.proxy('twice.east');
    if (proxy === undefined) throw new Error('the mesh has no such proxy');
    const { listeners, problems } = proxyConfig(index, proxy, FEATURES);
    expect(JSON.stringify(listeners.get(HTTP))).toContain('"portValue":1002');
    expect(problems).toEqual([
      {
        policy: null,
        field: 'networking.outbound[1].backendRef',
        reason: 'means the same port as outbound[0], which has no listener',
      },
    ]);
  });
});

describe('a Dataplane with an inbound port that is too high', () => {
  it('has no such inbound and is no endpoint, and the other endpoints hold', () => {
    const inbound = [{ name: 'http', port: 70_000, protocol: 'http' }];
    const other = makeDataplane('high', { zone: 'east', labels: { app: 'shop' } }, { address: '10.0.0.77', inbound });
    const index = new MeshIndex('default', [...shopRows, other]);
    const configs = [...index.proxies()].map((proxy) => proxyConfig(index, proxy, FEATURES));
    const endpoints = JSON.stringify(configs[0]?.assignments.get(HTTP));
    expect([endpoints.includes('10.0.0.1'), endpoints.includes('70000')]).toEqual([true, false]);
    expect([...(configs.at(-1)?.listeners.keys() ?? [])]).toEqual([]);
    expect(configs.at(-1)?.problems).toMatchObject([{ policy: null, field: 'networking.inbound.port' }]);
  });
});

describe('an empty prefix of a header', () => {
  it('matches every value', () => {
    const matches = [{ headers: [{ type: 'Prefix', name: 'x-a', value: '' }] }];
    const config = configWith('MeshHTTPRoute', { to: [{ targetRef: TO_HTTP, rules: [{ matches, default: {} }] }] });
    expect(config.problems).toEqual([]);
    expect(JSON.stringify(config.routes.get(HTTP))).toContain('"headers":[{"name":"x-a","presentMatch":true}]');
  });
});

const HTTP = 'kri_msvc_default_east__http_main';
const TO_HTTP = { kind: 'MeshService', labels: { 'kuma.io/display-name': 'http' } };

describe('a part of a policy that cannot become configuration', () => {
  it('is left out and named, and the rest holds', () => {
    const config = configWith('MeshTimeout', {
      to: [{ targetRef: { kind: 'Mesh' }, default: { connectionTimeout: 'soon', http: { requestTimeout: '7s' } } }],
    });
    expect(config.problems).toEqual([
      {
        policy: 'kri_mt_default___bad-0_',
        field: 'spec.to[0].default.connectionTimeout',
        reason: expect.stringContaining('must be a duration') as string,
      },
    ]);
    expect(config.clusters.get(HTTP)).toMatchObject({ connectTimeout: '5s' });
    expect(JSON.stringify(config.routes.get(HTTP))).toContain('"timeout":"7s"');
  });

  it('is left out with all fields beside it, and the rest of the policy holds', () => {
    const config = configWith('MeshCircuitBreaker', {
      to: [
        {
          targetRef: { kind: 'Mesh' },
          default: {
            connectionLimits: { maxConnections: 7 },
            outlierDetection: {
              interval: '9s',
              detectors: { totalFailures: { consecutive: 0 }, gatewayFailures: { consecutive: 5 } },
            },
          },
        },
      ],
    });
    expect(config.problems.map(({ field }) => field)).toEqual([
      'spec.to[0].default.outlierDetection.detectors.totalFailures.consecutive',
    ]);
    expect(config.clusters.get(HTTP)).toMatchObject({ circuitBreakers: { thresholds: [{ maxConnections: 7 }] } });
    // Without its detectors nothing is detected.
    expect(config.clusters.get(HTTP)).not.toHaveProperty('outlierDetection');
  });

  it('takes its rule of a route with it, and the other rules hold', () => {
    const rule = (path: JsonObject): JsonObject => ({ matches: [{ path }], default: {} });
    const config = configWith('MeshHTTPRoute', {
      to: [
        {
          targetRef: TO_HTTP,
          rules: [rule({ type: 'Exact', value: '/good' }), rule({ type: 'RegularExpression', value: 'a(' })],
        },
      ],
    });
    expect(config.problems).toEqual([
      {
        policy: 'kri_mhttpr_default___bad-0_',
        field: 'spec.to[0].rules[1].matches[0].path.value',
        reason: expect.stringContaining('RE2') as string,
      },
    ]);
    const routes = JSON.stringify(config.routes.get(HTTP));
    expect([routes.includes('/good'), routes.includes('a(')]).toEqual([true, false]);
  });

  it('that two good policies make together is named on the stronger one', () => {
    const ring = (conf: JsonObject): JsonObject => ({
      to: [{ targetRef: { kind: 'Mesh' }, default: { loadBalancer: { type: 'RingHash', ringHash: conf } } }],
    });
    const config = configWith('MeshLoadBalancingStrategy', ring({ minRingSize: 2000 }), ring({ maxRingSize: 1500 }));
    expect(config.problems.map(({ field }) => field)).toEqual(['spec.to[0].default.loadBalancer.ringHash.minRingSize']);
    expect(config.clusters.get(HTTP)).toMatchObject({ lbPolicy: 'RING_HASH' });
  });

  it('is a permission: in plain text clients cannot be identified', () => {
    const allow = [{ spiffeID: { type: 'Exact', value: 'spiffe://a/b' } }];
    const config = configWith('MeshTrafficPermission', { rules: [{ default: { allow } }] });
    expect(config.problems).toEqual([
      {
        policy: 'kri_mtp_default___bad-0_',
        field: 'spec.rules',
        reason: 'is not enforced: the proxy has no identity, and without TLS clients cannot be identified',
      },
    ]);
    expect(JSON.stringify([...config.listeners.values()])).not.toContain('rbac');
  });

  it('is a MeshTLS of mode Strict, and a MeshPassthrough without transparent proxying', () => {
    const strict = configWith('MeshTLS', { rules: [{ default: { mode: 'Strict' } }] });
    expect(strict.problems.map(({ field }) => field)).toEqual(['spec.rules[0].default.mode']);
    expect(configWith('MeshTLS', { rules: [{ default: { mode: 'Permissive' } }] }).problems).toEqual([]);
    const passthrough = configWith('MeshPassthrough', { default: { passthroughMode: 'None' } });
    expect(passthrough.problems.map(({ field }) => field)).toEqual(['spec.default']);
  });

  it('is a match of a MeshPassthrough that no PUT takes', () => {
    const appendMatch = [
      { type: 'IP', value: 'a.example' },
      { type: 'CIDR', value: '192.0.2.0/24', port: 9000 },
    ];
    const config = configOf(transparentShopRows, 'MeshPassthrough', { default: { passthroughMode: 'Matched', appendMatch } });
    expect(config.problems.map(({ field }) => field)).toEqual(['spec.default.appendMatch[0].value']);
    const chains = objectsOf(config.listeners.get('self_transparentproxy_passthrough_outbound_ipv4')?.['filterChains']);
    expect(chains.map((chain) => objectOf(chain['filterChainMatch'])['destinationPort'])).toEqual([9000, 15_001]);
  });

  it('is a backend that does not exist: its share is answered 500', () => {
    const config = configWith('MeshHTTPRoute', {
      to: [
        {
          targetRef: TO_HTTP,
          rules: [
            {
              matches: [{ path: { type: 'PathPrefix', value: '/' } }],
              default: {
                backendRefs: [
                  { kind: 'MeshService', name: 'none', port: 80 },
                  { ...TO_HTTP, port: 80 },
                ],
              },
            },
          ],
        },
      ],
    });
    expect(config.problems).toEqual([
      {
        policy: 'kri_mhttpr_default___bad-0_',
        field: 'spec.to[0].rules[0].default.backendRefs[0]',
        reason: 'MeshService none does not exist: its share of the requests is answered 500',
      },
    ]);
  });
});
