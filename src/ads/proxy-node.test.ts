import { describe, expect, it } from 'vitest';
import { status } from '@grpc/grpc-js';
import { fc } from '../../test/support/property.ts';
import { StatusError } from '../grpc/status.ts';
import { encodeStruct } from '../wire/struct.ts';
import { readProxyNode } from './proxy-node.ts';

const codeOf = (read: () => unknown): unknown => {
  try {
    return read();
  } catch (error) {
    return error instanceof StatusError ? error.code : error;
  }
};

describe('the node of a proxy', () => {
  it('names the Dataplane, and holds what the proxy brings', () => {
    const metadata = encodeStruct({ 'dataplane.resource': '{}', version: { envoy: { version: '1.40.0' } } });
    expect(readProxyNode({ id: 'shop.cart-1.ns', metadata })).toMatchObject({
      mesh: 'shop',
      name: 'cart-1.ns',
      dataplane: '{}',
      version: { envoy: { version: '1.40.0' } },
    });
  });

  it.each([
    ['shop.eu', 'shop.eu.cart-1.ns', { mesh: 'shop.eu', name: 'cart-1.ns' }],
    ['shop.us', 'shop.eu.cart-1.ns', { mesh: 'shop', name: 'eu.cart-1.ns' }],
    ['', 'shop.eu.cart-1', { mesh: 'shop', name: 'eu.cart-1' }],
  ])('is of the mesh %j of its metadata if that begins the id %s', (mesh, id, expected) => {
    expect(readProxyNode({ id, metadata: encodeStruct({ 'meridian.mesh': mesh }) })).toMatchObject(expected);
  });

  it.each([
    ['no name', { id: 'shop' }],
    ['no mesh', { id: '.cart-1' }],
    ['a name that no row can have', { id: 'shop.cart\0' }],
    ['a name that is too long', { id: `shop.${'a'.repeat(600)}` }],
    ['metadata that is none', { id: 'shop.cart-1', metadata: Buffer.from([1, 2, 3]) }],
    ['too much metadata', { id: 'shop.cart-1', metadata: Buffer.alloc(2 * 1024 * 1024) }],
  ])('is refused with %s', (_, node) => {
    expect(codeOf(() => readProxyNode(node))).toBe(status.INVALID_ARGUMENT);
  });

  it('is read, or refused as invalid, for any bytes', () => {
    fc.assert(
      fc.property(fc.string(), fc.uint8Array({ maxLength: 60 }), (id, metadata) => {
        const outcome = codeOf(() => readProxyNode({ id: `shop.${id}`, metadata }));
        expect(outcome === status.INVALID_ARGUMENT || (outcome as { mesh?: string }).mesh === 'shop').toBe(true);
      }),
    );
  });
});
