import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { decodeDeltaRequest, encodeDeltaRequest } from '../wire/kds-messages.ts';
import { RequestReader } from './request-reader.ts';

const requestWith = (subscribe: readonly string[], responseNonce: string): Buffer =>
  encodeDeltaRequest({
    ...{ node: { id: '' }, typeUrl: 'type', subscribe, unsubscribe: [], initialResourceVersions: new Map() },
    ...{ responseNonce, errorDetail: null },
  });

describe('a reader of requests', () => {
  it('reads each request independently of earlier ones', () => {
    const names = fc.array(fc.constantFrom('a', 'x'.repeat(300)), { maxLength: 2 });
    fc.assert(
      fc.property(fc.array(fc.tuple(names, fc.constantFrom('1', '2')), { maxLength: 10 }), (all) => {
        const reader = new RequestReader();
        const read = all.map(([subscribe, nonce]) => reader.read(requestWith(subscribe, nonce)));
        expect(read).toEqual(all.map(([subscribe, nonce]) => decodeDeltaRequest(requestWith(subscribe, nonce))));
      }),
    );
  });

  it('gives equal acknowledgements as one object, also when the bytes of the first are gone', () => {
    const reader = new RequestReader();
    const bytes = requestWith([], '1');
    const first = reader.read(bytes);
    bytes.fill(0);
    expect(reader.read(requestWith([], '1'))).toBe(first);
  });

  it('keeps a request of 256 bytes, and none that is longer', () => {
    const reader = new RequestReader();
    const ofLength = (length: number): Buffer => {
      const shorter = requestWith(['x'.repeat(200)], '1');
      const bytes = requestWith(['x'.repeat(200 + length - shorter.length)], '1');
      expect(bytes).toHaveLength(length);
      return bytes;
    };
    for (const [length, isKept] of [
      [256, true],
      [257, false],
    ] as const)
      expect(reader.read(ofLength(length)) === reader.read(ofLength(length))).toBe(isKept);
  });

  it('refuses bytes that are no request', () => {
    expect(() => new RequestReader().read(Buffer.from([7]))).toThrow(expect.objectContaining({ code: status.INVALID_ARGUMENT }));
  });
});
