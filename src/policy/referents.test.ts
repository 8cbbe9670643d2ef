// The objects that a reference resolves to (policies 3.2, D8), and those that another zone does not have.
import { describe, expect, it } from 'vitest';
import { make, makeService } from '../../test/policy/make-resource.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import { Referents } from './referents.ts';
import { targetRefOf } from './target-ref.ts';

const east = makeService('backend', { zone: 'east' });
const eastShop = makeService('backend', { zone: 'east', namespace: 'shop' });
const westShop = makeService('backend', { zone: 'west', namespace: 'shop' });
const labelled = makeService('cart', { zone: 'west', namespace: 'shop', labels: { app: 'cart', team: 'a' } });
const external = make('MeshExternalService', 'pay', {}, { zone: 'east' });

function resolve(
  held: readonly Resource[],
  ref: JsonObject,
  from: { zone?: string; namespace?: string } = {},
  seenFrom = '',
): Resource[] {
  const referents = new Referents();
  for (const resource of held) referents.add(resource);
  return referents.resolve(targetRefOf({ kind: 'MeshService', ...ref }), { zone: '', namespace: '', ...from }, seenFrom);
}

describe('a reference by name', () => {
  it("finds the object of the policy's own zone and namespace", () => {
    expect(resolve([eastShop, westShop], { name: 'backend' }, { zone: 'east', namespace: 'shop' })).toEqual([eastShop]);
    expect(resolve([eastShop, westShop], { name: 'backend', namespace: 'shop' }, { zone: 'west', namespace: 'other' })).toEqual([
      westShop,
    ]);
  });

  it('finds the objects of all zones when its own zone has none', () => {
    expect(resolve([eastShop, westShop], { name: 'backend', namespace: 'shop' })).toEqual([eastShop, westShop]);
  });

  it('searches every namespace when the policy and the reference have none and no object without a namespace exists', () => {
    expect(resolve([eastShop, westShop], { name: 'backend' })).toEqual([eastShop, westShop]);
    expect(resolve([eastShop, westShop], { name: 'backend' }, { zone: 'west' })).toEqual([westShop]);
    expect(resolve([east, westShop], { name: 'backend' })).toEqual([east]);
  });

  it('finds an object of its own zone in any namespace before one of another zone without a namespace', () => {
    expect(resolve([east, westShop], { name: 'backend' }, { zone: 'west' })).toEqual([westShop]);
    expect(resolve([east, eastShop, westShop], { name: 'backend' }, { zone: 'east' })).toEqual([east]);
    expect(resolve([east, westShop], { name: 'backend' }, { zone: 'north' })).toEqual([east]);
  });

  it('finds objects in the namespace of the policy only', () => {
    expect(resolve([east, eastShop], { name: 'backend' }, { zone: 'east', namespace: 'other' })).toEqual([]);
  });
});

describe('a reference by labels', () => {
  it('finds all objects with every label, in any zone and namespace', () => {
    expect(resolve([eastShop, labelled], { labels: { app: 'cart', team: 'a' } }, { zone: 'east', namespace: 'x' })).toEqual([
      labelled,
    ]);
    expect(resolve([labelled], { labels: { app: 'cart', team: 'b' } })).toEqual([]);
  });

  it('uses the name as the display name when the label is missing', () => {
    const bare = { ...east, labels: {} };
    expect(resolve([bare], { labels: { 'kuma.io/display-name': 'backend.east' } })).toEqual([bare]);
  });
});

describe('a reference for the proxies of a zone', () => {
  it('does not find resources that the control plane of the zone does not have', () => {
    const ref = { kind: 'MeshExternalService', name: 'pay' };
    expect(resolve([external], ref, {}, 'west')).toEqual([]);
    expect(resolve([external], ref, {}, 'east')).toEqual([external]);
    expect(resolve([eastShop], { name: 'backend' }, {}, 'west')).toEqual([eastShop]);
  });
});

it('does not find deleted resources', () => {
  const referents = new Referents();
  for (const resource of [eastShop, labelled]) {
    referents.add(resource);
    referents.delete(resource);
    referents.delete(resource);
  }
  expect(
    referents.resolve(targetRefOf({ kind: 'MeshService', labels: { app: 'cart' } }), { zone: '', namespace: '' }, ''),
  ).toEqual([]);
  expect(referents.withKri('MeshService', 'kri_msvc_default_east_shop_backend_')).toBeUndefined();
});

describe('a resource', () => {
  const referents = new Referents();

  it('has a KRI and can be visible until it is deleted', () => {
    for (const resource of [east, westShop]) referents.add(resource);
    expect([referents.kriOf(east), referents.isVisible(east, 'east')]).toEqual(['kri_msvc_default_east__backend_', true]);
    referents.delete(east);
    referents.delete(east);
    expect([referents.kriOf(east), referents.isVisible(east, 'east')]).toEqual(['', false]);
    expect(referents.kriOf(westShop)).not.toBe('');
  });
});

it('of copies with one KRI, the one with the smallest stored name counts, in any order', () => {
  const other = { ...westShop, name: 'a-copy' };
  const cart = { ...labelled, labels: { ...labelled.labels, app: 'cart' } };
  for (const held of [
    [westShop, other, cart],
    [cart, other, westShop],
  ]) {
    const referents = new Referents();
    for (const resource of held) referents.add(resource);
    expect(referents.withKri('MeshService', 'kri_msvc_default_west_shop_backend_')).toBe(other);
    expect(resolve(held, { name: 'backend', namespace: 'shop' })).toEqual([other]);
    expect(resolve(held, { labels: { 'kuma.io/zone': 'west' } })).toEqual([other, cart]);
  }
});
