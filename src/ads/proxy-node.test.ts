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
    ['7', 7_000],
    ['0', 0],
    ['999999', 3_600_000],
    ['-1', 30_000],
    ['soon', 30_000],
  ])('says a drain time of %j seconds', (given, drainMs) => {
    const metadata = encodeStruct({ dynamicMetadata: { 'meridian.drainSeconds': given } });
    expect(readProxyNode({ id: 'shop.cart-1', metadata })).toMatchObject({ drainMs });
  });

  it('names the Dataplane with the namespace of the document that it brings', () => {
    const document = JSON.stringify({ name: 'cart-1', labels: { 'k8s.kuma.io/namespace': 'ns' } });
    const node = { id: 'shop.cart-1', metadata: encodeStruct({ 'dataplane.resource': document }) };
    expect(readProxyNode(node)).toMatchObject({ mesh: 'shop', name: 'cart-1.ns', ownName: 'cart-1' });
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

  it.each([
    [507, true],
    [508, false],
  ])('has an id of at most 507 characters: %d', (length, isRead) => {
    const id = `shop.${'a'.repeat(length - 5)}`;
    expect(codeOf(() => readProxyNode({ id })) !== status.INVALID_ARGUMENT).toBe(isRead);
  });

  it('has metadata of at most a mebibyte', () => {
    const most = 1024 * 1024;
    const metadata = encodeStruct({ a: 'x'.repeat(most - 100) });
    const padded = encodeStruct({ a: 'x'.repeat(most - 100 + most - metadata.length) });
    expect(padded.length).toBe(most);
    expect(readProxyNode({ id: 'shop.cart', metadata: padded }).name).toBe('cart');
    expect(() => readProxyNode({ id: 'shop.cart', metadata: encodeStruct({ a: 'x'.repeat(most) }) })).toThrow(
      /^node\.metadata has \d+ bytes; 1048576 are allowed$/,
    );
  });

  it('is quoted with 200 characters of its id where it is refused', () => {
    expect(() => readProxyNode({ id: 'a'.repeat(300) })).toThrow(
      new RegExp(`^node\\.id must be <mesh>\\.<name of the Dataplane>, not "a{200}"$`),
    );
  });

  it('keeps the metadata of the features, and 100 characters of the name of the bootstrap', () => {
    const kept = {
      ...{ features: ['a'], workdir: '/w', metricsCertPath: 'c', metricsKeyPath: 'k', systemCaPath: 's' },
      ...{ 'dataplane.admin': {}, 'dataplane.admin.socketPath': 'p', 'dataplane.dns.port': '1' },
    };
    const metadata = encodeStruct({ ...kept, 'meridian.run': 'r'.repeat(200), other: 1 });
    const node = readProxyNode({ id: 'shop.cart', metadata });
    expect([node.metadata, node.run, node.version, node.dataplane]).toEqual([kept, 'r'.repeat(100), {}, '']);
    expect(readProxyNode({ id: 'shop.cart' })).toMatchObject({ metadata: {}, run: '' });
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
