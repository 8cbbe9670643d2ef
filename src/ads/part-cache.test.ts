// A part is made once for those who share it, and goes with the last view that has it.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { PartCache } from './part-cache.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

type Part = { readonly of: number; readonly isOwn: boolean };

describe('a cache of parts', () => {
  it('shares a part that does not look at the proxy, and no other', () => {
    const cache = new PartCache<Part>();
    const own = (version: number): Part => cache.get('cart', 'own', version, () => ({ of: version, isOwn: true }));
    const shared = (version: number): Part => cache.get('cart', 'shared', version, () => ({ of: version, isOwn: false }));
    const held = [own(1), own(2), shared(1), shared(2)];
    expect([own(1), own(2), shared(1), shared(2)]).toEqual(held);
    expect(new Set(held).size).toBe(3);
  });

  it('keeps parts only while they are in use', async () => {
    const cache = new PartCache<Part>();
    const part = (of: number): Part => ({ of, isOwn: false });
    const held = cache.get('cart', 'held', 0, () => part(0));
    for (let edit = 1; edit <= 1_000; edit += 1) cache.get('cart', `policy ${String(edit)}`, edit, () => part(edit));
    const size = (): number => {
      collect();
      return cache.size;
    };
    await expect.poll(size).toBe(1);
    expect(cache.get('cart', 'held', 0, () => part(-1))).toBe(held);
  });
});
