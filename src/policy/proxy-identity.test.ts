// The one MeshIdentity of a proxy among several.
import { expect, it } from 'vitest';
import { makeRow } from '../../test/support/make-row.ts';
import type { JsonObject, Labels, Resource } from '../resource/types.ts';
import { MeshIndex } from './mesh-index.ts';
import { proxyIdentity } from './proxy-identity.ts';

const LABELS = { app: 'cart', tier: 'web', 'kuma.io/workload': 'cart' };
const READY = { conditions: [{ type: 'Ready', status: 'True' }] };

type Given = { readonly labels?: Labels; readonly status?: JsonObject; readonly spiffeID?: JsonObject };

const identity = (name: string, matchLabels: JsonObject, { labels = {}, status = READY, spiffeID = {} }: Given = {}): Resource =>
  makeRow('MeshIdentity', name, { mesh: 'shop', labels, status, spec: { selector: { dataplane: { matchLabels } }, spiffeID } });

const chosen = (rows: readonly Resource[], labels: Labels = LABELS): string | undefined =>
  proxyIdentity(new MeshIndex('shop', rows), { labels, zone: 'east' })?.resource.name;

it('the identity of a proxy has its MeshIdentity, its SPIFFE ID and its trust domain', () => {
  const row = identity('one', { app: 'cart' });
  expect(proxyIdentity(new MeshIndex('shop', [row]), { labels: LABELS, zone: 'east' })).toEqual({
    ...{ resource: row, kri: 'kri_mid_shop___one_', trustDomain: 'shop.east.mesh.local' },
    spiffeId: 'spiffe://shop.east.mesh.local/workload/cart',
  });
});

it('a MeshIdentity that was made on this global is in force in the zones that made a MeshTrust of it', () => {
  const made = identity('one', {}, { labels: { 'kuma.io/origin': 'global' }, status: {} });
  const trust = (zone: string, kri: string): Resource =>
    makeRow('MeshTrust', `${zone}-${kri}`, {
      ...{ mesh: 'shop', spec: {}, status: { origin: { kri } } },
      labels: { 'kuma.io/origin': 'zone', 'kuma.io/zone': zone },
    });
  const idIn = (rows: readonly Resource[], zone: string): string | undefined =>
    proxyIdentity(new MeshIndex('shop', rows), { labels: LABELS, zone })?.spiffeId;
  const rows = [made, trust('east', 'kri_mid_shop___one_'), trust('west', 'kri_mid_shop___other_')];
  expect(idIn(rows, 'east')).toBe('spiffe://shop.east.mesh.local/workload/cart');
  expect(idIn(rows, 'west')).toBeUndefined();
  // A zone knows the status of its copy.
  expect(idIn(rows.with(0, { ...made, syncVersion: 'v1' }), 'east')).toBeUndefined();
});

it.each<[string, Resource[], string | undefined]>([
  ['the one with the most labels', [identity('a', {}), identity('c', { app: 'cart', tier: 'web' }), identity('b', { app: 'cart' })], 'c'], // oxfmt-ignore
  ['the first by name of two with as many', [identity('b', { tier: 'web' }), identity('a', { app: 'cart' })], 'a'],
  ['none that selects other labels', [identity('a', { app: 'other' })], undefined],
  ['none that is not ready', [identity('a', { app: 'cart' }, { status: {} }), identity('b', {})], 'b'],
  ['none of another zone', [identity('a', { app: 'cart' }, { labels: { 'kuma.io/zone': 'west' } }), identity('b', {})], 'b'],
  ['one with the label of its zone', [identity('a', { app: 'cart' }, { labels: { 'kuma.io/zone': 'east' } })], 'a'],
  ['none, if the path of the chosen one needs a label that it lacks', [identity('a', { app: 'cart' }, { spiffeID: { path: '/{{ label "team" }}' } }), identity('b', {})], undefined], // oxfmt-ignore
  ['none, if the trust domain of the chosen one needs a label', [identity('a', {}, { spiffeID: { trustDomain: '{{ label "app" }}' } })], undefined], // oxfmt-ignore
])('a proxy has %s', (_, rows, expected) => {
  expect([chosen(rows), chosen(rows.toReversed())]).toEqual([expected, expected]);
});
