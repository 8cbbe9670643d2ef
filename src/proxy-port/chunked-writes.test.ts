import { beforeAll, describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { CHUNK_BYTES, chunked, withoutCopy, writeInChunks } from './chunked-writes.ts';
import { adsService } from './grpc-services.ts';

const length = fc.oneof(
  fc.nat(5 * CHUNK_BYTES),
  fc.nat(5).map((count) => count * CHUNK_BYTES),
);

/** As Node announces a stream. */
const announce = (): void =>
  writeInChunks({ stream: { _write: () => undefined }, headers: { ':path': adsService.deltaAggregatedResources.path } });

describe('chunked', () => {
  beforeAll(announce);

  it('passes all bytes on in their order, in chunks of bounded size, one at a time', () => {
    fc.assert(
      fc.property(length, (size) => {
        const bytes = Buffer.alloc(size).map((_byte, index) => index % 251);
        const parts: Uint8Array[] = [];
        let done: (() => void) | null = null;
        let calls = 0;
        chunked((part, _encoding, callback) => {
          expect(done).toBeNull();
          expect(part.length).toBeLessThanOrEqual(CHUNK_BYTES);
          parts.push(part);
          done = callback;
        })(bytes, 'utf8', () => (calls += 1));
        for (let finish = done as (() => void) | null; finish !== null; finish = done) {
          expect(calls).toBe(0);
          done = null;
          finish();
        }
        expect(calls).toBe(1);
        expect(Buffer.concat(parts).equals(bytes)).toBe(true);
      }),
    );
  });

  it('ends at the first error', () => {
    const found: unknown[] = [];
    const lost = new Error('lost');
    chunked((_part, _encoding, callback) => callback(lost))(Buffer.alloc(3 * CHUNK_BYTES), 'utf8', (error) => found.push(error));
    expect(found).toEqual([lost]);
  });

  it('writes the parts of a message that gRPC did not copy behind its prefix, in chunks of bounded size', () => {
    fc.assert(
      fc.property(length, fc.array(length, { maxLength: 4 }), (size, cuts) => {
        const message = Buffer.from(Array.from({ length: size }, (_byte, index) => index % 251));
        const borders = [0, ...cuts.map((cut) => Math.min(cut, size)).sort((a, b) => a - b), size];
        const sent = borders.slice(1).map((border, at) => message.subarray(borders[at], border));
        const framed = asGrpcFrames(withoutCopy(sent, Infinity));
        const parts: Uint8Array[] = [];
        let ends = 0;
        chunked((part, _encoding, callback) => {
          expect(part.length).toBeLessThanOrEqual(CHUNK_BYTES);
          parts.push(part);
          callback();
        })(framed, 'utf8', () => (ends += 1));
        expect(ends).toBe(1);
        expect(Buffer.concat(parts).equals(asGrpcFrames(message))).toBe(true);
      }),
    );
  });

  it('leaves a message that is too long to gRPC', () => {
    const message = Buffer.alloc(2 * CHUNK_BYTES);
    const sent = [message.subarray(0, 7), message.subarray(7)];
    expect(withoutCopy(sent, message.length - 1)).toEqual(message);
    expect(withoutCopy(sent, message.length).byteLength).toBe(0);
  });
});

/** What gRPC makes of a serialized message. */
function asGrpcFrames(message: Buffer): Buffer {
  const framed = Buffer.alloc(message.byteLength + 5);
  framed.writeUInt32BE(message.byteLength, 1);
  message.copy(framed, 5);
  return framed;
}
