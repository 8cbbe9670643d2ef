// The ways to services as `inspect service` shows them: whole ones, and what is said of each broken part.
import { describe, expect, it } from 'vitest';
import { describeWays } from '../../src/cli/views/service-ways-text.ts';
import { waysTo, type WayFacts } from '../../src/inspect/service-ways.ts';
import { MeshIndex } from '../../src/policy/mesh-index.ts';
import { serviceSni } from '../../src/resource/sni.ts';
import type { JsonObject, Resource } from '../../src/resource/types.ts';
import { make } from '../policy/make-resource.ts';
import { cartOf, crossingRows, egress, payments, trustOf, zoneAddress } from '../xds/crossing-mesh.ts';

const inEast: WayFacts = { zones: ['east'], asked: 'east', isOnline: () => true, unknown: () => '', unheard: () => '' };
const onGlobal: WayFacts = { zones: ['east', 'west'], asked: null, isOnline: () => true, unknown: () => '', unheard: () => '' };

const ingress = make(
  'Dataplane',
  'ingress-1',
  { networking: { zoneIngress: { address: '10.0.9.9', port: 10_001, advertisedAddress: '10.1.0.4', advertisedPort: 10_001 } } },
  { zone: 'west' },
);
const server = make(
  'Dataplane',
  'cart-w',
  { networking: { address: '10.1.1.1', inbound: [{ port: 8080, name: 'http', protocol: 'http' }] } },
  { zone: 'west', labels: { app: 'cart' } },
);
/** What a global has beside. */
const ofWest = [ingress, server];

const permission = (conf: JsonObject): Resource => make('MeshTrafficPermission', 'clients', { rules: [{ default: conf }] });
const allowed = permission({ allow: [{ spiffeID: { type: 'Prefix', value: 'spiffe://default.' } }] });

type Change = { puts?: readonly Resource[]; without?: readonly Resource[]; facts?: Partial<WayFacts> };

function ways(type: string, name: string, { puts = [], without = [], facts = {} }: Change, base = inEast): string[] {
  const index = new MeshIndex('default', [...crossingRows, allowed, ...puts]);
  for (const row of without) index.remove(row);
  const service = index.get(type, name);
  if (service === undefined) throw new Error(`no ${type} ${name}`);
  return describeWays(waysTo(index, service, { ...base, ...facts })).split('\n');
}

