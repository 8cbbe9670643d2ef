// What a client gets for services of other zones and for external services.
import { describe, expect, it } from 'vitest';
import { MeshIndex } from '../../src/policy/mesh-index.ts';
import { withDemandedTls } from '../../src/policy/demanded-tls.ts';
import { objectOf, objectsOf } from '../../src/resource/read-json.ts';
import type { JsonObject, Resource } from '../../src/resource/types.ts';
import type { ProxyConfig } from '../../src/xds/proxy-context.ts';
import { proxyConfig } from '../../src/xds/proxy-config.ts';
import { WITHOUT_FEATURES } from '../../src/xds/proxy-features.ts';
import { make } from '../policy/make-resource.ts';
import { cartOf, crossingRows, egress, identity, payments, trustOf, waitingCart, zoneAddress } from './crossing-mesh.ts';

const WEST = 'kri_msvc_default_west__cart_http';
const EVERYWHERE = 'kri_mzsvc_default___everywhere_http';
const PAYMENTS = 'kri_extsvc_default___payments_443';

function configOf({ puts = [], without = [] }: { puts?: readonly Resource[]; without?: readonly Resource[] } = {}): ProxyConfig {
  const index = new MeshIndex('default', [...crossingRows, ...puts]);
  for (const row of without) index.remove(row);
  const caller = index.proxy('caller.east');
  if (caller === undefined) throw new Error('no Dataplane caller');
  return proxyConfig(index, caller, WITHOUT_FEATURES);
}

/** `zone address priority` of each endpoint. */
function endpoints({ assignments }: ProxyConfig, name: string): string[] {
  return objectsOf(assignments.get(name)?.['endpoints']).flatMap(({ locality, lbEndpoints, priority = 0 }) =>
    objectsOf(lbEndpoints).map(({ endpoint }) => {
      const { address } = objectOf(objectOf(objectOf(endpoint)['address'])['socketAddress']);
      return [objectOf(locality)['zone'] ?? '-', address, priority].join(' ');
    }),
  );
}

function tlsOf(socket: unknown): { sni: unknown; ids: unknown[] } {
  const { sni = null, commonTlsContext } = objectOf(objectOf(socket)['typedConfig']);
  const { defaultValidationContext } = objectOf(objectOf(commonTlsContext)['combinedValidationContext']);
  const sans = objectsOf(objectOf(defaultValidationContext)['matchTypedSubjectAltNames']);
  return { sni, ids: sans.map(({ matcher }) => objectOf(matcher)['exact']) };
}

function cluster({ clusters }: ProxyConfig, name: string): JsonObject {
  return objectOf(clusters.get(name));
}

describe('a service of another zone', () => {
  it('is behind the ingress of its zone, with the SNI that the zone has published and the identities of its servers', () => {
    const config = configOf();
    expect(endpoints(config, WEST)).toEqual(['west 10.1.0.4 1']);
    expect(tlsOf(cluster(config, WEST)['transportSocket'])).toEqual({
      sni: 'west.cart',
      ids: ['spiffe://default.west.mesh.local/workload/cart'],
    });
    expect(config.problems).toEqual([]);
  });

  it('is behind all ingresses of its zone', () => {
    const puts = [
      zoneAddress('b', 'west', '10.1.0.8'),
      zoneAddress('a', 'west', '10.1.0.9'),
      zoneAddress('c', 'north', '10.1.0.7'),
      zoneAddress('the-same', 'west', '10.1.0.9'),
    ];
    expect(endpoints(configOf({ puts }), WEST)).toEqual(['west 10.1.0.4 1', 'west 10.1.0.9 1', 'west 10.1.0.8 1']);
  });

  it.each<[why: string, change: Parameters<typeof configOf>[0]]>([
    ['its zone has no ingress', { puts: [cartOf('west', { zoneIngress: null })] }],
    ['no server of it is available', { puts: [cartOf('west', { state: 'Unavailable' })] }],
    ['no server of it has an identity', { puts: [cartOf('west', { identities: [] })] }],
    ['this zone does not trust its authority', { without: [trustOf('west')] }],
    ['the client has no identity', { without: crossingRows.filter(({ type }) => type === 'MeshIdentity') }],
  ])('has no endpoints when %s', (_, change) => {
    const config = configOf(change);
    expect(endpoints(config, WEST)).toEqual([]);
    expect(endpoints(config, EVERYWHERE).filter((text) => text.startsWith('west'))).toEqual([]);
    expect(config.clusters.has(WEST)).toBe(true);
  });

  it('keeps its cluster when the ingress goes that comes back', () => {
    const kumaForm = [cartOf('west', { zoneIngress: null })];
    const address = zoneAddress('a', 'west', '10.1.0.9');
    const [away, back] = [configOf({ puts: kumaForm }), configOf({ puts: [...kumaForm, address] })];
    expect(cluster(away, WEST)).toEqual(cluster(back, WEST));
    expect(endpoints(back, WEST)).toEqual(['west 10.1.0.9 1']);
    expect(tlsOf(cluster(back, WEST)['transportSocket']).sni).toBe('sni.msvc.default.west.cart.http');
  });

  it('has no endpoint at a name, and a problem says so', () => {
    const named = { zoneIngress: { address: 'ingress.west.example', port: 10_001, sni: 'west.cart' } };
    const config = configOf({ puts: [cartOf('west', named)] });
    expect(endpoints(config, WEST)).toEqual([]);
    expect(config.problems.map(({ field }) => field)).toEqual(['networking.outbound']);
    expect(config.problems[0]?.reason).toContain('must be an IP address');
  });
});

