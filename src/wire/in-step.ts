// The types in which the receiver of a stream is in step: it has every resource, so no response follows and no answer is awaited. One message
// for many types, between peers of ours (decision 87). Its repeated field has a number that no other message of a stream has.
import { createWriter, decoding, finish, lengthTag, readFields, readText } from './fields.ts';

const TYPE = lengthTag(1001);
/** The bytes of the tag, with which every such message begins. */
const TAG = createWriter().uint32(TYPE).finish();

/** @param types bare names of resource types, at least one */
export function encodeInStep(types: readonly string[]): Buffer {
  const writer = createWriter();
  for (const type of types) writer.uint32(TYPE).string(type.toWellFormed());
  return finish(writer);
}

export function isInStep(bytes: Uint8Array): boolean {
  return TAG.every((byte, index) => bytes[index] === byte);
}

/**
 * The types, in their order.
 * @throws Error on bytes that are no such message
 */
export function decodeInStep(bytes: Uint8Array): string[] {
  const types: string[] = [];
  decoding('a list of types in step', () =>
    readFields(bytes, (tag, reader) => {
      if (tag !== TYPE) return false;
      types.push(readText(reader));
      return true;
    }),
  );
  return types;
}
