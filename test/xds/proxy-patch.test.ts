// MeshProxyPatch changes the resources of a proxy in order; what cannot be applied is reported and left out.
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { isObject, objectOf, objectsOf } from '../../src/resource/read-json.ts';
import type { Json, JsonObject } from '../../src/resource/types.ts';
import { MeshIndex } from '../../src/policy/mesh-index.ts';
import { canonicalEnvoyJson } from '../../src/wire/merge-envoy.ts';
import type { ProxyConfig } from '../../src/xds/proxy-context.ts';
import { proxyConfig } from '../../src/xds/proxy-config.ts';
import { WITHOUT_FEATURES } from '../../src/xds/proxy-features.ts';
import { make } from '../policy/make-resource.ts';

const CART = 'kri_msvc_default_east__cart_http';
const IN = 'self_inbound_dp_web';
const HCM = 'envoy.filters.network.http_connection_manager';
const ROUTER = 'envoy.filters.http.router';
const east = { zone: 'east' };
const rows = [
  make('MeshService', 'cart', { selector: {}, ports: [{ name: 'http', port: 80, appProtocol: 'http' }] }, east),
  make(
    'Dataplane',
    'shop',
    {
      networking: {
        address: '10.0.0.1',
        inbound: [{ name: 'web', port: 8080, protocol: 'http' }],
        outbound: [{ port: 10_080, backendRef: { kind: 'MeshService', name: 'cart', port: 80 } }],
      },
    },
    east,
  ),
];

/** The configuration with these modifications, in YAML. */
function patched(yaml: string): ProxyConfig {
  const patch = make('MeshProxyPatch', 'patch', { default: { appendModifications: parse(yaml) as Json } });
  const index = new MeshIndex('default', [...rows, patch]);
  const [proxy] = index.proxies();
  if (proxy === undefined) throw new Error('the mesh has no proxy');
  return proxyConfig(index, proxy, WITHOUT_FEATURES);
}

/** The filters of a listener, and those of its HTTP connection manager. */
function filters(config: ProxyConfig, listener: string): { network: readonly JsonObject[]; http: readonly JsonObject[] } {
  const network = objectsOf(objectsOf(config.listeners.get(listener)?.['filterChains'])[0]?.['filters']);
  const manager = network.find(({ name }) => name === HCM);
  return { network, http: objectsOf(objectOf(manager?.['typedConfig'])['httpFilters']) };
}

const names = (some: readonly JsonObject[]): unknown[] => some.map(({ name }) => name);
const lua = (name: string): string =>
  `"{name: ${name}, typed_config: {'@type': type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua, inline_code: 'function envoy_on_request(h) end'}}"`;

describe('a MeshProxyPatch on clusters', () => {
  it('merges a value into the clusters of an origin, by names of proto files or of JSON', () => {
    const config = patched(`
      - cluster: {operation: Patch, match: {origin: outbound}, value: "{connect_timeout: 7s, circuitBreakers: {thresholds: [{maxRetries: 9}]}}"}
    `);
    expect(config.clusters.get(CART)).toMatchObject({
      connectTimeout: '7s',
      circuitBreakers: { thresholds: [{ trackRemaining: true, maxRetries: 9 }] },
    });
    expect(config.clusters.get(IN)).toMatchObject({ connectTimeout: '5s' });
    expect(config.problems).toEqual([]);
  });

  it('merges messages inside an Any, and lets a member of a oneof replace another', () => {
    const options = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';
    const config = patched(`
      - cluster:
          operation: Patch
          match: {name: ${CART}}
          value: |
            ringHashLbConfig: {minimumRingSize: 8}
            typedExtensionProtocolOptions:
              ${options}:
                '@type': type.googleapis.com/${options}
                commonHttpProtocolOptions: {idleTimeout: 9s}
      - cluster: {operation: Patch, match: {name: ${CART}}, value: "maglevLbConfig: {tableSize: 7}"}
    `);
    const cluster = config.clusters.get(CART);
    expect(cluster?.['ringHashLbConfig']).toBeUndefined();
    expect(cluster).toMatchObject({
      maglevLbConfig: { tableSize: '7' },
      typedExtensionProtocolOptions: {
        [options]: { commonHttpProtocolOptions: { idleTimeout: '9s' }, explicitHttpConfig: { http2ProtocolOptions: {} } },
      },
    });
  });

  it('applies JSON patches, adds clusters and removes them with their endpoints', () => {
    const config = patched(`
      - cluster: {operation: Patch, match: {name: ${IN}}, jsonPatches: [{op: replace, path: /connect_timeout, value: 8s}, {op: add, path: /altStatName, value: in}]}
      - cluster: {operation: Add, value: "{name: other, connectTimeout: 1s}"}
      - cluster: {operation: Remove, match: {name: ${CART}}}
    `);
    expect(config.clusters.get(IN)).toMatchObject({ connectTimeout: '8s', altStatName: 'in' });
    expect(config.clusters.get('other')).toEqual({ name: 'other', connectTimeout: '1s' });
    expect([config.clusters.has(CART), config.assignments.has(CART)]).toEqual([false, false]);
    expect(config.problems).toEqual([]);
  });
});

