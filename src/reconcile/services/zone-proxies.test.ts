// The zone proxy of a mesh, and the address that a zone publishes.
import { describe, expect, it } from 'vitest';
import { chooseZoneProxy, publishedAddress, readyZoneProxies, wantedAddresses, type ZoneProxy } from './zone-proxies.ts';

const address = (port: number) => ({ address: '10.0.0.1', port });
const proxy = (name: string, port: number, { isAway = false, isLeaving = false } = {}): ZoneProxy => ({
  ...{ name, address: address(port), isAway, isLeaving },
});
const away = { isAway: true };

describe('the zone proxy of a mesh', () => {
  it('is the first by name that is not away', () => {
    expect(chooseZoneProxy([proxy('c', 3), proxy('b', 2), proxy('a', 1, away)])).toEqual(address(2));
    expect(chooseZoneProxy([proxy('c', 3), proxy('a', 1, away)])).toEqual(address(3));
    expect(chooseZoneProxy([proxy('a', 1, away)])).toBeNull();
  });
});

describe('the zone proxies of a mesh', () => {
  it('are those that take connections, each address once', () => {
    const proxies = [proxy('d', 4), proxy('c', 3, { isLeaving: true }), proxy('b', 2, away), proxy('a', 1), proxy('e', 1)];
    expect(readyZoneProxies(proxies)).toEqual([
      { name: 'a', address: address(1) },
      { name: 'd', address: address(4) },
    ]);
  });

  it('have a row each: that of the first has a name of its own', () => {
    const wanted = wantedAddresses(readyZoneProxies([proxy('b', 2), proxy('a', 1)]));
    expect([...wanted]).toEqual([
      ['zone-ingress', address(1)],
      ['zone-ingress-b', address(2)],
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
