// Which servers of a port a proxy reaches, by what their Dataplanes, their services and their zones say.
import { describe, expect, it } from 'vitest';
import { cartOf, crossingRows, EGRESS, egressAt, everywhere, payments, trustOf } from '../../test/xds/crossing-mesh.ts';
import { make, makeDataplane } from '../../test/policy/make-resource.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import { outboundsTo, type Outbound } from '../policy/outbounds.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import type { ConfigProblem } from './config-problem.ts';
import { acceptsTls } from '../policy/demanded-tls.ts';
import {
  egressOf,
  ingressServers,
  localEndpoints,
  membersOf,
  otherZones,
  serverIds,
  serversOf,
  sniOf,
  whyNotServing,
  type Endpoint,
} from './servers.ts';

function outboundTo(index: MeshIndex, service: Resource): Outbound {
  const [found] = outboundsTo(index, service);
  if (found === undefined) throw new Error('the service has no port');
  return found;
}

const CART = { selector: { dataplaneLabels: { matchLabels: { app: 'cart' } } } };
const service = (port: JsonObject): Resource => make('MeshService', 'cart', { ...CART, ports: [port] }, { zone: 'east' });

/** `address port protocol` of each endpoint of port 80, with these networkings of its servers. */
function reached(port: JsonObject, ...servers: JsonObject[]): string[] {
  return placesOf(port, servers).ready;
}

function placesOf(port: JsonObject, servers: readonly JsonObject[]): { ready: string[]; silent: string[] } {
  const cart = service({ port: 80, ...port });
  const dataplanes = servers.map((networking, at) =>
    makeDataplane(`cart-${String(at)}`, { zone: 'east', labels: { app: 'cart' } }, networking),
  );
  const index = new MeshIndex('default', [cart, ...dataplanes]);
  const text = ({ address, port: at, labels }: Endpoint): string => [address, at, labels['kuma.io/protocol']].join(' ');
  const { ready, silent } = localEndpoints(index, outboundTo(index, cart), 'east');
  return { ready: ready.map(text), silent: silent.map(text) };
}

describe('the endpoints of a port in the zone of the client', () => {
  const inbound = (given: JsonObject): JsonObject => ({ inbound: [{ port: 8080, name: 'main', ...given }] });

  it.each<[what: string, port: JsonObject, networking: JsonObject, expected: string[]]>([
    ['the inbound of the target port', { targetPort: 8080 }, inbound({}), ['10.0.0.1 8080 tcp']],
    ['the inbound of the target name', { targetPort: 'main' }, inbound({}), ['10.0.0.1 8080 tcp']],
    ['no inbound of another port', { targetPort: 8081 }, inbound({}), []],
    ['no inbound of another name', { targetPort: 'other' }, inbound({}), []],
    ['the inbound of the port itself, without a target', {}, inbound({ port: 80 }), ['10.0.0.1 80 tcp']],
    ['the protocol of the service', { targetPort: 8080, appProtocol: 'grpc' }, inbound({}), ['10.0.0.1 8080 grpc']],
    [
      'the protocol of the inbound first',
      { targetPort: 8080, appProtocol: 'grpc' },
      inbound({ protocol: 'http' }),
      ['10.0.0.1 8080 http'],
    ],
    ['the address of the inbound first', { targetPort: 8080 }, inbound({ address: '10.0.0.7' }), ['10.0.0.7 8080 tcp']],
    [
      'the advertised address before that of the Dataplane',
      { targetPort: 8080 },
      { ...inbound({}), advertisedAddress: '1.2.3.4' },
      ['1.2.3.4 8080 tcp'],
    ],
    ['no inbound that is not ready', { targetPort: 8080 }, inbound({ state: 'NotReady' }), []],
    ['no inbound that is ignored', { targetPort: 8080 }, inbound({ state: 'Ignored' }), []],
    ['an inbound that is ready', { targetPort: 8080 }, inbound({ state: 'Ready' }), ['10.0.0.1 8080 tcp']],
    [
      'an inbound of the old form that is ready',
      { targetPort: 8080 },
      inbound({ health: { ready: true } }),
      ['10.0.0.1 8080 tcp'],
    ],
    ['no inbound of the old form that is not', { targetPort: 8080 }, inbound({ health: {} }), []],
    ['no inbound at a name', { targetPort: 8080 }, inbound({ address: 'a.b' }), []],
  ])('are %s', (_, port, networking, expected) => {
    expect(reached(port, networking)).toEqual(expected);
  });

  it('are those of all its servers', () => {
    expect(reached({ targetPort: 8080 }, inbound({}), { ...inbound({}), address: '10.0.0.2' })).toEqual([
      '10.0.0.1 8080 tcp',
      '10.0.0.2 8080 tcp',
    ]);
  });

  const unready = { state: 'NotReady', health: { ready: false } };

  it.each<[what: string, networking: JsonObject, silent: string[]]>([
    ['one whose application does not answer', inbound(unready), ['10.0.0.1 8080 tcp']],
    ['none that a person made not ready', inbound({ state: 'NotReady' }), []],
    ['none whose own probe fails', inbound({ ...unready, serviceProbe: { tcp: {} } }), []],
  ])('are silent: %s', (_, networking, silent) => {
    expect(placesOf({ targetPort: 8080 }, [networking])).toEqual({ ready: [], silent });
  });

  it('are none for a port that the service has not', () => {
    const index = new MeshIndex('default', [service({ port: 80 })]);
    expect(serversOf(index, service({ port: 80 }), 81)).toEqual([]);
  });
});

