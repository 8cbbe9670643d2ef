// Which resources the references of `to[]` items mean, and what is said about those that mean none.
import { describe, expect, it } from 'vitest';
import { make, makeRoute, makeService } from '../../test/policy/make-resource.ts';
import type { JsonObject } from '../resource/types.ts';
import { destinationsOf, groupItems, sectionOf } from './group-items.ts';
import { MeshIndex } from './mesh-index.ts';
import type { Policy } from './parse-policy.ts';
import { targetRefOf } from './target-ref.ts';

const rows = [
  makeService('cart', { labels: { app: 'cart' } }),
  makeService('basket', { labels: { app: 'cart' } }),
  make('MeshExternalService', 'bank', { match: { type: 'HostnameGenerator', port: 443, protocol: 'tcp' }, endpoints: [] }),
  makeRoute('slow', { name: 'cart' }),
];

/** The policy with these references, in a mesh with the rows. */
function policyOf(type: string, ...refs: JsonObject[]): { index: MeshIndex; policy: Policy } {
  const to = refs.map((targetRef) => ({ targetRef, default: {} }));
  const index = new MeshIndex('default', [...rows, make(type, 'p', { to })]);
  const policy = index.policy(type, 'p');
  if (policy === undefined) throw new Error('no policy');
  return { index, policy };
}

it.each([
  ['MeshService', 'admin'],
  ['MeshMultiZoneService', 'admin'],
  ['MeshExternalService', ''],
  ['MeshHTTPRoute', ''],
  ['Mesh', ''],
])('a reference to a %s has the section «%s» of those that it names', (kind, section) => {
  expect(sectionOf(targetRefOf({ kind, name: 'x', sectionName: 'admin' }))).toBe(section);
});

describe('a reference', () => {
  it.each<[type: string, ref: JsonObject, expected: string[] | string]>([
    ['MeshTimeout', { kind: 'MeshService', name: 'cart' }, ['cart']],
    ['MeshTimeout', { kind: 'MeshService', labels: { app: 'cart' } }, ['basket', 'cart']],
    ['MeshTimeout', { kind: 'MeshService', name: 'cart', sectionName: 'admin' }, ['cart']],
    [
      ...(['MeshTimeout', { kind: 'MeshService', name: 'cart', sectionName: 'none' }] as const),
      'MeshService cart section none does not exist: no such port',
    ],
    ['MeshTimeout', { kind: 'MeshExternalService', name: 'bank', sectionName: 'none' }, ['bank']],
    ['MeshTimeout', { kind: 'MeshService', name: 'none' }, 'MeshService none does not exist'],
    ['MeshTimeout', { kind: 'MeshHTTPRoute', name: 'slow' }, ['slow']],
    ['MeshRetry', { kind: 'MeshTCPRoute', name: 'x' }, 'MeshTCPRoute x does not exist'],
    ['MeshCircuitBreaker', { kind: 'MeshHTTPRoute', name: 'slow' }, 'MeshCircuitBreaker cannot be configured on a MeshHTTPRoute'],
    ['MeshTimeout', { kind: 'Dataplane', name: 'x' }, 'MeshTimeout cannot be configured on a Dataplane'],
  ])('of a %s: %j means %j', (type, ref, expected) => {
    const { index, policy } = policyOf(type, ref);
    const found = destinationsOf(index, targetRefOf(ref), policy, 'east');
    expect(typeof found === 'string' ? found : found.map(({ name }) => name).sort()).toEqual(expected);
  });
});

it('items are grouped by what they mean, in their order, and a sentence names each that means nothing', () => {
  const cart = { kind: 'MeshService', name: 'cart' };
  const { index, policy } = policyOf(
    'MeshTimeout',
    ...[cart, { kind: 'Mesh' }, { kind: 'MeshService', labels: { app: 'cart' } }, { ...cart, name: 'none' }],
  );
  const { mesh, groups, warnings } = groupItems(index, policy.to, 'east');
  expect(mesh.map(({ index: at }) => at)).toEqual([1]);
  expect([...groups].map(([kri, { items }]) => [kri, items.map(({ index: at }) => at)])).toEqual([
    ['kri_msvc_default___cart_', [0, 2]],
    ['kri_msvc_default___basket_', [2]],
  ]);
  expect(warnings).toEqual(['MeshTimeout p: spec.to[3].targetRef: MeshService none does not exist']);
});
