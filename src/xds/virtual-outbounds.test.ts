import { expect, it } from 'vitest';
import { make } from '../../test/policy/make-resource.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import { virtualOutbounds } from './virtual-outbounds.ts';

const PORTS = { redirectPortInbound: 15_006, redirectPortOutbound: 15_001 };

function service(
  name: string,
  ip: string,
  more: { at?: number; labels?: Record<string, string>; namespace?: string } = {},
): Resource {
  const { at = 0, labels = {}, namespace } = more;
  const ports = [{ port: 80, name: 'http' }, { port: 90 }];
  const made = { zone: 'east', labels, ...(namespace !== undefined && { namespace }) };
  const row = make('MeshService', name, { ports }, made);
  return { ...row, status: ip === '' ? {} : { vips: [{ ip }] }, creationTime: new Date(at * 1000) };
}

/** The places of a proxy, and what is reported. */
function placesOf(transparentProxying: JsonObject, ...rows: Resource[]): { places: string[]; reasons: string[] } | null {
  const dataplane = make('Dataplane', 'web', { networking: { inbound: [{ port: 1 }], transparentProxying } }, { zone: 'east' });
  const index = new MeshIndex('default', [dataplane, ...rows]);
  const proxy = index.proxy(dataplane.name);
  const found = proxy === undefined ? null : virtualOutbounds(index, proxy);
  if (found === null) return null;
  const reasons = found.problems.map(({ field, reason }) => `${field.replace('networking.transparentProxying', '')}: ${reason}`);
  return { places: [...found.byPlace.keys()].sort(), reasons };
}

const reachable = (...refs: JsonObject[]): JsonObject => ({ ...PORTS, reachableBackends: { refs } });
const [CART, SHOP] = [service('cart', '241.0.0.1'), service('shop', '241.0.0.2', { labels: { team: 'shop' } })];

it('a proxy whose connections are not redirected calls no service at a virtual address', () => {
  expect(placesOf({}, CART)).toBeNull();
  expect(placesOf({ redirectPortInbound: 15_006 }, CART)).toBeNull();
});

it.each<[what: string, transparentProxying: JsonObject, places: string[]]>([
  ['all', PORTS, ['241.0.0.1:80', '241.0.0.1:90', '241.0.0.2:80', '241.0.0.2:90']],
  ['none', reachable(), []],
  ['those with a name', reachable({ kind: 'MeshService', name: 'cart' }), ['241.0.0.1:80', '241.0.0.1:90']],
  ['a port of those with labels', reachable({ kind: 'MeshService', labels: { team: 'shop' }, port: 90 }), ['241.0.0.2:90']],
  ['a section', reachable({ kind: 'MeshService', name: 'cart', sectionName: 'http' }), ['241.0.0.1:80']],
])('a redirected proxy calls services at virtual addresses: %s', (_, transparentProxying, places) => {
  expect(placesOf(transparentProxying, CART, SHOP)).toEqual({ places, reasons: [] });
});

it('a reference by name means the service of the namespace that it names', () => {
  const rows = [service('cart', '241.0.0.3', { namespace: 'a' }), service('cart', '241.0.0.4', { namespace: 'b' })];
  const ref = { kind: 'MeshService', name: 'cart', namespace: 'b', port: 80 };
  expect(placesOf(reachable(ref), ...rows)?.places).toEqual(['241.0.0.4:80']);
});

it.each<[ref: JsonObject, reason: string]>([
  [{ kind: 'MeshService', name: 'none' }, 'MeshService none does not exist'],
  [{ kind: 'MeshService', name: 'cart', port: 81 }, 'MeshService cart has no port 81'],
  [{ kind: 'MeshService', name: 'cart', sectionName: 'x' }, 'MeshService cart has no port x'],
  [{ kind: 'Mesh' }, 'must have kind MeshService, MeshExternalService, MeshMultiZoneService'],
])('the reference %j is reported as one that means nothing', (ref, reason) => {
  const found = placesOf(reachable({ kind: 'MeshService', name: 'cart', port: 80 }, ref), CART);
  expect(found).toEqual({ places: ['241.0.0.1:80'], reasons: [`.reachableBackends.refs[1]: ${reason}: it adds no outbound`] });
});

it('of two services with one address the older keeps each place, and the other keeps its further ports', () => {
  const young = { ...service('young', '241.0.0.1', { at: 9 }), spec: { ports: [{ port: 80 }, { port: 99 }] } };
  const found = placesOf(PORTS, young, service('old', '241.0.0.1', { at: 1 }));
  expect(found?.places).toEqual(['241.0.0.1:80', '241.0.0.1:90', '241.0.0.1:99']);
  expect(found?.reasons).toEqual([
    ': kri_msvc_default_east__young_80 has no listener: kri_msvc_default_east__old_http has 241.0.0.1:80 already',
  ]);
});

it('a service has no place while it has no address', () => {
  expect(placesOf(PORTS, service('new', ''))).toEqual({ places: [], reasons: [] });
});

it.each<[mode: string | undefined, places: string[], reasons: number]>([
  [undefined, ['[fd00::1]:80', '[fd00::1]:90'], 0],
  ['DualStack', ['[fd00::1]:80', '[fd00::1]:90'], 0],
  ['IPv6', ['[fd00::1]:80', '[fd00::1]:90'], 0],
  ['IPv4', [], 2],
])('with ipFamilyMode %s a service at an IPv6 address has the places %j', (mode, places, reasons) => {
  const found = placesOf({ ...PORTS, ...(mode !== undefined && { ipFamilyMode: mode }) }, service('six', 'fd00::1'));
  expect([found?.places, found?.reasons.length]).toEqual([places, reasons]);
});

it('an address that is none is reported', () => {
  expect(placesOf(PORTS, { ...service('odd', 'somewhere'), spec: { ports: [{ port: 80 }] } })?.reasons).toEqual([
    ': kri_msvc_default_east__odd_80 has no listener: its virtual address somewhere is no IP address',
  ]);
});
