// google.protobuf.Struct, Value and ListValue ⇄ plain JSON. Keys are written in the order of their UTF-8 bytes.
import { createWriter, lengthTag, readFields, readText, type Reader, type Writer } from './fields.ts';
import { setOwn } from './own-key.ts';
import { sortedKeys } from './text-order.ts';

export type StructValue = string | number | boolean | null | StructValue[] | { [key: string]: StructValue };
export type StructObject = { [key: string]: StructValue };

/**
 * The largest depth of objects and lists within each other. More is refused in both directions, so that no input can exhaust the
 * stack.
 */
const MAX_STRUCT_DEPTH = 100;

/** Field 1 of Struct and ListValue, and of the entries of a map. */
const FIRST = lengthTag(1);
const SECOND = lengthTag(2);
const NULL = 1 << 3;
const NUMBER = (2 << 3) | 1;
const STRING = lengthTag(3);
const BOOL = 4 << 3;
const STRUCT = lengthTag(5);
const LIST = lengthTag(6);

/** Appends the fields of a Struct. @throws Error past the depth, or on a number that JSON cannot write */
export function writeStruct(writer: Writer, object: StructObject, depth = 0): void {
  for (const key of sortedKeys(object)) {
    writer.uint32(FIRST).fork();
    writer.uint32(FIRST).string(key.toWellFormed());
    writer.uint32(SECOND).fork();
    writeValue(writer, object[key] ?? null, depth + 1);
    writer.ldelim().ldelim();
  }
}

/** Appends the fields of a ListValue. */
export function writeList(writer: Writer, list: readonly StructValue[], depth = 0): void {
  for (const item of list) {
    writer.uint32(FIRST).fork();
    writeValue(writer, item, depth + 1);
    writer.ldelim();
  }
}

/** Appends the one field of a Value. */
export function writeValue(writer: Writer, value: StructValue, depth = 0): void {
  if (depth > MAX_STRUCT_DEPTH) throw new Error(`nested deeper than ${MAX_STRUCT_DEPTH}`);
  if (value === null) writer.uint32(NULL).int32(0);
  else if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new Error(`${value} is not a number of JSON`);
    writer.uint32(NUMBER).double(value);
  } else if (typeof value === 'string') writer.uint32(STRING).string(value.toWellFormed());
  else if (typeof value === 'boolean') writer.uint32(BOOL).bool(value);
  else {
    writer.uint32(Array.isArray(value) ? LIST : STRUCT).fork();
    if (Array.isArray(value)) writeList(writer, value, depth);
    else writeStruct(writer, value, depth);
    writer.ldelim();
  }
}

/** The bytes of a Struct. */
export function encodeStruct(object: StructObject): Uint8Array {
  const writer = createWriter();
  writeStruct(writer, object);
  return writer.finish();
}

/** Decodes a Struct. @throws Error on bytes that are none */
export function decodeStruct(bytes: Uint8Array, depth = 0): StructObject {
  const object: StructObject = {};
  readFields(bytes, (tag, reader) => {
    if (tag !== FIRST) return false;
    const [key, value] = decodeEntry(reader.bytes(), depth + 1);
    setOwn(object, key, value);
    return true;
  });
  return object;
}

/** Decodes a ListValue. @throws Error on bytes that are none */
export function decodeList(bytes: Uint8Array, depth = 0): StructValue[] {
  const list: StructValue[] = [];
  readFields(bytes, (tag, reader) => {
    if (tag !== FIRST) return false;
    list.push(decodeValue(reader.bytes(), depth + 1));
    return true;
  });
  return list;
}

/** Decodes a Value. The last kind given counts; a Value without one is null. @throws Error on bytes that are no Value */
export function decodeValue(bytes: Uint8Array, depth = 0): StructValue {
  if (depth > MAX_STRUCT_DEPTH) throw new Error(`nested deeper than ${MAX_STRUCT_DEPTH}`);
  let value: StructValue = null;
  readFields(bytes, (tag, reader) => {
    const read = readKind(tag, reader, depth);
    if (read !== undefined) value = read;
    return read !== undefined;
  });
  return value;
}

function readKind(tag: number, reader: Reader, depth: number): StructValue | undefined {
  switch (tag) {
    case NULL:
      reader.int32();
      return null;
    case NUMBER: {
      const number = reader.double();
      if (!Number.isFinite(number)) throw new Error(`${number} is not a number of JSON`);
      return number;
    }
    case STRING:
      return readText(reader);
    case BOOL:
      return reader.bool();
    case STRUCT:
      return decodeStruct(reader.bytes(), depth);
    case LIST:
      return decodeList(reader.bytes(), depth);
    default:
      return undefined;
  }
}

function decodeEntry(bytes: Uint8Array, depth: number): [string, StructValue] {
  let key = '';
  let value: StructValue = null;
  readFields(bytes, (tag, reader) => {
    if (tag === FIRST) key = readText(reader);
    else if (tag === SECOND) value = decodeValue(reader.bytes(), depth);
    else return false;
    return true;
  });
  return [key, value];
}
