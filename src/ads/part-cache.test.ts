// A part is made once for those who share it, and goes with the last view that has it.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { makeDataplane } from '../../test/policy/make-resource.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import { Client } from '../xds/client.ts';
import { PartCache } from './part-cache.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

type Part = { readonly of: number };

function client(): Client {
  const [proxy] = new MeshIndex('default', [makeDataplane('web', { zone: 'east' }, {})]).proxies();
  if (proxy === undefined) throw new Error('the mesh has no proxy');
  return new Client(proxy);
}

describe('a cache of parts', () => {
  it('shares a part that does not look at the client, and no other', () => {
    const cache = new PartCache<Part>();
    const at = client();
    const own = (version: number): Part => cache.get('cart', 'own', at, version, () => ({ of: at.address.length + version }));
    const shared = (version: number): Part => cache.get('cart', 'shared', at, version, () => ({ of: version }));
    const held = [own(1), own(2), shared(1), shared(2)];
    expect([own(1), own(2), shared(1), shared(2)]).toEqual(held);
    expect(new Set(held).size).toBe(3);
  });

  it('keeps parts only while they are in use', async () => {
    const cache = new PartCache<Part>();
    const at = client();
    const held = cache.get('cart', 'held', at, 0, () => ({ of: 0 }));
    for (let edit = 1; edit <= 1_000; edit += 1) cache.get('cart', `policy ${String(edit)}`, at, edit, () => ({ of: edit }));
    const size = (): number => {
      collect();
      return cache.size;
    };
    await expect.poll(size).toBe(1);
    expect(cache.get('cart', 'held', at, 0, () => ({ of: -1 }))).toBe(held);
  });
});
