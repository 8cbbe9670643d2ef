import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { CHUNK_BYTES, chunked } from './chunked-writes.ts';

const length = fc.oneof(
  fc.nat(5 * CHUNK_BYTES),
  fc.nat(5).map((count) => count * CHUNK_BYTES),
);

describe('chunked', () => {
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
});
