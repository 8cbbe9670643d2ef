// What inbounds add to a configuration, beside what the recorded proxies show.
import { describe, expect, it } from 'vitest';
import { make } from '../../test/policy/make-resource.ts';
import { identity, trustOf } from '../../test/xds/crossing-mesh.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import { objectOf, objectsOf } from '../resource/read-json.ts';
import { serviceSni } from '../resource/sni.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import { hasStrictInbound, type InboundContext } from './inbounds.ts';
import type { ProxyConfig } from './proxy-context.ts';
import { proxyConfig } from './proxy-config.ts';
import { WITHOUT_FEATURES } from './proxy-features.ts';

function configOf(networking: JsonObject, ...rows: Resource[]): ProxyConfig {
  const spec = { networking: { address: '10.0.0.9', ...networking } };
  const dataplane = make('Dataplane', 'web', spec, { zone: 'east', labels: { 'kuma.io/workload': 'web' } });
  const index = new MeshIndex('default', [dataplane, ...rows]);
  const [proxy] = index.proxies();
  if (proxy === undefined) throw new Error('the mesh has no Dataplane');
  return proxyConfig(index, proxy, WITHOUT_FEATURES);
}
const fieldsOf = ({ problems }: ProxyConfig): string[] => problems.map(({ field }) => field);
const filtersOf = ({ listeners }: ProxyConfig): unknown[] =>
  [...listeners.values()].flatMap((listener) =>
    objectsOf(listener['filterChains']).flatMap(({ filters }) => objectsOf(filters).map(({ name }) => name)),
  );
const limited = (local: JsonObject): Resource =>
  make('MeshRateLimit', 'r', { targetRef: { kind: 'Mesh' }, rules: [{ default: { local } }] });

describe('the inbounds of a proxy', () => {
  it.each<[what: string, networking: JsonObject, listeners: number, fields: string[]]>([
    ['the address of the Dataplane', { inbound: [{ port: 80 }] }, 1, []],
    ['an own address', { address: 'a.name', inbound: [{ port: 80, address: '10.0.0.1' }] }, 1, []],
    ['a name for an address', { inbound: [{ port: 80, address: 'a.name' }] }, 0, ['networking.address']],
    ['an application at a name', { inbound: [{ port: 80, serviceAddress: 'a.name' }] }, 0, ['networking.address']],
    ['a port of no machine', { inbound: [{ port: 65_536 }, { port: 65_535 }] }, 1, ['networking.inbound.port']],
    ['an application at no port', { inbound: [{ port: 1, servicePort: 70_000 }] }, 0, ['networking.inbound.port']],
    ['an advertised address', { advertisedAddress: '1.2.3.4', inbound: [{ port: 80 }] }, 1, []],
    ['an advertised address of IPv6', { advertisedAddress: '2001:db8::1', inbound: [{ port: 80 }] }, 1, []],
    ['an advertised name', { advertisedAddress: 'a.name', inbound: [{ port: 80 }] }, 1, ['networking.advertisedAddress']],
    ['one port on two addresses', { inbound: [{ port: 80 }, { port: 80, address: '10.0.0.8' }] }, 2, []],
    [
      'one name on two ports',
      {
        inbound: [
          { port: 80, name: 'a' },
          { port: 81, name: 'a' },
          { port: 82, name: 'a' },
        ],
      },
      3,
      [],
    ],
    ['one inbound twice', { inbound: [{ port: 80 }, { port: 80 }] }, 1, []],
    ['one place twice', { inbound: [{ port: 80 }, { port: 80, name: 'a' }] }, 1, ['networking.inbound[1].port']],
    [
      'one place twice, to two ports of the application',
      {
        inbound: [
          { port: 80, servicePort: 8080 },
          { port: 80, servicePort: 9090 },
        ],
      },
      1,
      ['networking.inbound[1].port'],
    ],
    [
      'one place twice, to two addresses of the application',
      { inbound: [{ port: 80 }, { port: 80, serviceAddress: '127.0.0.1' }] },
      1,
      ['networking.inbound[1].port'],
    ],
    [
      'one place twice, to one port of the application',
      {
        inbound: [
          { port: 80, servicePort: 8080 },
          { port: 80, servicePort: 8080 },
        ],
      },
      1,
      [],
    ],
    ['one that is not ready', { inbound: [{ port: 80, state: 'NotReady' }] }, 1, []],
  ])('with %s', (_, networking, listeners, fields) => {
    const config = configOf(networking);
    expect([config.listeners.size, config.clusters.size, fieldsOf(config)]).toEqual([listeners, listeners, fields]);
  });

  it('have names of their own where they share a section name', () => {
    const { listeners } = configOf({ inbound: [{ port: 80 }, { port: 80, address: '10.0.0.8' }] });
    expect([...listeners].map(([name, { address }]) => [name, objectOf(objectOf(address)['socketAddress'])['address']])).toEqual([
      ['self_inbound_dp_80', '10.0.0.9'],
      ['self_inbound_dp_80_10.0.0.8:80', '10.0.0.8'],
    ]);
  });

  it.each(['tcp', 'http'])('count connections before anything else with a limit of connections, as %s', (protocol) => {
    const tcp = { connectionRate: { num: 1, interval: '1s' } };
    const networking = { inbound: [{ port: 80, protocol }] };
    const last = protocol === 'tcp' ? 'envoy.filters.network.tcp_proxy' : 'envoy.filters.network.http_connection_manager';
    expect(filtersOf(configOf(networking, limited({ tcp })))).toEqual([
      'envoy.extensions.filters.network.local_ratelimit.v3.LocalRateLimit',
      last,
    ]);
    expect(filtersOf(configOf(networking))).toEqual([last]);
  });

  it.each<[type: string, conf: JsonObject]>([
    ['MeshTimeout', { http: { requestTimeout: '1s' } }],
    ['MeshRateLimit', { local: { http: { requestRate: { num: 1, interval: '1s' } } } }],
  ])('report a rule of a %s for some clients, which has no effect', (type, conf) => {
    const matches = [{ spiffeID: { type: 'Exact', value: 'spiffe://default.east.mesh.local/workload/cart' } }];
    const policy = make(type, 'p', { rules: [{ default: conf }, { matches, default: conf }] });
    const { problems } = configOf({ inbound: [{ port: 80, protocol: 'http' }] }, policy);
    expect(problems).toMatchObject([{ policy: expect.stringContaining('_p_') as unknown, field: 'spec.rules[1].matches' }]);
  });

  it('limit requests as HTTP alone', () => {
    const rate = limited({ http: { requestRate: { num: 1, interval: '1s' } } });
    const limits = ['http', 'tcp'].map((protocol) => {
      const config = configOf({ inbound: [{ port: 80, protocol }] }, rate);
      return [JSON.stringify([...config.listeners.values()]), JSON.stringify([...config.routes.values()])].map((text) =>
        text.includes('envoy.filters.http.local_ratelimit'),
      );
    });
    expect(limits).toEqual([
      [true, true],
      [false, false],
    ]);
  });

  it('lead to the application, with the address and port of the service where these are given', () => {
    const at = (inbound: JsonObject): unknown => {
      const [cluster] = configOf({ inbound: [inbound] }).clusters.values();
      const [group] = objectsOf(objectOf(cluster?.['loadAssignment'])['endpoints']);
      const [endpoint] = objectsOf(group?.['lbEndpoints']);
      const { address, portValue } = objectOf(objectOf(objectOf(endpoint?.['endpoint'])['address'])['socketAddress']);
      return `${String(address)} ${String(portValue)}`;
    };
    expect([
      at({ port: 80 }),
      at({ port: 80, servicePort: 8080 }),
      at({ port: 80, address: '10.0.0.1' }),
      at({ port: 80, address: '10.0.0.1', serviceAddress: '127.0.0.1', servicePort: 8080 }),
    ]).toEqual(['10.0.0.9 80', '10.0.0.9 8080', '10.0.0.1 80', '127.0.0.1 8080']);
  });
});

