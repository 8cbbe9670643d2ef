import { describe, expect, it } from 'vitest';
import { make } from '../../test/policy/make-resource.ts';
import { identity, trustOf } from '../../test/xds/crossing-mesh.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import { objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import type { JsonObject, Labels, Resource } from '../resource/types.ts';
import { envoyJsonToBinary } from '../wire/json-to-binary.ts';
import { lasting } from './lasting-chains.ts';
import { listenerOf } from './names.ts';
import { type ProxyConfig, emptyConfig } from './proxy-context.ts';
import { proxyConfig } from './proxy-config.ts';
import { WITHOUT_FEATURES } from './proxy-features.ts';

const INBOUND = 'self_inbound_dp_80';

const made = (protocol: string, ...rows: Resource[]): ProxyConfig => labelled({}, protocol, ...rows);
function labelled(labels: Labels, protocol: string, ...rows: Resource[]): ProxyConfig {
  const spec = { networking: { address: '10.0.0.9', inbound: [{ port: 80, protocol }] } };
  const dataplane = make('Dataplane', 'web', spec, { zone: 'east', labels: { 'kuma.io/workload': 'web', ...labels } });
  const index = new MeshIndex('default', [dataplane, ...rows]);
  const [proxy] = index.proxies();
  if (proxy === undefined) throw new Error('the mesh has no Dataplane');
  return proxyConfig(index, proxy, WITHOUT_FEATURES);
}
const policy = (type: string, conf: JsonObject): Resource =>
  make(type, 'p', { targetRef: { kind: 'Mesh' }, rules: [{ default: conf }] });
const fault = { abort: { httpStatus: 503, percentage: 1 } };

describe('the listener of an inbound stays as it is', () => {
  const requestRate = { num: 1, interval: '1s' };
  const log = { backends: [{ type: 'File', file: { path: '/log' } }] };
  it.each<[protocol: string, type: string, conf: JsonObject]>([
    ['http', 'MeshFaultInjection', { http: [fault, fault] }],
    ['http', 'MeshRateLimit', { local: { http: { requestRate }, tcp: { connectionRate: requestRate } } }],
    [
      'http',
      'MeshTimeout',
      { connectionTimeout: '1s', idleTimeout: '2s', http: { requestTimeout: '3s', streamIdleTimeout: '4s' } },
    ],
    ['http', 'MeshTrafficPermission', { allow: [{ spiffeID: { type: 'Exact', value: 'spiffe://a/b' } }] }],
    ['http', 'MeshCircuitBreaker', { connectionLimits: { maxRequests: 1 } }],
    ['tcp', 'MeshRateLimit', { local: { tcp: { connectionRate: requestRate } } }],
    ['tcp', 'MeshTimeout', { idleTimeout: '2s' }],
    ['tcp', 'MeshAccessLog', log],
  ])('with %s and a %s', (protocol, type, conf) => {
    for (const rows of [[], [identity, trustOf('east')]]) {
      const [without, withOne] = [made(protocol, ...rows), made(protocol, ...rows, policy(type, conf))];
      expect(lasting(withOne).listeners.get(INBOUND)).toEqual(lasting(without).listeners.get(INBOUND));
      expect(lasting(withOne)).not.toEqual(lasting(without));
    }
  });
});

describe('the labels of a Dataplane', () => {
  const logOf = (plain: string): Resource =>
    policy('MeshAccessLog', { backends: [{ type: 'File', file: { path: '/log', format: { type: 'Plain', plain } } }] });

  it.each(['http', 'tcp'])('are not in the listener of an inbound of %s', (protocol) => {
    const [one, other] = ['1', '2'].map((version) => labelled({ version }, protocol, logOf('%START_TIME%')));
    expect(one?.listeners).not.toEqual(other?.listeners);
    expect(one && lasting(one).listeners).toEqual(other && lasting(other).listeners);
  });

  it.each(['http', 'tcp'])('are in that of %s for a log that reads them', (protocol) => {
    const log = logOf('%CEL(xds.listener_metadata.filter_metadata["io.kuma.tags"]["version"])%');
    const { metadata } = lasting(labelled({ version: '1' }, protocol, log)).listeners.get(INBOUND) ?? {};
    expect(metadata).toMatchObject({ filterMetadata: { 'io.kuma.tags': { version: '1' } } });
  });

  it('leave metadata in the listener that a MeshProxyPatch has added', () => {
    const config = made('http');
    const filterMetadata = {
      ...objectOf(objectOf(config.listeners.get(INBOUND)?.['metadata'])['filterMetadata']),
      own: { a: 1 },
    };
    const listeners = new Map([[INBOUND, { ...config.listeners.get(INBOUND), metadata: { filterMetadata } }]]);
    const { metadata } = lasting({ ...config, listeners }).listeners.get(INBOUND) ?? {};
    expect(metadata).toEqual({ filterMetadata: { own: { a: 1 } } });
  });
});

