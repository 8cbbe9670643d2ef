// The zone proxy of a mesh, and the address that a zone publishes.
import { describe, expect, it } from 'vitest';
import { fc } from '../../../test/support/property.ts';
import type { JsonObject } from '../../resource/types.ts';
import { placeText } from '../../resource/zone-listeners.ts';
import { publishedAddress, readyZoneProxies, wantedAddresses, type ZoneProxy } from './zone-proxies.ts';

const address = (port: number) => ({ address: '10.0.0.1', port });
const proxy = (name: string, port: number, state: ZoneProxy['state'] = 'present', more: Partial<ZoneProxy> = {}): ZoneProxy => ({
  ...{ name, address: address(port), state, isLeaving: false, isListening: true, ...more },
});
const none: ReadonlySet<string> = new Set();
const all = new Set(Array.from({ length: 9 }, (_, port) => placeText(address(port))));
const ports = (proxies: ZoneProxy[], published: ReadonlySet<string> = all): number[] =>
  readyZoneProxies(proxies, published).map((one) => one.address.port);

describe('the zone proxies of a mesh', () => {
  it('are those that take connections, by name, each address once', () => {
    const proxies = [
      proxy('d', 4),
      proxy('c', 3, 'present', { isLeaving: true }),
      proxy('b', 2, 'gone'),
      proxy('a', 1),
      proxy('e', 1),
    ];
    expect(readyZoneProxies(proxies, none)).toEqual([
      { name: 'a', address: address(1) },
      { name: 'd', address: address(4) },
    ]);
    expect(ports([proxy('a', 1, 'gone'), proxy('b', 2, 'present', { isLeaving: true })])).toEqual([]);
  });

  it('stay with a lost control plane, and the last ones with a broken stream too', () => {
    expect(ports([proxy('a', 1, 'broken'), proxy('b', 2, 'lost'), proxy('c', 3)])).toEqual([2, 3]);
    expect(ports([proxy('a', 1, 'broken'), proxy('b', 2, 'lost')])).toEqual([2]);
    expect(ports([proxy('a', 1, 'broken'), proxy('b', 2, 'gone'), proxy('c', 3, 'broken')])).toEqual([1, 3]);
    expect(ports([proxy('a', 1, 'broken', { isLeaving: true }), proxy('b', 2, 'lost', { isLeaving: true })])).toEqual([]);
  });

  it('are not published because they are absent', () => {
    const proxies = [proxy('a', 1, 'broken'), proxy('b', 2, 'lost')];
    expect(ports(proxies, none)).toEqual([]);
    expect(ports(proxies, new Set([placeText(address(1))]))).toEqual([1]);
  });

  it('are those whose listener was accepted: absence does not keep one that was not', () => {
    const states = ['present', 'lost', 'broken'] as const;
    expect(states.flatMap((state) => ports([proxy('a', 1, state, { isListening: false })]))).toEqual([]);
    expect(ports([proxy('a', 1, 'present', { isListening: false }), proxy('b', 2)])).toEqual([2]);
  });

  it('have a row each: that of the first has a name of its own', () => {
    const wanted = wantedAddresses(readyZoneProxies([proxy('b', 2), proxy('a', 1)], none), new Map());
    expect([...wanted]).toEqual([
      ['zone-ingress', address(1)],
      ['zone-ingress-b', address(2)],
    ]);
  });

  it('keep their rows while others come and go: rows reach another zone one by one', () => {
    const some = fc.subarray(['a', 'b', 'c', 'd']);
    fc.assert(
      fc.property(fc.array(some, { minLength: 2 }), (steps) => {
        let rows = new Map<string, { spec: JsonObject }>();
        let before: readonly string[] = [];
        for (const names of steps) {
          const ready = readyZoneProxies(
            names.map((name) => proxy(name, name.charCodeAt(0))),
            none,
          );
          const wanted = wantedAddresses(ready, rows);
          expect(new Set(wanted.values())).toEqual(new Set(ready.map((one) => one.address)));
          for (const { name, address: own } of ready.filter((one) => before.includes(one.name)))
            for (const [row, { spec }] of rows) if (spec['port'] === own.port) expect(wanted.get(row), name).toEqual(own);
          rows = new Map([...wanted].map(([row, spec]) => [row, { spec: { ...spec } }]));
          before = names;
        }
      }),
    );
  });

  it('keep their rows when their addresses change', () => {
    const rows = new Map([
      ['zone-ingress', { spec: address(1) }],
      ['zone-ingress-b', { spec: address(2) }],
    ]);
    expect([...wantedAddresses(readyZoneProxies([proxy('a', 11), proxy('b', 12)], none), rows)]).toEqual([
      ['zone-ingress-b', address(12)],
      ['zone-ingress', address(11)],
    ]);
  });
});

describe('the published address', () => {
  const place = { mesh: 'shop', zone: 'east', name: 'zone-ingress' };
  const labels = {
    ...{ 'kuma.io/mesh': 'shop', 'kuma.io/zone': 'east', 'kuma.io/origin': 'zone', 'kuma.io/env': 'universal' },
    ...{ 'kuma.io/display-name': 'zone-ingress', 'kuma.io/managed-by': 'zone-ingress-publisher' },
  };

  it('has the place and the address, and keeps the labels of other writers', () => {
    const spec = { address: '10.0.0.1', port: 7 };
    expect(publishedAddress(undefined, address(7), place)).toEqual({ labels, spec });
    const stored = { labels: { ...labels, team: 'a', 'kuma.io/zone': 'west' }, syncVersion: null };
    expect(publishedAddress(stored, address(7), place)).toEqual({ labels: { ...labels, team: 'a' }, spec });
  });

  it('goes with the last ingress', () => {
    expect(publishedAddress({ labels, syncVersion: null }, null, place)).toBe('gone');
    expect(publishedAddress(undefined, null, place)).toBe('gone');
  });

  it.each([
    ['of a user', { 'kuma.io/origin': 'zone' }, null],
    ['of another manager', { ...labels, 'kuma.io/managed-by': 'other' }, null],
    ['of global', { ...labels, 'kuma.io/origin': 'global' }, 'v1'],
  ])('leaves a row %s', (_, given, syncVersion) => {
    expect(publishedAddress({ labels: given, syncVersion }, address(7), place)).toBeNull();
    expect(publishedAddress({ labels: given, syncVersion }, null, place)).toBeNull();
  });
});