describe('the chains of an inbound', () => {
  const trust = trustOf('east');
  const permission = make('MeshTrafficPermission', 'p', {
    targetRef: { kind: 'Mesh' },
    rules: [{ default: { allow: [{ spiffeID: { type: 'Exact', value: 'spiffe://a' } }] } }],
  });
  const mode = (named: string): Resource =>
    make('MeshTLS', 't', { targetRef: { kind: 'Mesh' }, rules: [{ default: { mode: named } }] });
  /** The protocols that a chain takes, whether it ends TLS, and its filters. */
  const chainsOf = (protocol: string, ...rows: Resource[]): unknown => {
    const [listener] = configOf({ inbound: [{ port: 80, protocol }] }, permission, ...rows).listeners.values();
    const chains = objectsOf(listener?.['filterChains']).map(({ filterChainMatch, transportSocket, filters }) => {
      const { transportProtocol = null, applicationProtocols = [] } = objectOf(filterChainMatch);
      const text = JSON.stringify(filters);
      return [transportProtocol, applicationProtocols, transportSocket !== undefined, text.includes('rbac')];
    });
    return [chains, objectsOf(listener?.['listenerFilters']).map(({ name }) => name)];
  };

  it.each(['tcp', 'http'])('as %s are one of plain text without an identity, where no permission counts', (protocol) => {
    expect(chainsOf(protocol)).toEqual([[[null, [], false, false]], []]);
  });

  it.each(['tcp', 'http'])('as %s are one of TLS with an identity, behind the permissions', (protocol) => {
    const strict = [[[null, [], true, true]], ['envoy.filters.listener.tls_inspector']];
    expect(chainsOf(protocol, identity, trust)).toEqual(strict);
    expect(chainsOf(protocol, identity, trust, mode('Strict'))).toEqual(strict);
  });

  it.each(['tcp', 'http'])('as %s take plain text, foreign TLS and that of the mesh while they are permissive', (protocol) => {
    const permissive = [
      [
        ['raw_buffer', [], false, false],
        ['tls', [], false, false],
        ['tls', ['kuma'], true, true],
      ],
      ['envoy.filters.listener.tls_inspector'],
    ];
    expect(chainsOf(protocol, identity, trust, mode('Permissive'))).toEqual(permissive);
    // A service of the proxy is still called in plain text.
    const selector = { dataplaneLabels: { matchLabels: { 'kuma.io/workload': 'web' } } };
    const called = make('MeshService', 'web', { selector, ports: [{ port: 80 }] }, { zone: 'east' });
    expect(chainsOf(protocol, identity, trust, called)).toEqual(permissive);
  });
});

