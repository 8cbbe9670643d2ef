// Several messages of a KDS stream as one message of gRPC, between Meridian peers (decision 83).
import { repeatedField } from './repeated-field.ts';

/** The messages of `decodeBundle` share the memory of the bundle. */
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
