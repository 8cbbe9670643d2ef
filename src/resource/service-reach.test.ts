import { describe, expect, it } from 'vitest';
import { ingressesOf, sniAcrossZones } from './service-reach.ts';
import { label } from './labels.ts';
import { serviceSni } from './sni.ts';
import type { JsonObject } from './types.ts';

type Row = Parameters<typeof ingressesOf>[0];

function cart(spec: JsonObject): Row {
  const labels = { [label.displayName]: 'cart', [label.zone]: 'west', [label.namespace]: '' };
  const ports = [{ port: 80, name: 'http' }, { port: 90 }];
  return { type: 'MeshService', mesh: 'shop', name: 'cart', labels, spec: { ports, ...spec } };
}

function address(name: string, zone: string, ip: string, mesh = 'shop'): Row {
  return { type: 'MeshZoneAddress', mesh, name, labels: { [label.zone]: zone }, spec: { address: ip, port: 10_001 } };
}

const zoneIngress = { address: '192.0.2.9', port: 10_001, sni: 'a1.cart.80.shop.ms' };

describe('the ways to a MeshService of another zone', () => {
  it('are its own address first, then those of its zone and mesh, each once', () => {
    const others = [address('b', 'west', '192.0.2.9'), address('a', 'west', '192.0.2.1'), address('c', 'east', '192.0.2.2')];
    const places = ingressesOf(cart({ zoneIngress }), [...others, address('d', 'west', '192.0.2.3', 'other')]);
    expect(places.map((place) => place.address)).toEqual(['192.0.2.9', '192.0.2.1']);
  });

  it('are none when its zone has published none', () => {
    expect(ingressesOf(cart({}), [address('c', 'east', '192.0.2.2')])).toEqual([]);
    expect(ingressesOf(cart({ zoneIngress: { address: '192.0.2.9' } }), [])).toEqual([]);
  });

  it.each([
    [{ zoneIngress }, { port: 80, section: 'http' }, 'a1.cart.80.shop.ms'],
    [{ zoneIngress }, { port: 90, section: '90' }, serviceSni(cart({}), 90)],
    [{}, { port: 80, section: 'http' }, 'sni.msvc.shop.west.cart.http'],
    [{}, { port: 90, section: '90' }, 'sni.msvc.shop.west.cart.90'],
  ])('have the SNI of the form that the zone has published: %j %j', (spec, port, sni) => {
    expect(sniAcrossZones(cart(spec), port)).toBe(sni);
  });
});