describe('a MeshProxyPatch on filters', () => {
  it('adds HTTP filters first, before, after and last, and none behind the router', () => {
    const config = patched(`
      - httpFilter: {operation: AddLast, match: {origin: inbound}, value: ${lua('last')}}
      - httpFilter: {operation: AddFirst, match: {origin: inbound}, value: ${lua('first')}}
      - httpFilter: {operation: AddBefore, match: {name: last}, value: ${lua('before')}}
      - httpFilter: {operation: AddAfter, match: {name: first, listenerName: ${IN}}, value: ${lua('after')}}
      - httpFilter: {operation: AddAfter, match: {name: none}, value: ${lua('nowhere')}}
    `);
    expect(names(filters(config, IN).http)).toEqual(['first', 'after', 'before', 'last', ROUTER]);
    expect(names(filters(config, CART).http)).toEqual([ROUTER]);
    expect(config.problems).toEqual([]);
  });

  it('changes filters by a value and by pointers into their configuration, and removes them', () => {
    const config = patched(`
      - networkFilter: {operation: Patch, match: {name: ${HCM}, listenerTags: {kuma.io/zone: east}}, jsonPatches: [{op: add, path: /serverName, value: me}]}
      - httpFilter: {operation: Patch, match: {name: ${ROUTER}}, jsonPatches: [{op: add, path: /typedConfig/dynamicStats, value: false}]}
      - networkFilter: {operation: Remove, match: {origin: outbound}}
    `);
    expect(filters(config, IN).network).toMatchObject([{ typedConfig: { serverName: 'me' } }]);
    expect(filters(config, IN).http).toMatchObject([{ typedConfig: { dynamicStats: false } }]);
    expect(filters(config, CART).network).toEqual([]);
    expect(config.problems).toEqual([]);
  });
});