describe('a rule for a server name', () => {
  const service = make(
    'MeshService',
    'web',
    { selector: { dataplaneLabels: { matchLabels: { 'kuma.io/workload': 'web' } } }, ports: [{ port: 80 }] },
    { zone: 'east' },
  );
  const enforced = { ...service, status: { tls: { status: 'Ready', enforced: true } } };
  const kuma = 'sni.msvc.default.east.web.80';
  const hashed = serviceSni(service, 80) ?? '';
  const sni = { sni: { type: 'Exact', value: kuma } };
  const policy = (type: string, conf: JsonObject, match: JsonObject | null = null): Resource =>
    make(type, 'p', { rules: [{ ...(match !== null && { matches: [match] }), default: conf }] });
  const logged = { backends: [{ type: 'File', file: { path: '/log' } }] };
  const fault = { http: [{ abort: { httpStatus: 503, percentage: 1 } }] };
  const listenerOf = (protocol: string, ...rows: Resource[]): [listener: JsonObject, all: string] => {
    const config = configOf({ inbound: [{ port: 80, protocol }] }, identity, trustOf('east'), enforced, ...rows);
    return [config.listeners.get('self_inbound_dp_80') ?? {}, JSON.stringify([...config.listeners, ...config.routes])];
  };
  const inspectors = (listener: JsonObject): unknown[] => objectsOf(listener['listenerFilters']).map(({ name }) => name);

  it.each<[protocol: string, what: string, row: Resource]>([
    ['http', 'a denial', policy('MeshTrafficPermission', { deny: [sni] })],
    ['tcp', 'a denial', policy('MeshTrafficPermission', { deny: [sni] })],
    ['http', 'a permission', policy('MeshTrafficPermission', { allow: [sni] })],
    ['http', 'a permission in shadow', policy('MeshTrafficPermission', { allowWithShadowDeny: [sni] })],
    ['http', 'a fault', policy('MeshFaultInjection', fault, sni)],
    ['http', 'a log', policy('MeshAccessLog', logged, sni)],
    ['tcp', 'a log', policy('MeshAccessLog', logged, sni)],
  ])('in a strict %s listener is about both names of the port: %s', (protocol, _, row) => {
    const [listener, all] = listenerOf(protocol, row);
    expect(objectsOf(listener['filterChains'])).toHaveLength(1);
    expect(inspectors(listener)).toEqual(['envoy.filters.listener.tls_inspector']);
    for (const name of [kuma, hashed]) expect(all).toContain(name);
  });

  it.each(['http', 'tcp'])(
    'finds what sees server names in a strict %s listener: the first rule replaces no listener',
    (protocol) => {
      expect(inspectors(listenerOf(protocol)[0])).toEqual(['envoy.filters.listener.tls_inspector']);
    },
  );
});

describe('a proxy takes clients with a certificate alone', () => {
  const isStrict = (kinds: string[], tls: JsonObject | null): boolean => {
    const sections = kinds.map((kind, at) => ({ kind, section: String(at), port: at }));
    return hasStrictInbound({ rules: { proxy: { sections }, types: [] }, tls } as unknown as InboundContext);
  };

  it.each<[inbounds: string[]]>([[[]], [['Inbound']], [['ZoneIngress']], [['ZoneEgress', 'Inbound']]])(
    'with %j, if it may say so and has a certificate',
    (kinds) => {
      expect([isStrict(kinds, { maySayStrict: true }), isStrict(kinds, { maySayStrict: false }), isStrict(kinds, null)]).toEqual([
        true,
        false,
        false,
      ]);
    },
  );

  it('where one of its inbounds does, whatever its other ports say', () => {
    const strict = (modes: Readonly<Record<string, string>>): boolean => {
      const sections = Object.entries(modes).map(([kind], port) => ({ kind: kind.split(' ')[0], section: kind, port }));
      const inboundRules = Object.values(modes).map((mode, at) => ({
        section: sections[at],
        rules: [{ match: null, conf: { mode }, origins: [], problems: [] }],
      }));
      const types = [{ type: 'MeshTLS', inboundRules }];
      return hasStrictInbound({
        rules: { proxy: { sections }, types },
        tls: { maySayStrict: true },
      } as unknown as InboundContext);
    };
    expect([
      strict({ Inbound: 'Permissive' }),
      strict({ Inbound: 'Strict' }),
      strict({ 'Inbound a': 'Permissive', 'Inbound b': 'Strict' }),
      strict({ 'Inbound a': 'Permissive', 'Inbound b': 'Permissive' }),
      strict({ Inbound: 'Permissive', ZoneEgress: 'Strict' }),
      strict({ ZoneEgress: 'Permissive' }),
    ]).toEqual([false, true, true, false, false, true]);
  });
});