describe('a service of another zone', () => {
  const index = new MeshIndex('default', [trustOf('west')]);

  it.each<[why: string | null, spec: JsonObject, port: number]>([
    [null, {}, 80],
    ['it has no port 81 there', {}, 81],
    ['no server there is available', { state: 'Unavailable' }, 80],
    ['its servers have no identity: a MeshIdentity must select them', { identities: [{ type: 'ServiceTag', value: 'x' }] }, 80],
    [
      'no MeshTrust here has the trust domain of its servers',
      { identities: [{ type: 'SpiffeID', value: 'spiffe://default.west.mesh.local.evil/cart' }] },
      80,
    ],
    [
      null,
      {
        identities: ['other', 'default.west.mesh.local'].map((domain) => ({ type: 'SpiffeID', value: `spiffe://${domain}/a` })),
      },
      80,
    ],
  ])('says why it is not served, or null: %s', (why, spec, port) => {
    expect(whyNotServing(index, cartOf('west', spec), port)).toBe(why);
  });

  it('has a hashed SNI behind a published ingress, and a service of all zones the one of Kuma', () => {
    const mesh = new MeshIndex('default', crossingRows);
    const published = { zoneIngress: { address: '10.1.0.4', port: 10_001, sni: 'west.cart' } };
    expect(sniOf(outboundTo(mesh, cartOf('west', published)))).toBe('west.cart');
    const spec = { ...everywhere.spec, ...published };
    expect(sniOf(outboundTo(mesh, { ...everywhere, spec }))).toBe('sni.mzsvc.default.everywhere.http');
  });

  it('is left out while its zone is disabled, and the zones are sorted', () => {
    const mesh = new MeshIndex('default', crossingRows);
    const zones = (): string[] => otherZones(mesh, outboundTo(mesh, everywhere), 'east', () => undefined).map(({ zone }) => zone);
    expect(zones()).toEqual(['north', 'west']);
    mesh.disableZones(new Set(['north']));
    expect(zones()).toEqual(['west']);
  });

  it('is left out where its zone has no ingress', () => {
    const west = cartOf('west', { zoneIngress: {} });
    const mesh = new MeshIndex('default', [...crossingRows.filter((row) => row.name !== west.name), west]);
    const zones = otherZones(mesh, outboundTo(mesh, everywhere), 'east', () => undefined).map(({ zone }) => zone);
    expect(zones).toEqual(['north']);
  });
});