describe('a service of the own zone', () => {
  const EAST = 'kri_msvc_default_east__cart_http';
  const socketsOf = (puts: readonly Resource[], name = EAST): unknown[] => {
    const { transportSocket, transportSocketMatches } = cluster(configOf({ puts }), name);
    return [transportSocket === undefined ? null : tlsOf(transportSocket), transportSocketMatches ?? null];
  };

  it('is called with TLS when its servers accept it', () => {
    expect(socketsOf([])).toEqual([{ sni: 'sni.msvc.default.east.cart.http', ids }, null]);
  });

  /** The address of each endpoint, and whether it is marked for TLS. */
  const marks = (config: ProxyConfig): unknown[] =>
    objectsOf(config.assignments.get(EAST)?.['endpoints']).flatMap(({ lbEndpoints }) =>
      objectsOf(lbEndpoints).map(({ endpoint, metadata }) => [
        objectOf(objectOf(objectOf(endpoint)['address'])['socketAddress'])['address'],
        'accepts TLS' in objectOf(objectOf(objectOf(metadata)['filterMetadata'])['envoy.transport_socket_match']),
      ]),
    );
  const ids = ['spiffe://default.east.mesh.local/workload/cart'];
  /** The server of `cart` demands TLS. */
  const strictCart = crossingRows.flatMap((row) =>
    row.type === 'Dataplane' && row.name === 'cart.east' ? [{ ...row, status: withDemandedTls({}, true) }] : [],
  );

  it('is called with TLS from its first moment when its servers demand it', () => {
    const fresh = { ...cartOf('east', { identities: [] }), status: {} };
    expect(socketsOf([fresh, ...strictCart])).toEqual([{ sni: 'sni.msvc.default.east.cart.http', ids }, null]);
  });

  it('is called in plain text where a server has no identity, and with TLS where one demands it; one that is ready, with TLS alone', () => {
    const plain = make(
      'Dataplane',
      'plain',
      { networking: { address: '10.0.0.9', inbound: [{ port: 8080 }] } },
      { zone: 'east', labels: { app: 'cart', 'kuma.io/workload': '' } },
    );
    const config = configOf({ puts: [cartOf('east', {}, { status: 'NotReady' }), plain, ...strictCart] });
    const { transportSocket = null, transportSocketMatches } = cluster(config, EAST);
    expect([transportSocket, objectsOf(transportSocketMatches).map(({ name }) => name)]).toEqual([null, ['own zone']]);
    expect(tlsOf(objectsOf(transportSocketMatches)[0]?.['transportSocket']).ids).toEqual(ids);
    expect(marks(config)).toEqual([
      ['10.0.0.1', true],
      ['10.0.0.9', false],
    ]);
    const ready = configOf({ puts: [cartOf('east', {}, { status: 'Ready', enforced: true }), plain, ...strictCart] });
    expect(tlsOf(cluster(ready, EAST)['transportSocket']).ids).toEqual(ids);
    expect(endpoints(ready, EAST).filter((endpoint) => endpoint.startsWith('east'))).toEqual(['east 10.0.0.1 0']);
  });

  it('is called in plain text while its servers do not accept TLS', () => {
    expect(socketsOf([cartOf('east', {}, { status: 'NotReady' })])).toEqual([null, null]);
  });

  it('has no endpoint while it accepts TLS and none of its servers has an identity', () => {
    const ofCaller = { ...identity, spec: { ...identity.spec, selector: { dataplane: { matchLabels: { app: 'caller' } } } } };
    expect(endpoints(configOf({ puts: [ofCaller] }), EAST)).toEqual([]);
  });
});

