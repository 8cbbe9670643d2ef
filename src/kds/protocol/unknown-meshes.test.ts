import { describe, expect, it } from 'vitest';
import { holdUnknown, meshesIn, oneOfEachMesh } from './unknown-meshes.ts';

const versions = (...names: string[]): Map<string, string> => new Map(names.map((name) => [name, `version of ${name}`]));

it('the meshes of the resources of a peer are those of their wire names', () => {
  expect(meshesIn('MeshTimeout', ['a.shop', 'b.shop', 'c.d.pay', 'without'])).toEqual(new Set(['shop', 'pay']));
  expect(meshesIn('Mesh', ['shop.', 'pay.'])).toEqual(new Set(['shop', 'pay']));
  expect(meshesIn('HostnameGenerator', ['one.', 'two.'])).toEqual(new Set());
});

it('one resource of each mesh stands for the others', () => {
  expect(oneOfEachMesh('MeshTimeout', versions('a.shop', 'b.shop', 'c.pay', 'without'))).toEqual(versions('a.shop', 'c.pay'));
});

describe('a resource of an unknown mesh', () => {
  it('is held back with a reason, and no other resource', () => {
    const { known, held } = holdUnknown('MeshTimeout', versions('a.shop', 'b.pay', 'c.shop'), new Set(['shop']));
    expect(known).toEqual(versions('b.pay'));
    expect([...held.keys()]).toEqual(['a.shop', 'c.shop']);
    expect(held.get('a.shop')).toMatch(/mesh "shop".*never had it.*create it and delete it/);
  });

  it('may be the Mesh itself', () => {
    const { known, held } = holdUnknown('Mesh', versions('shop.', 'pay.'), new Set(['shop']));
    expect([...known.keys()]).toEqual(['pay.']);
    expect([...held.keys()]).toEqual(['shop.']);
  });

  it('does not exist when all meshes are known', () => {
    const all = versions('a.shop');
    expect(holdUnknown('MeshTimeout', all, new Set())).toEqual({ known: all, held: new Map() });
  });
});