describe('the ways to a service of another zone', () => {
  it('lead from proxies with redirected connections', () => {
    const inbound = [{ port: 8080 }];
    const networking = { address: '10.0.0.7', inbound, transparentProxying: { redirectPortOutbound: 15_001 } };
    const redirected = make('Dataplane', 'web', { networking }, { zone: 'east', labels: { app: 'web' } });
    const lines = ways('MeshService', 'cart.west', { puts: [redirected] });
    expect(lines.find((line) => line.includes(' web '))).toMatch(/ caller {4}east {3}web /);
  });

  it('lead from the callers through the ingress; the other zone knows the servers', () => {
    expect(ways('MeshService', 'cart.west', {})).toMatchInlineSnapshot(`
      [
        "MeshService cart:80, east → west, ok: 2 proxies → 10.1.0.4:10001 (SNI west.cart) → a server of west",
        "  PART      ZONE   NAME     ADDRESS           STATE     WHY",
        "  caller    east   caller   127.0.0.1:10001   ok        -",
        "  caller    east   cart     127.0.0.1:10001   ok        -",
        "  ingress   west   -        10.1.0.4:10001    ok        -",
        "  server    west   -        -                 unknown   ask the control plane of west for its servers",
      ]
    `);
  });

  it('are whole on global', () => {
    expect(ways('MeshService', 'cart.west', { puts: ofWest }, onGlobal)).toMatchInlineSnapshot(`
      [
        "MeshService cart:80, east → west, ok: 2 proxies → 10.1.0.4:10001 (SNI west.cart) → cart-w",
        "  PART      ZONE   NAME        ADDRESS           STATE   WHY",
        "  caller    east   caller      127.0.0.1:10001   ok      -",
        "  caller    east   cart        127.0.0.1:10001   ok      -",
        "  ingress   west   ingress-1   10.1.0.4:10001    ok      -",
        "  server    west   cart-w      10.1.1.1:8080     ok      -",
        "",
        "MeshService cart:80, west, ok: no caller → cart-w",
        "  PART     ZONE   NAME     ADDRESS         STATE     WHY",
        "  caller   west   -        -               unknown   no proxy of the zone declares it as an outbound, or reaches it with redirected connections",
        "  server   west   cart-w   10.1.1.1:8080   ok        -",
      ]
    `);
  });

  it('are unknown where nothing is known of proxies', () => {
    const ask = { isOnline: () => undefined, unknown: (zone: string) => (zone === 'west' ? 'ask zone west' : '') };
    const lines = ways('MeshService', 'cart.west', { puts: ofWest, facts: ask }, onGlobal);
    expect(lines[0]).toContain('east → west, unknown');
    expect(lines.filter((line) => line.includes('ask zone west'))).toHaveLength(3);
  });

  it.each<[what: string, change: Change, says: string]>([
    ['no identity of a caller', { without: crossingRows.filter(({ type }) => type === 'MeshIdentity') }, 'it has no identity'],
    ['callers that are away', { facts: { isOnline: () => false } }, 'its proxy is not connected'],
    ['no ingress', { puts: [cartOf('west', { zoneIngress: null })] }, 'zone west has no ready ingress'],
    ['nothing available', { puts: [cartOf('west', { state: 'Unavailable' })] }, 'no server there is available'],
    ['servers without identity', { puts: [cartOf('west', { identities: [] })] }, 'its servers have no identity'],
    ['no trust', { without: [trustOf('west')] }, 'no MeshTrust here has the trust domain'],
    [
      'a name for an address',
      { puts: [cartOf('west', { zoneIngress: { address: 'a.b', port: 1, sni: 'c' } })] },
      'must be an IP',
    ],
  ])('say what is broken: %s', (_, change, says) => {
    const [head = '', ...parts] = ways('MeshService', 'cart.west', change);
    expect(head).toContain(', broken: ');
    expect(parts.filter((line) => line.includes(' broken '))).toContainEqual(expect.stringContaining(says));
  });

  it('are not shown as whole while a zone on them is not connected', () => {
    const unheard = (zone: string): string => (zone === 'west' ? 'zone west is not connected' : '');
    const found = ways('MeshService', 'cart.west', { puts: ofWest, facts: { unheard } }, onGlobal);
    expect(found[0]).toContain('east → west, unknown: ');
    const parts = found.slice(2, 6).map((line) => line.trim().split(/ {2,}/));
    expect(parts.map(([part, , , , state]) => [part, state])).toEqual([
      ...[
        ['caller', 'ok'],
        ['caller', 'ok'],
        ['ingress', 'unknown'],
        ['server', 'unknown'],
      ],
    ]);
    expect(found[5]).toContain('zone west is not connected: this was its last state');
  });

  it('leave the readiness of an identity to the zone on global', () => {
    const notReady = crossingRows.filter(({ type }) => type === 'MeshIdentity').map((row) => ({ ...row, status: {} }));
    const found = ways('MeshService', 'cart.west', { puts: [...ofWest, ...notReady] }, onGlobal);
    expect(found[0]).toContain('east → west, ok: ');
    expect(found.join('\n')).toContain('ask the control plane of east whether its identity is ready');
  });

  it('are degraded while another proxy serves', () => {
    const isOnline = (name: string): boolean => name !== 'caller.east';
    const [head] = ways('MeshService', 'cart.west', { facts: { isOnline } });
    expect(head).toContain('east → west, degraded: 2 proxies');
  });
});

