// What a proxy has to which connections are redirected. test/envoy/passthrough.envoy.test.ts shows what becomes of connections.
import { describe, expect, it } from 'vitest';
import { MeshIndex } from '../../src/policy/mesh-index.ts';
import { label } from '../../src/resource/labels.ts';
import { objectOf, objectsOf } from '../../src/resource/read-json.ts';
import type { JsonObject, Resource } from '../../src/resource/types.ts';
import type { ProxyConfig } from '../../src/xds/proxy-context.ts';
import { proxyConfig } from '../../src/xds/proxy-config.ts';
import { WITHOUT_FEATURES, type ProxyFeatures } from '../../src/xds/proxy-features.ts';
import { make, makeDataplane } from '../policy/make-resource.ts';
import { cartOf, identity, trustOf } from './crossing-mesh.ts';

const PORTS = { redirectPortInbound: 15_006, redirectPortOutbound: 15_001 };
const ENFORCED = { status: 'Ready', enforced: true };
const IN = 'self_transparentproxy_passthrough_inbound_ipv4';
const OUT = 'self_transparentproxy_passthrough_outbound_ipv4';

type Given = {
  readonly rows?: readonly Resource[];
  readonly features?: Partial<ProxyFeatures>;
  readonly networking?: JsonObject;
};

/** The configuration of a proxy of the service cart. */
function configOf(transparentProxying: JsonObject, { rows = [], features = {}, networking = {} }: Given = {}): ProxyConfig {
  const inbound = [{ port: 8080, name: 'http', protocol: 'http' }];
  const proxy = makeDataplane(
    'one',
    { zone: 'east', labels: { app: 'cart', [label.workload]: 'cart' } },
    { inbound, ...networking, transparentProxying },
  );
  const index = new MeshIndex('default', [make('Mesh', 'default', {}), proxy, ...rows]);
  const [found] = index.proxies();
  if (found === undefined) throw new Error('the mesh has no proxy');
  return proxyConfig(index, found, { ...WITHOUT_FEATURES, ...features });
}

function passthroughs({ listeners }: ProxyConfig): string[] {
  return [...listeners.keys()].filter((name) => name.includes('passthrough'));
}

/** The cluster to which a listener passes connections that no other one has. */
function clusterBehind({ listeners }: ProxyConfig, name: string): unknown {
  const [chain] = objectsOf(listeners.get(name)?.['filterChains']);
  return objectOf(objectsOf(chain?.['filters'])[0]?.['typedConfig'])['cluster'];
}

describe('a proxy to which connections are redirected', () => {
  it('listens on the addresses of the machine, or on those that its Dataplane names', () => {
    expect(passthroughs(configOf(PORTS))).toEqual([IN, OUT]);
    expect(passthroughs(configOf(PORTS, { features: { ipv6: true } }))).toHaveLength(4);
    expect(passthroughs(configOf({ ...PORTS, ipFamilyMode: 'IPv4' }, { features: { ipv6: true } }))).toEqual([IN, OUT]);
    expect(passthroughs(configOf({ ...PORTS, ipFamilyMode: 'DualStack' }))).toHaveLength(4);
  });

  it('has the direction alone whose port is given', () => {
    const config = configOf({ redirectPortOutbound: 15_001 });
    expect(passthroughs(config)).toEqual([OUT]);
    expect(config.listeners.get('self_inbound_dp_http')).not.toHaveProperty('bindToPort');
    expect(configOf({ redirectPortInbound: 15_006 }).listeners.get('self_inbound_dp_http')).toMatchObject({ bindToPort: false });
    expect(passthroughs(configOf({ redirectPortInbound: 70_000, redirectPortOutbound: 0 }))).toEqual([]);
  });

  it('has no outbound port that is its inbound port', () => {
    const config = configOf({ redirectPortInbound: 15_001, redirectPortOutbound: 15_001 });
    expect(passthroughs(config)).toEqual([IN]);
    const field = 'networking.transparentProxying.redirectPortOutbound';
    expect(config.problems).toEqual([{ policy: null, field, reason: 'has no listener: it is the port of redirectPortInbound' }]);
  });

  it('reports services of direct access, which change nothing', () => {
    const { problems } = configOf({ ...PORTS, directAccessServices: ['*'] });
    expect(problems.map(({ field }) => field)).toEqual(['networking.transparentProxying.directAccessServices']);
  });

  it('listens for an outbound at a loopback address, and takes one at another address from the redirected connections', () => {
    const cart = cartOf('east');
    const bindsAt = (address: string, transparent: JsonObject): unknown => {
      const outbound = [{ address, port: 80, backendRef: { kind: 'MeshService', name: 'cart', port: 80 } }];
      const { listeners } = configOf(transparent, { rows: [cart], networking: { outbound } });
      return listeners.get('kri_msvc_default_east__cart_http')?.['bindToPort'];
    };
    expect(bindsAt('241.0.0.1', PORTS)).toBe(false);
    expect(bindsAt('127.0.0.1', PORTS)).toBeUndefined();
    expect(bindsAt('241.0.0.1', { redirectPortInbound: 15_006 })).toBeUndefined();
  });
});