describe('a match of filters', () => {
  it.each<[match: string, listeners: string[]]>([
    ['{}', [IN, CART]],
    [`{name: ${HCM}}`, [IN, CART]],
    ['{name: none}', []],
    [`{listenerName: ${IN}}`, [IN]],
    ['{origin: outbound}', [CART]],
    [`{listenerTags: {kuma.io/unified-name: ${CART}}}`, [CART]],
    [`{listenerTags: {kuma.io/unified-name: none}}`, []],
    [`{listenerName: ${IN}, origin: outbound}`, []],
    [`{listenerName: ${IN}, name: none}`, []],
    [`{listenerName: ${CART}, origin: outbound, name: ${HCM}}`, [CART]],
  ])('%s is about network filters of the listeners %j', (match, expected) => {
    const config = patched(
      `[{networkFilter: {operation: Patch, match: ${match}, jsonPatches: [{op: add, path: /serverName, value: me}]}}]`,
    );
    const serverNames = [IN, CART].filter((name) =>
      filters(config, name).network.some(({ typedConfig }) => objectOf(typedConfig)['serverName'] === 'me'),
    );
    expect([serverNames, config.problems]).toEqual([expected, []]);
  });

  it.each<[match: string, disabled: string[]]>([
    ['{origin: inbound}', ['first', ROUTER]],
    ['{origin: inbound, name: first}', ['first']],
    [`{origin: inbound, name: ${ROUTER}}`, [ROUTER]],
    ['{origin: inbound, name: none}', []],
    ['{origin: outbound}', []],
  ])('%s is about the HTTP filters %j of an inbound', (match, expected) => {
    const config = patched(`
      - httpFilter: {operation: AddFirst, match: {origin: inbound}, value: ${lua('first')}}
      - httpFilter: {operation: Patch, match: ${match}, jsonPatches: [{op: add, path: /disabled, value: true}]}
    `);
    expect(names(filters(config, IN).http.filter(({ disabled }) => disabled === true))).toEqual(expected);
    expect(names(filters(config, IN).http)).toEqual(['first', ROUTER]);
  });

  it.each<[match: string, left: string[]]>([
    ['{name: first}', [ROUTER]],
    [`{name: ${ROUTER}}`, ['first']],
    ['{name: none}', ['first', ROUTER]],
    ['{}', []],
  ])('%s leaves the HTTP filters %j where it removes', (match, expected) => {
    const config = patched(`
      - httpFilter: {operation: AddFirst, match: {listenerName: ${IN}}, value: ${lua('first')}}
      - httpFilter: {operation: Remove, match: ${match}}
    `);
    expect(names(filters(config, IN).http)).toEqual(expected);
  });
});

describe('a MeshProxyPatch on listeners and virtual hosts', () => {
  it('changes, adds and removes them', () => {
    const config = patched(`
      - listener: {operation: Patch, match: {tags: {kuma.io/unified-name: ${CART}}}, value: "perConnectionBufferLimitBytes: 4096"}
      - listener: {operation: Add, value: "{name: extra, address: {pipe: {path: /tmp/x}}}"}
      - listener: {operation: Remove, match: {name: ${IN}}}
      - virtualHost: {operation: Patch, match: {routeConfigurationName: ${CART}}, value: "retryPolicy: {retryOn: 5xx}"}
      - virtualHost: {operation: Add, match: {origin: outbound}, value: "{name: more, domains: [more.example]}"}
    `);
    expect(config.listeners.get(CART)).toMatchObject({ perConnectionBufferLimitBytes: 4096 });
    expect([...config.listeners.keys()].sort()).toEqual(['extra', CART].sort());
    expect(config.routes.get(CART)?.['virtualHosts']).toMatchObject([{ retryPolicy: { retryOn: '5xx' } }, { name: 'more' }]);
    expect(config.problems).toEqual([]);
  });
});

describe('a modification leaves all else as it is', () => {
  const CLUSTER = 'envoy.config.cluster.v3.Cluster';
  const LISTENER = 'envoy.config.listener.v3.Listener';
  const inChains = (listener: JsonObject, edit: (filters: readonly JsonObject[]) => JsonObject[]): JsonObject => ({
    ...listener,
    filterChains: objectsOf(listener['filterChains']).map((chain) => ({ ...chain, filters: edit(objectsOf(chain['filters'])) })),
  });
  it.each<
    [
      target: string,
      change: string,
      kind: 'clusters' | 'listeners' | 'routes',
      name: string,
      expected: (one: JsonObject) => JsonObject,
    ]
  >([
    [
      'cluster',
      'Patch, value: "altStatName: x"',
      'clusters',
      IN,
      (one) => ({ ...canonicalEnvoyJson(CLUSTER, one), altStatName: 'x' }),
    ],
    [
      'listener',
      'Patch, value: "statPrefix: x"',
      'listeners',
      IN,
      (one) => ({ ...canonicalEnvoyJson(LISTENER, one), statPrefix: 'x' }),
    ],
    ['networkFilter', 'Remove', 'listeners', IN, (one) => inChains(one, () => [])],
    [
      ...(['httpFilter', 'Remove', 'listeners', IN] as const),
      (one) =>
        inChains(one, (filters) =>
          filters.map((filter) => ({ ...filter, typedConfig: { ...objectOf(filter['typedConfig']), httpFilters: [] } })),
        ),
    ],
    ['virtualHost', 'Remove', 'routes', CART, (one) => ({ ...one, virtualHosts: [] })],
  ])('of a %s: %s', (target, change, kind, name, expected) => {
    const origin = name === IN ? 'inbound' : 'outbound';
    const plain = patched('[]');
    const config = patched(`[{${target}: {match: {origin: ${origin}}, operation: ${change}}}]`);
    const one = plain[kind].get(name) ?? {};
    expect(config).toEqual({ ...plain, [kind]: new Map([...plain[kind], [name, expected(one)]]) });
  });
});

