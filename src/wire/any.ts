// google.protobuf.Any ⇄ bytes.
import { lengthTag, readFields, readText, writeText, type Writer } from './fields.ts';

export type Any = { readonly typeUrl: string; readonly value: Uint8Array };

/** The prefix of a type_url before the full name of the message. */
export const TYPE_URL_PREFIX = 'type.googleapis.com/';

/** Appends field `field` that holds an Any; empty parts are left out. */
export function writeAny(writer: Writer, field: number, { typeUrl, value }: Any): void {
  writer.uint32(lengthTag(field)).fork();
  writeText(writer, 1, typeUrl);
  if (value.length > 0) writer.uint32(lengthTag(2)).bytes(value);
  writer.ldelim();
}

/**
 * The value shares the memory of `bytes`.
 * @throws Error on bytes that are no Any
 */
export function decodeAny(bytes: Uint8Array): Any {
  let typeUrl = '';
  let value: Uint8Array = new Uint8Array();
  readFields(bytes, (tag, reader) => {
    if (tag === lengthTag(1)) typeUrl = readText(reader);
    else if (tag === lengthTag(2)) value = reader.bytes();
    else return false;
    return true;
  });
  return { typeUrl, value };
}
