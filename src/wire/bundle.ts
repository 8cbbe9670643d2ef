// Several messages of a KDS stream as one message of gRPC, between peers of ours (decision 83).
import { repeatedField } from './repeated-field.ts';

/** `decodeBundle`: the messages share the memory of the bundle. */
export const {
  encode: encodeBundle,
  isIn: isBundle,
  decode: decodeBundle,
} = repeatedField<Uint8Array>(
  1000,
  'a bundle of messages',
  (writer, message) => writer.bytes(message),
  (reader) => reader.bytes(),
);
