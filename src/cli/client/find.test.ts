import { describe, expect, it } from 'vitest';
import { typeOf } from '../../resource/type-registry.ts';
import { pathPart, type Item } from './api-client.ts';
import { UsageError } from '../exit-codes.ts';
import { findOne } from './find.ts';

function proxy(name: string, labels: Record<string, string>): Item {
  return { type: 'Dataplane', mesh: 'shop', name, labels };
}

async function find(...items: Item[]): Promise<Item> {
  const client = { get: () => Promise.resolve(undefined), list: () => Promise.resolve(items) };
  return await findOne(client, typeOf('Dataplane'), 'shop', 'cart-1', { command: 'inspect dataplane' });
}

describe('a resource by its name', () => {
  it('is found by its display name', async () => {
    expect((await find(proxy('cart-1-x6475v88898b86w4', {}))).name).toBe('cart-1-x6475v88898b86w4');
  });

  it('is ambiguous when several have the display name, and the error prints a command for each', async () => {
    const found = find(
      proxy('cart-1-x6475v88898b86w4', { 'kuma.io/zone': 'east' }),
      proxy('cart-1-6cbbz2zvbvdcwbdv', { 'kuma.io/zone': 'west', 'k8s.kuma.io/namespace': 'ui' }),
    );
    await expect(found).rejects.toThrow(
      `2 Dataplanes have the display name "cart-1"; use one of the stored names:
  meridian inspect dataplane cart-1-x6475v88898b86w4 --mesh shop   # zone east
  meridian inspect dataplane cart-1-6cbbz2zvbvdcwbdv --mesh shop   # zone west, namespace ui`,
    );
    await expect(found).rejects.toBeInstanceOf(UsageError);
  });

  it('is found by its stored name if it has the label of the filter', async () => {
    const stored = proxy('cart-1', { 'k8s.kuma.io/namespace': 'ui' });
    const client = { get: () => Promise.resolve(stored), list: () => Promise.resolve([]) };
    const inNamespace = async (namespace: string): Promise<Item> =>
      await findOne(client, typeOf('Dataplane'), 'shop', 'cart-1', { command: 'inspect dataplane', namespace });
    expect(await inNamespace('ui')).toBe(stored);
    await expect(inNamespace('checkout')).rejects.toThrow('there is no Dataplane "cart-1"');
  });

  it.each(['', '.', '..'])('%j is not a name, because it changes the path of a URL', (name) => {
    expect(() => pathPart(name)).toThrow('is not a valid name');
  });
});
