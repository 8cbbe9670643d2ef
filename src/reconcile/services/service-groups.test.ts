// The services of a Dataplane, from its tags or its workload (policies 9.4).
import { describe, expect, it } from 'vitest';
import { makeRow } from '../../../test/support/make-row.ts';
import type { JsonObject, Labels } from '../../resource/types.ts';
import { dataplaneFacts } from './dataplane-facts.ts';
import { membershipsOf, selectorOf, ServiceGroups, serviceTagsOf, type Membership } from './service-groups.ts';

const facts = (inbound: JsonObject[], labels: Labels = {}, more: JsonObject = {}) =>
  dataplaneFacts(makeRow('Dataplane', 'dp-1', { labels, spec: { networking: { inbound, ...more } } }));
const tag = (service: string): JsonObject => ({ 'kuma.io/service': service });
const workload = { 'kuma.io/workload': 'cart' };
const port = (number: number, name = String(number), appProtocol = 'tcp') => ({
  ...{ name, port: number, targetPort: number, appProtocol },
});
const services = (inbound: JsonObject[], labels?: Labels): unknown =>
  membershipsOf(facts(inbound, labels)).map(({ by, service, ports }) => [by, service, ports]);

describe('a Dataplane', () => {
  it('is in the service of each tag, with one port for each number, the first of several', () => {
    const inbound = [
      { port: 80, name: 'web', protocol: 'http', tags: tag('cart') },
      { port: 80, name: 'again', tags: tag('cart') },
      { port: 81, protocol: 'kafka', tags: tag('cart') },
      { port: 82, tags: { ...tag('admin'), 'kuma.io/protocol': 'grpc' } },
    ];
    expect(services(inbound, workload)).toEqual([
      ['tag', 'cart', [port(80, 'web', 'http'), port(81)]],
      ['tag', 'admin', [port(82, '82', 'grpc')]],
    ]);
  });

  it('is in the service of its workload where no inbound has the tag', () => {
    expect(services([{ port: 80 }, { port: 81 }], workload)).toEqual([['workload', 'cart', [port(80), port(81)]]]);
    expect(services([{ port: 80 }])).toEqual([]);
    expect(services([{ port: 80 }, { port: 81, tags: tag('') }], workload)).toEqual([]);
  });

  it('is in no service without a port, or with a name that no service can have', () => {
    expect(services([{ tags: tag('cart') }, { port: 80, tags: tag('Cart_1') }])).toEqual([]);
  });

  it('has an address of its ingress and its egress only where they are complete', () => {
    const ingress = { advertisedAddress: '1.2.3.4', advertisedPort: 10 };
    const egress = { address: '1.2.3.5', port: 11 };
    expect(facts([], {}, { zoneIngress: ingress, zoneEgress: egress })).toMatchObject({
      ingress: { address: '1.2.3.4', port: 10 },
      egress: { address: '1.2.3.5', port: 11 },
    });
    const broken = { zoneIngress: { ...ingress, advertisedPort: 0 }, zoneEgress: { ...egress, address: '' } };
    expect(facts([], {}, broken)).toMatchObject({ ingress: null, egress: null });
    expect(facts([], {}, { advertisedAddress: '1.2.3.4', zoneIngress: { advertisedPort: 10 } }).ingress).toBeNull();
  });

  it('has the address of the first of its listed egresses that is ready', () => {
    const listener = (port: number, state?: string): JsonObject => ({
      ...{ type: 'ZoneEgress', address: '1.2.3.5', port },
      ...(state !== undefined && { state }),
    });
    const ingress = { ...listener(9), type: 'ZoneIngress' };
    const listeners = [ingress, listener(10, 'NotReady'), listener(11), listener(12, 'Ready')];
    expect(facts([], {}, { listeners })).toMatchObject({ ingress: null, egress: { address: '1.2.3.5', port: 11 } });
    expect(facts([], {}, { listeners: [listener(10, 'NotReady')] }).egress).toBeNull();
  });

  it.each<[JsonObject, string]>([
    [{}, 'Ready'],
    [{ state: 'Ready' }, 'Ready'],
    [{ state: 'NotReady', health: { ready: true } }, 'NotReady'],
    [{ state: 'Ignored' }, 'Ignored'],
    [{ health: { ready: true } }, 'Ready'],
    [{ health: {} }, 'NotReady'],
    [{ health: { ready: false } }, 'NotReady'],
  ])('has an inbound with the state of %j: %s', (given, state) => {
    expect(facts([{ port: 80, ...given }]).inbounds.map((inbound) => inbound.state)).toEqual([state]);
  });
});

it('a service selects its members by the tag or by the workload', () => {
  expect(selectorOf('tag', 'cart')).toEqual({ dataplaneTags: { 'kuma.io/service': 'cart' } });
  expect(selectorOf('workload', 'cart')).toEqual({ dataplaneLabels: { matchLabels: { 'kuma.io/workload': 'cart' } } });
  expect(serviceTagsOf(facts([{ port: 1, tags: tag('a') }, { port: 2 }, { port: 3, tags: tag('b') }]))).toEqual(['a', 'b']);
});

it('the groups of a mesh name the services that a change of a Dataplane concerns, and keep no empty one', () => {
  const groups = new ServiceGroups();
  const member = (service: string): Membership => ({ by: 'tag', service, name: 'x', created: 0, ports: [] });
  expect([...groups.put('x', [member('a'), member('b')])]).toEqual(['a', 'b']);
  expect([...groups.put('y', [{ ...member('b'), name: 'y' }])]).toEqual(['b']);
  expect(groups.membersOf('b').map(({ name }) => name)).toEqual(['x', 'y']);
  expect([...groups.put('x', [member('c')])]).toEqual(['a', 'b', 'c']);
  expect([...groups.services()].sort()).toEqual(['b', 'c']);
  expect([...groups.put('x', [])]).toEqual(['c']);
  expect([...groups.put('x', [])]).toEqual([]);
  expect([[...groups.services()], groups.membersOf('b').length, groups.membersOf('c')]).toEqual([['b'], 1, []]);
});
