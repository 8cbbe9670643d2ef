// Several messages of a KDS stream as one message of gRPC, between peers of ours (decision 83). A bundle has one repeated field, with a
// number that neither DeltaDiscoveryRequest nor DeltaDiscoveryResponse has. Every other message is none.
import { createWriter, decoding, finish, lengthTag, readFields } from './fields.ts';

const MESSAGE = lengthTag(1000);
/** The bytes of the tag, with which every bundle begins. */
const TAG = createWriter().uint32(MESSAGE).finish();

export function encodeBundle(messages: readonly Uint8Array[]): Buffer {
  const writer = createWriter();
  for (const message of messages) writer.uint32(MESSAGE).bytes(message);
  return finish(writer);
}

export function isBundle(bytes: Uint8Array): boolean {
  return TAG.every((byte, index) => bytes[index] === byte);
}

/**
 * The messages of a bundle, in their order. They share the memory of `bytes`.
 * @throws Error on bytes that are no bundle
 */
export function decodeBundle(bytes: Uint8Array): Uint8Array[] {
  const messages: Uint8Array[] = [];
  decoding('a bundle of messages', () =>
    readFields(bytes, (tag, reader) => {
      if (tag !== MESSAGE) return false;
      messages.push(reader.bytes());
      return true;
    }),
  );
  return messages;
}
