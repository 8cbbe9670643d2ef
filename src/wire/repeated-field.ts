// Messages between Meridian peers with one repeated field, of a number that no other message of a stream has: its tag tells them
// apart.
import { createWriter, decoding, finish, lengthTag, readFields, type Reader, type Writer } from './fields.ts';

type RepeatedField<T> = {
  readonly encode: (values: readonly T[]) => Buffer;
  /** Whether these are the bytes of such a message. */
  readonly isIn: (bytes: Uint8Array) => boolean;
  /** The values, in their order. @throws Error, naming `what`, on bytes that are no such message */
  readonly decode: (bytes: Uint8Array) => T[];
};

/** Makes such a message. @param write writes the value with its length @param read reads it */
export function repeatedField<T>(
  field: number,
  what: string,
  write: (writer: Writer, value: T) => void,
  read: (reader: Reader) => T,
): RepeatedField<T> {
  const tag = lengthTag(field);
  const start = createWriter().uint32(tag).finish();
  return {
    encode(values) {
      const writer = createWriter();
      for (const value of values) write(writer.uint32(tag), value);
      return finish(writer);
    },
    isIn: (bytes) => start.every((byte, index) => bytes[index] === byte),
    decode(bytes) {
      const values: T[] = [];
      decoding(what, () =>
        readFields(bytes, (found, reader) => {
          if (found !== tag) return false;
          values.push(read(reader));
          return true;
        }),
      );
      return values;
    },
  };
}