describe('a modification that cannot be applied', () => {
  it.each([
    ['a field that does not exist', 'cluster: {operation: Patch, match: {name: KRI}, value: "noSuch: 1"}', /noSuch/],
    [
      'a value of another type',
      'cluster: {operation: Patch, match: {name: KRI}, value: "connectTimeout: soon"}',
      /connectTimeout/,
    ],
    [
      'a path that does not exist',
      'cluster: {operation: Patch, match: {name: KRI}, jsonPatches: [{op: remove, path: /health/0}]}',
      /no \/health/,
    ],
    [
      'a path to the prototype',
      'cluster: {operation: Patch, match: {name: KRI}, jsonPatches: [{op: add, path: /__proto__/a, value: 1}]}',
      /no field/,
    ],
    ['another name', 'cluster: {operation: Patch, match: {name: KRI}, value: "name: other"}', /keeps its name/],
    [
      'an unknown extension',
      `httpFilter: {operation: AddFirst, match: {origin: outbound}, value: "{name: x, typedConfig: {'@type': type.googleapis.com/no.Such}}"}`,
      /no\.Such|@type/,
    ],
    [
      'a second host for all domains',
      'virtualHost: {operation: Add, match: {origin: outbound}, value: "{name: x, domains: [\'*\']}"}',
      /domain \*/,
    ],
  ])('with %s is reported and left out, and the others hold', (_, modification, reason) => {
    const config = patched(`
      - ${modification.replace('KRI', CART)}
      - cluster: {operation: Patch, match: {name: ${CART}}, value: "altStatName: kept"}
    `);
    const [problem, ...others] = config.problems;
    expect(others).toEqual([]);
    expect(problem?.policy).toBe('kri_mpp_default___patch_');
    expect(problem?.field).toMatch(/^spec\.default\.appendModifications\[0\]\.(cluster|httpFilter|virtualHost)$/);
    expect(problem?.reason).toMatch(reason);
    const cluster = config.clusters.get(CART);
    expect(cluster).toMatchObject({ name: CART, connectTimeout: '5s', altStatName: 'kept' });
    expect(isObject(config.listeners.get(CART))).toBe(true);
  });
});