it.each<[what: string, conf: JsonObject, why: string]>([
  [
    'deny',
    { deny: [{ spiffeID: { type: 'Prefix', value: 'spiffe://default.' } }] },
    'its MeshTrafficPermission clients denies spiffe://',
  ],
  ['permit no client', {}, 'no MeshTrafficPermission of it allows spiffe://'],
  [
    'permit others',
    { allow: [{ spiffeID: { type: 'Exact', value: 'spiffe://other/x' } }] },
    'no MeshTrafficPermission of it allows',
  ],
  [
    'deny by a server name alone',
    { deny: [{ sni: { type: 'Exact', value: 'x' } }], allow: [{ sni: { type: 'Exact', value: 'y' } }] },
    '',
  ],
])('the ways to a service say that permissions of its servers %s', (_, conf, why) => {
  const lines = ways('MeshMultiZoneService', 'everywhere', { puts: [permission(conf)] });
  expect(lines.filter((line) => line.includes('MeshTrafficPermission')).join()).toContain(why);
  expect(lines[0]).toContain(why === '' ? ', ok' : ', broken');
});

it('the ways to a service of all zones lead to each zone', () => {
  const heads = ways('MeshMultiZoneService', 'everywhere', {}).filter((line) => line.startsWith('MeshMultiZoneService'));
  expect(heads).toMatchInlineSnapshot(`
    [
      "MeshMultiZoneService everywhere:80, east, ok: 2 proxies → cart",
      "MeshMultiZoneService everywhere:80, east → north, ok: 2 proxies → 10.1.0.5:10001 (SNI sni.mzsvc.default.everywhere.http) → a server of north",
      "MeshMultiZoneService everywhere:80, east → west, ok: 2 proxies → 10.1.0.4:10001 (SNI sni.mzsvc.default.everywhere.http) → a server of west",
    ]
  `);
});

describe('two services with one server name', () => {
  const inWest = (name: string, namespace: string | null, age: number, spec: JsonObject = {}): Resource => {
    const labels = namespace === null ? {} : { 'k8s.kuma.io/namespace': namespace };
    const { spec: whole } = cartOf('west', { zoneIngress: null, ...spec });
    return { ...make('MeshService', name, whole, { zone: 'west', labels }), creationTime: new Date(age) };
  };
  const [dotted, spaced] = [inWest('a.b', null, 1_000), inWest('a', 'b', 2_000)];
  const address = zoneAddress('west-ingress', 'west', '10.1.0.4');
  const said = (name: string, rows: readonly Resource[]): string =>
    ways('MeshService', name, { puts: [...rows, address] }).join('\n');

  it('are both named, with the one to which it leads', () => {
    expect(said(dotted.name, [dotted, spaced])).toContain(
      'is also that of kri_msvc_default_west_b_a_http: it leads here, because this service is older',
    );
    expect(said(spaced.name, [dotted, spaced])).toContain(
      'is also that of kri_msvc_default_west__a.b_http: it leads there, because that service is older',
    );
    expect(said(dotted.name, [dotted])).not.toContain('is also that of');
  });

  it('break the way of the younger one where its clients use that name', () => {
    const hashed = { zoneIngress: { address: '10.1.0.4', port: 10_001, sni: serviceSni(spaced, 80) ?? '' } };
    const younger = inWest('a', 'b', 2_000, hashed);
    expect(said(spaced.name, [dotted, younger])).toContain('its SNI leads to the older kri_msvc_default_west__a.b_http');
    expect(said(spaced.name, [younger])).not.toContain('its SNI leads to');
  });
});

describe('the ways to an external service', () => {
  it('lead through the egress of the zone', () => {
    expect(ways('MeshExternalService', 'payments', {})[0]).toMatchInlineSnapshot(
      `"MeshExternalService payments:443, east, ok: 2 proxies → 10.0.1.1:10002 (SNI egress.payments) → bank.example:443"`,
    );
  });

  it.each<[what: string, change: Change, base: WayFacts, says: string]>([
    [
      'no egress',
      { puts: [{ ...payments, status: {} }], without: [egress] },
      inEast,
      'give a Dataplane of its mesh there networking.zoneEgress',
    ],
    [
      'an egress that does not listen',
      { puts: [{ ...payments, status: {} }] },
      inEast,
      'its Envoy has not accepted its listener',
    ],
    ['an egress without identity', { without: [egress] }, inEast, 'the egress has no identity'],
    ['on global', {}, onGlobal, 'a zone does not publish its egress'],
  ])('say what is wrong: %s', (_, change, base, says) => {
    expect(ways('MeshExternalService', 'payments', change, base).join('\n')).toContain(says);
  });
});