describe('a service of all zones', () => {
  it('is served here, then in the other zones, with one SNI and the identities of all', () => {
    const config = configOf();
    expect(endpoints(config, EVERYWHERE)).toEqual(['east 10.0.0.1 0', 'north 10.1.0.5 1', 'west 10.1.0.4 1']);
    expect(tlsOf(cluster(config, EVERYWHERE)['transportSocket'])).toEqual({
      sni: 'sni.mzsvc.default.everywhere.http',
      ids: ['east', 'north', 'west'].map((zone) => `spiffe://default.${zone}.mesh.local/workload/cart`),
    });
  });

  it('has TLS to other zones alone while the servers here do not accept it', () => {
    const config = configOf({ puts: [cartOf('east', {}, { status: 'NotReady' })] });
    const { transportSocket, transportSocketMatches } = cluster(config, EVERYWHERE);
    expect(transportSocket).toBeUndefined();
    expect(objectsOf(transportSocketMatches).map(({ match }) => match)).toEqual([
      { 'kuma.io/zone': 'north' },
      { 'kuma.io/zone': 'west' },
    ]);
    expect(endpoints(config, EVERYWHERE)).toEqual(['east 10.0.0.1 0', 'north 10.1.0.5 1', 'west 10.1.0.4 1']);
  });
});

describe('a service with several MeshServices here', () => {
  const [service] = waitingCart;
  const socketsTo = (puts: readonly Resource[]): Record<string, boolean> => {
    const config = configOf({ puts });
    const { transportSocket, transportSocketMatches } = cluster(config, EVERYWHERE);
    const matches = objectsOf(transportSocketMatches).map(({ match }) => Object.entries(objectOf(match)));
    const servers = objectsOf(config.assignments.get(EVERYWHERE)?.['endpoints']).flatMap(({ lbEndpoints }) =>
      objectsOf(lbEndpoints),
    );
    return Object.fromEntries(
      servers.map(({ endpoint, metadata }) => {
        const { address } = objectOf(objectOf(objectOf(endpoint)['address'])['socketAddress']);
        const labels = objectOf(objectOf(objectOf(metadata)['filterMetadata'])['envoy.transport_socket_match']);
        const isMatched = matches.some((match) => match.every(([key, value]) => labels[key] === value));
        return [String(address), transportSocket !== undefined || isMatched];
      }),
    );
  };

  it('has TLS to the servers that accept it and to other zones, and plain text to the others', () => {
    expect(socketsTo(waitingCart)).toEqual({ '10.0.0.1': true, '10.0.0.2': false, '10.1.0.5': true, '10.1.0.4': true });
  });

  it('has TLS to the servers that accept it beside a MeshService without servers', () => {
    if (service === undefined) throw new Error('no MeshService');
    expect(socketsTo([service])).toEqual({ '10.0.0.1': true, '10.1.0.5': true, '10.1.0.4': true });
  });
});

describe('an external service', () => {
  it('is behind the egress of the zone, with its SNI there and the identity of the egress', () => {
    const config = configOf();
    expect(endpoints(config, PAYMENTS)).toEqual(['- 10.0.1.1 0']);
    expect(tlsOf(cluster(config, PAYMENTS)['transportSocket'])).toEqual({
      sni: 'egress.payments',
      ids: ['spiffe://default.east.mesh.local/workload/egress'],
    });
  });

  it.each<[why: string, change: Parameters<typeof configOf>[0]]>([
    ['the zone has no egress', { puts: [{ ...payments, status: {} }] }],
    ['the egress is gone', { without: [egress] }],
    ['the client has no identity', { without: crossingRows.filter(({ type }) => type === 'MeshIdentity') }],
  ])('has no endpoints and no TLS when %s', (_, change) => {
    const config = configOf(change);
    expect(endpoints(config, PAYMENTS)).toEqual([]);
    expect(cluster(config, PAYMENTS)['transportSocket']).toBeUndefined();
  });
});
