import { expect, it } from 'vitest';
import { CHUNK_BYTES, withoutCopy } from '../../src/proxy-port/chunked-writes.ts';

it('a message is whole while no stream was announced, since no chunks would be written', () => {
  const message = Buffer.alloc(2 * CHUNK_BYTES, 'large');
  expect(withoutCopy([message.subarray(0, 7), message.subarray(7)], Infinity)).toEqual(message);
});