describe('a modification', () => {
  const altered = (config: ProxyConfig): string[] =>
    [...config.clusters].flatMap(([name, { altStatName }]) => (altStatName === undefined ? [] : [name])).sort();

  it.each([
    ['{}', [IN, CART]],
    ['{name: ""}', [IN, CART]],
    ['{origin: inbound}', [IN]],
    ['{origin: outbound}', [CART]],
    ['{origin: prometheus}', []],
    [`{name: ${IN}}`, [IN]],
    [`{name: ${IN}, origin: outbound}`, []],
  ])('with the match %s changes the clusters %j', (match, expected) => {
    const config = patched(`[{cluster: {operation: Patch, match: ${match}, value: "altStatName: x"}}]`);
    expect(altered(config)).toEqual([...expected].sort());
  });

  it('of an unknown operation changes nothing', () => {
    const plain = patched('[]');
    for (const target of ['cluster', 'listener', 'networkFilter', 'httpFilter', 'virtualHost']) {
      const { problems, ...config } = patched(`[{${target}: {operation: Other, match: {}, value: "name: x"}}]`);
      expect({ ...config, problems: [] }).toEqual(plain);
      expect(problems).toEqual([
        {
          policy: 'kri_mpp_default___patch_',
          field: `spec.default.appendModifications[0].${target}.operation`,
          reason: expect.stringMatching(/^must be one of .*, not "Other"$/) as string,
        },
      ]);
    }
  });

  it('of another shape is reported and left out, and the others hold', () => {
    const config = patched(`
      - cluster: {operation: Patch, jsonPatches: [{op: test, path: /name}]}
      - nothing
      - cluster: {operation: Patch, match: {name: 5}, value: "altStatName: y"}
      - cluster: {operation: Patch, value: "altStatName: x"}
    `);
    expect(altered(config)).toEqual([IN, CART].sort());
    expect(config.problems.map(({ field, reason }) => [field.replace('spec.default.appendModifications', ''), reason])).toEqual([
      ['[0].cluster.jsonPatches[0].op', 'must be one of add, remove, replace, move, copy, not "test"'],
      ['[1]', 'must be an object'],
      ['[2].cluster.match.name', 'must be text'],
    ]);
  });

  it('that adds a resource needs its name, and replaces that of the same name', () => {
    const config = patched(`
      - cluster: {operation: Add, value: "{connectTimeout: 1s}"}
      - cluster: {operation: Add, value: "{name: ${CART}, connectTimeout: 1s}"}
    `);
    expect(config.problems).toEqual([
      {
        ...{ policy: 'kri_mpp_default___patch_', field: 'spec.default.appendModifications[0].cluster' },
        reason: 'has a value without a name',
      },
    ]);
    expect(config.clusters.get(CART)).toEqual({ name: CART, connectTimeout: '1s' });
  });

  it('that removes a listener removes its routes, and its cluster stays', () => {
    const config = patched(`[{listener: {operation: Remove, match: {name: ${CART}}}}]`);
    expect([config.listeners.has(CART), config.routes.has(CART), config.clusters.has(CART)]).toEqual([false, false, true]);
    expect([config.listeners.has(IN), config.routes.has(IN)]).toEqual([true, true]);
  });

  it('adds a network filter last, behind none that ends the chain, and last where none does', () => {
    const value = `"{name: new, typedConfig: {'@type': type.googleapis.com/envoy.extensions.filters.network.direct_response.v3.Config}}"`;
    const added = patched(`[{networkFilter: {operation: AddLast, match: {origin: inbound}, value: ${value}}}]`);
    expect(names(filters(added, IN).network)).toEqual(['new', HCM]);
    const without = patched(`
      - networkFilter: {operation: Remove, match: {origin: inbound, name: ${HCM}}}
      - networkFilter: {operation: AddLast, match: {origin: inbound}, value: ${value}}
      - networkFilter: {operation: AddLast, match: {origin: inbound}, value: ${value.replace('new', 'second')}}
    `);
    expect(names(filters(without, IN).network)).toEqual(['new', 'second']);
  });

  it('changes the hosts of a name, and refuses a second host of that name', () => {
    const config = patched(`
      - virtualHost: {operation: Remove, match: {name: ${CART}}}
      - virtualHost: {operation: Add, match: {origin: outbound}, value: "{name: a, domains: [a.b]}"}
      - virtualHost: {operation: Add, match: {origin: outbound}, value: "{name: a, domains: [c.d]}"}
      - virtualHost: {operation: Patch, match: {name: other}, value: "retryPolicy: {retryOn: 5xx}"}
    `);
    expect(config.routes.get(CART)?.['virtualHosts']).toEqual([{ name: 'a', domains: ['a.b'] }]);
    expect(config.problems.map(({ field, reason }) => [field, reason])).toEqual([
      ['spec.default.appendModifications[2].virtualHost', `has name a, which ${CART} has already`],
    ]);
  });

  it('of a tag changes the listeners with that tag', () => {
    const buffered = (tags: string): string[] =>
      [
        ...patched(`[{listener: {operation: Patch, match: {tags: ${tags}}, value: "perConnectionBufferLimitBytes: 1"}}]`)
          .listeners,
      ]
        .flatMap(([name, listener]) => (listener['perConnectionBufferLimitBytes'] === 1 ? [name] : []))
        .sort();
    expect(buffered('{kuma.io/zone: east}')).toEqual([IN]);
    expect(buffered('{kuma.io/zone: west}')).toEqual([]);
    expect(buffered('{kuma.io/zone: east, other: x}')).toEqual([]);
  });
});