describe('a lasting chain', () => {
  const httpFilters = (config: ProxyConfig): [name: string, isOff: boolean][] => {
    const [chain] = objectsOf(lasting(config).listeners.get(INBOUND)?.['filterChains']);
    const manager = objectOf(objectsOf(chain?.['filters']).at(-1)?.['typedConfig']);
    return objectsOf(manager['httpFilters']).map(({ name, disabled }) => [textOf(name), disabled === true]);
  };

  it('has places for faults and limits before the router', () => {
    expect(httpFilters(made('http'))).toEqual([
      ...[0, 1].map((place) => [`${INBOUND} fault ${String(place)}`, false]),
      ['envoy.filters.http.local_ratelimit', true],
      ['envoy.filters.http.router', false],
    ]);
  });

  it('has more places for more faults', () => {
    expect(httpFilters(made('http', policy('MeshFaultInjection', { http: Array(6).fill(fault) })))).toHaveLength(8);
  });

  it.each(['http', 'tcp'])('of %s is a valid message, and so are its filters', (protocol) => {
    const { listeners, filters } = lasting(made(protocol, identity, trustOf('east')));
    for (const listener of listeners.values()) envoyJsonToBinary('envoy.config.listener.v3.Listener', listener);
    for (const filter of filters.values()) envoyJsonToBinary('envoy.config.core.v3.TypedExtensionConfig', filter);
    const own = protocol === 'tcp' ? ['connections', ''] : ['fault 0', 'fault 1', 'connections'];
    const expected = own.map((what) => `${INBOUND} ${what}`.trim());
    expect([...filters.keys()]).toEqual(expected);
    expect([...filters.keys()].map(listenerOf)).toEqual(expected.map(() => INBOUND));
  });

  it('keeps a limit that a MeshProxyPatch has changed or added', () => {
    const own = { name: 'envoy.filters.http.local_ratelimit', typedConfig: { '@type': 'x', statPrefix: 'own' } };
    const config = made('http');
    const [chain] = objectsOf(config.listeners.get(INBOUND)?.['filterChains']);
    const [manager] = objectsOf(chain?.['filters']).slice(-1);
    const router = objectsOf(objectOf(manager?.['typedConfig'])['httpFilters']);
    const typedConfig = { ...objectOf(manager?.['typedConfig']), httpFilters: [own, ...router] };
    const listeners = new Map([[INBOUND, { name: INBOUND, filterChains: [{ filters: [{ ...manager, typedConfig }] }] }]]);
    const names = httpFilters({ ...config, listeners });
    expect(names.filter(([name]) => name === own.name)).toEqual([[own.name, false]]);
  });

  it.each<[name: string, chains: number, isDiscovered: boolean]>([
    ['kri_msvc_default_east__cart_80', 1, true],
    // A proxy finds what belongs to an outbound by its name alone.
    ['kri_msvc_default_east__cart_80', 2, false],
    ['self_transparentproxy_passthrough_outbound_ipv4', 2, true],
  ])('of %s with %i chains has filters of its own: %s', (name, chains, isDiscovered) => {
    const filters = [{ name: 'envoy.filters.network.tcp_proxy', typedConfig: { '@type': 'tcp' } }];
    const filterChains = Array.from({ length: chains }, (_, port) => ({ filterChainMatch: { destinationPort: port }, filters }));
    const served = lasting({ ...emptyConfig(), listeners: new Map([[name, { name, filterChains }]]) });
    expect(served.filters.size).toBe(isDiscovered ? chains : 0);
    const [chain] = objectsOf(served.listeners.get(name)?.['filterChains']);
    expect(objectsOf(chain?.['filters']).map((filter) => textOf(filter['name']))).toEqual([
      isDiscovered ? [...served.filters.keys()][0] : 'envoy.filters.network.tcp_proxy',
    ]);
  });
});
