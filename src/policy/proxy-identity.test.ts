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