describe('the servers of a service', () => {
  const ready = cartOf('east');
  const waiting = cartOf('east', {}, { status: 'NotReady' });

  it('accept TLS when the status of their MeshService says so', () => {
    expect([ready, waiting].map(acceptsTls)).toEqual([true, false]);
  });

  it('have each SPIFFE ID once, sorted', () => {
    const id = (zone: string): string => `spiffe://default.${zone}.mesh.local/workload/cart`;
    expect(serverIds([cartOf('west'), cartOf('east'), cartOf('west')])).toEqual([id('east'), id('west')]);
  });

  it('are those of the zone and those of the others', () => {
    const mesh = new MeshIndex('default', crossingRows);
    const { local, remote } = membersOf(mesh, everywhere, 'west');
    const zoneOf = ({ labels }: Resource): string => labels['kuma.io/zone'] ?? '';
    expect([local.map(zoneOf), remote.map(zoneOf).sort()]).toEqual([['west'], ['east', 'north']]);
  });
});

describe('the servers to which an ingress leads', () => {
  const plain = make(
    'Dataplane',
    'plain',
    { networking: { address: '10.0.0.9', inbound: [{ port: 8080 }] } },
    { zone: 'east', labels: { app: 'cart', 'kuma.io/workload': '' } },
  );
  const addresses = (rows: readonly Resource[]): string[] => {
    const mesh = new MeshIndex('default', [...rows, plain]);
    return ingressServers(mesh, outboundTo(mesh, cartOf('east')), 'east').ready.map(({ address }) => address);
  };

  it('have an identity, because clients of other zones use TLS', () => {
    expect(addresses(crossingRows)).toEqual(['10.0.0.1']);
  });

  it('are all where none has one', () => {
    expect(addresses(crossingRows.filter(({ type }) => type !== 'MeshIdentity'))).toEqual(['10.0.0.1', '10.0.0.9']);
  });
});

describe('the egress of a zone', () => {
  const ID = 'spiffe://default.east.mesh.local/workload/egress';

  function egress(zone: string, ...puts: Resource[]): [found: unknown, problems: ConfigProblem[]] {
    const mesh = new MeshIndex('default', [...crossingRows, ...puts]);
    const external = mesh.get('MeshExternalService', payments.name) ?? payments;
    const problems: ConfigProblem[] = [];
    const found = egressOf(mesh, outboundTo(mesh, external), zone, (problem) => void problems.push(problem));
    return [found, problems];
  }
  const publishedAs = (zoneEgress: JsonObject): Resource => ({ ...payments, status: { zoneEgress } });
  const found = (sni: string): unknown => ({ endpoint: { ...EGRESS, labels: payments.labels }, sni, ids: [ID] });

  it.each<[what: string, zone: string, puts: Resource[], expected: unknown]>([
    ['has the published SNI', 'east', [], found('egress.payments')],
    ['has the SNI of Kuma where none is published', 'east', [publishedAs(EGRESS)], found('sni.extsvc.default.payments.443')],
    ['is none of another zone', 'west', [], null],
    ['is none at another port', 'east', [egressAt({ ...EGRESS, port: 10_009 })], null],
    ['is none at another address', 'east', [egressAt({ ...EGRESS, address: '10.0.1.9' })], null],
    ['is none where none is published', 'east', [publishedAs({})], null],
    [
      'may be one of several listeners, at the address of the Dataplane',
      'east',
      [
        make(
          'Dataplane',
          'egress',
          {
            networking: {
              address: EGRESS.address,
              listeners: [
                { type: 'ZoneIngress', port: 1 },
                { type: 'ZoneEgress', port: EGRESS.port },
              ],
            },
          },
          { zone: 'east', labels: { 'kuma.io/workload': 'egress' } },
        ),
      ],
      found('egress.payments'),
    ],
  ])('%s', (_, zone, puts, expected) => {
    expect(egress(zone, ...puts)).toEqual([expected, []]);
  });

  it('is none at a name, and a problem says so', () => {
    const named = { ...EGRESS, address: 'egress.example' };
    const [none, problems] = egress('east', egressAt(named), publishedAs({ ...named, sni: 'a' }));
    expect(none).toBeNull();
    expect(problems).toMatchObject([{ policy: null, reason: expect.stringContaining('the egress of zone east') as string }]);
  });
});
