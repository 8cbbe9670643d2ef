import { describe, expect, it } from 'vitest';
import { label } from '../../resource/labels.ts';
import type { JsonObject } from '../../resource/types.ts';
import type { Item } from '../client/api-client.ts';
import { externalServiceReach, meshServiceReach, servicesBehind, type ReachFacts } from './service-reach.ts';

const zoneIngress = { address: '192.0.2.1', port: 30001, sni: 'a57288023ec4e82f1.cart.80.shop.ms' };
const zones = [
  { name: 'east', isEnabled: true, unheard: '' },
  { name: 'west', isEnabled: true, unheard: '' },
];
const facts: ReachFacts = { zones, asked: null, addresses: [] };

function cart(
  spec: JsonObject = {},
  { labels = {}, status = {} }: { labels?: Record<string, string>; status?: JsonObject } = {},
): Item {
  return {
    ...{ type: 'MeshService', mesh: 'shop', name: 'cart-5d8vw9w4f4x8c29z' },
    labels: { [label.displayName]: 'cart', [label.zone]: 'east', ...labels },
    spec: { ports: [{ port: 80 }], state: 'Available', ...spec },
    status: { dataplaneProxies: { healthy: 1, total: 2 }, ...status },
  };
}

function linesOf(service: Item, given: ReachFacts = facts): string[] {
  return meshServiceReach(service, given).map(({ from, how, address, sni, why }) => [from, how, address, sni, why].join(' | '));
}

describe('a MeshService', () => {
  it('is local in its zone and behind the ingress in other zones, with one line for each port', () => {
    expect(linesOf(cart({ zoneIngress, ports: [{ port: 80 }, { port: 81 }] }))).toEqual([
      'east | local |  |  | 1 of 2 proxies healthy',
      'west | through ingress | 192.0.2.1:30001 | a57288023ec4e82f1.cart.80.shop.ms | ',
      'west | through ingress | 192.0.2.1:30001 | a57288023ec4e82f1.cart.81.shop.ms | ',
    ]);
  });

  it('is reached by the MeshZoneAddresses of a zone that publishes no ingress (D27)', () => {
    const address = (name: string, zone: string, ip: string): Item => ({
      ...{ type: 'MeshZoneAddress', mesh: 'shop', name, labels: { [label.zone]: zone } },
      spec: { address: ip, port: 10001 },
    });
    const addresses = [address('b', 'east', '192.0.2.2'), address('a', 'east', '2001:db8::1'), address('0', 'west', '192.0.2.3')];
    expect(linesOf(cart(), { ...facts, addresses })[1]).toBe(
      'west | through ingress | [2001:db8::1]:10001, 192.0.2.2:10001 | sni.msvc.shop.east.cart.80 | ',
    );
  });

  it('is not known where a zone on the way is not connected, except to that zone', () => {
    const away = zones.map((zone) => (zone.name === 'west' ? { ...zone, unheard: 'zone west is not connected' } : zone));
    const last = 'zone west is not connected: this was its last state';
    expect(linesOf(cart({ zoneIngress }), { ...facts, zones: away })).toEqual([
      'east | local |  |  | 1 of 2 proxies healthy',
      `west | not known here | 192.0.2.1:30001 | a57288023ec4e82f1.cart.80.shop.ms | ${last}`,
    ]);
    expect(linesOf(cart({ zoneIngress }), { ...facts, zones: away, asked: 'west' })[1]).toContain('through ingress');
  });

  it.each<[what: string, service: Item, facts: ReachFacts, line: number, says: string]>([
    ['no ingress', cart(), facts, 1, 'has no ready ingress'],
    ['nothing healthy', cart({ zoneIngress, state: 'Unavailable' }), facts, 1, 'no proxy in zone east is healthy'],
    ['no ports', cart({ zoneIngress, ports: [] }), facts, 1, 'it has no ports'],
    ['no ports at home', cart({ zoneIngress, ports: [] }), facts, 0, 'it has no ports'],
    ['kept at home', cart({ zoneIngress }, { labels: { [label.kdsSync]: 'disabled' } }), facts, 1, 'stays in zone east'],
    ['a zone that is disabled', cart({ zoneIngress }), { ...facts, zones: disabled('east') }, 1, 'zone east is disabled'],
    ['no proxies', cart({}, { status: { dataplaneProxies: {} } }), facts, 0, 'finds no Dataplane'],
    ['no healthy ones', cart({}, { status: { dataplaneProxies: { total: 2 } } }), facts, 0, 'all of its 2 proxies are unhealthy'],
  ])('is not reachable: %s', (_, service, given, line, says) => {
    const found = meshServiceReach(service, given)[line];
    expect(found?.how).toBe('not at all');
    expect(found?.why).toContain(says);
  });
});

describe('a MeshExternalService', () => {
  const egress = { address: '10.0.0.2', port: 10002, sni: 'a.b' };
  const external = (status: JsonObject): Item => ({ type: 'MeshExternalService', mesh: 'shop', name: 'api', status });
  const inEast: ReachFacts = { zones: zones.slice(0, 1), asked: 'east', addresses: [] };

  it('is reached through the egress of the local zone, or is not reachable', () => {
    expect(externalServiceReach(external({ zoneEgress: egress }), inEast)).toMatchObject([
      { from: 'east', how: 'through egress', address: '10.0.0.2:10002', sni: 'a.b' },
    ]);
    expect(externalServiceReach(external({}), inEast)).toMatchObject([{ how: 'not at all' }]);
  });

  it('is unknown on global, because zones do not publish their egress (D22)', () => {
    expect(externalServiceReach(external({}), facts).map(({ how }) => how)).toEqual(['not known here', 'not known here']);
  });
});

it('a MeshMultiZoneService selects services by its labels', () => {
  const spec = { selector: { meshService: { matchLabels: { [label.displayName]: 'cart' } } } };
  const other = cart({}, { labels: { [label.displayName]: 'other' } });
  expect(servicesBehind({ type: 'MeshMultiZoneService', name: 'm', spec }, [cart(), other])).toEqual([cart()]);
  const all = { selector: { meshService: { matchLabels: {} } } };
  expect(servicesBehind({ type: 'MeshMultiZoneService', name: 'm', spec: all }, [cart(), other])).toEqual([]);
});

function disabled(name: string): ReachFacts['zones'] {
  return zones.map((zone) => (zone.name === name ? { ...zone, isEnabled: false } : zone));
}