describe('connections to a port that is no inbound', () => {
  const NOWHERE = 'self_transparentproxy_no_destination_inbound';
  const permissive = make('MeshTLS', 'permissive', { rules: [{ default: { mode: 'Permissive' } }] });
  it.each<[what: string, rows: Resource[], networking: JsonObject, expected: string]>([
    ['reach the application in plain text', [], {}, IN],
    ['reach nothing while an inbound takes TLS alone', [cartOf('east', {}, ENFORCED), identity, trustOf('east')], {}, NOWHERE],
    ['reach the application while clients may come in plain text', [cartOf('east'), identity, trustOf('east')], {}, IN],
    ['reach the application while all inbounds are permissive', [permissive, identity, trustOf('east')], {}, IN],
    ['reach nothing on a proxy with an identity and no inbound', [identity, trustOf('east')], { inbound: [] }, NOWHERE],
  ])('%s', (_, rows, networking, expected) => {
    const config = configOf(PORTS, { rows, networking });
    expect(clusterBehind(config, IN)).toBe(expected);
    expect(config.clusters.has(expected)).toBe(true);
  });
});

describe('connections to the port of a listener for redirected connections', () => {
  const range = (port?: number): JsonObject => ({
    passthroughMode: 'Matched',
    appendMatch: [{ type: 'CIDR', value: '192.0.2.0/24', protocol: 'tcp', ...(port !== undefined && { port }) }],
  });
  const IN_NOWHERE = 'self_transparentproxy_no_destination_inbound';
  const OUT_NOWHERE = 'self_transparentproxy_no_destination_outbound';

  /** The cluster behind the last chain for a port. */
  function clusterOfPort({ listeners }: ProxyConfig, name: string, port: number): unknown {
    const chains = objectsOf(listeners.get(name)?.['filterChains']);
    const chain = chains.findLast(({ filterChainMatch }) => objectOf(filterChainMatch)['destinationPort'] === port);
    return objectOf(objectsOf(chain?.['filters'])[0]?.['typedConfig'])['cluster'];
  }

  it.each<[what: string, policy: JsonObject | null, outbound: string]>([
    ['without a policy', null, OUT_NOWHERE],
    ['where ranges may leave', range(), OUT_NOWHERE],
    ['but for those that a policy names', range(15_001), OUT],
  ])('are closed %s', (_, conf, outbound) => {
    const rows = conf === null ? [] : [make('MeshPassthrough', 'one', { default: conf })];
    const config = configOf(PORTS, { rows });
    expect(clusterOfPort(config, IN, 15_006)).toBe(IN_NOWHERE);
    expect(clusterOfPort(config, OUT, 15_001)).toBe(outbound);
    expect(config.clusters.has(IN_NOWHERE)).toBe(true);
  });
});

describe('connections that leave', () => {
  const passthrough = (conf: JsonObject): Given => ({ rows: [make('MeshPassthrough', 'one', { default: conf })] });

  it.each<[mode: JsonObject, expected: string]>([
    [{ passthroughMode: 'All' }, OUT],
    [{ passthroughMode: 'None' }, 'self_transparentproxy_no_destination_outbound'],
    [{ passthroughMode: 'Matched' }, 'self_transparentproxy_no_destination_outbound'],
    [{}, 'self_transparentproxy_no_destination_outbound'],
  ])('go with %j to %s', (conf, expected) => {
    const config = configOf(PORTS, passthrough(conf));
    expect(clusterBehind(config, OUT)).toBe(expected);
    expect(config.clusters.has(expected)).toBe(true);
    expect(config.problems).toEqual([]);
  });

  it('are read but for the ports of protocol mysql', () => {
    const appendMatch = [3306, 3307].map((port) => ({ type: 'IP', value: '192.0.2.1', port, protocol: 'mysql' }));
    const config = configOf(PORTS, passthrough({ passthroughMode: 'Matched', appendMatch }));
    const [destination, ...inspectors] = objectsOf(config.listeners.get(OUT)?.['listenerFilters']);
    expect(destination?.['name']).toBe('envoy.filters.listener.original_dst');
    const ranges = [3306, 3307].map((start) => ({ destinationPortRange: { start, end: start + 1 } }));
    expect(inspectors.map(({ filterDisabled }) => filterDisabled)).toEqual(Array(2).fill({ orMatch: { rules: ranges } }));
  });
});
