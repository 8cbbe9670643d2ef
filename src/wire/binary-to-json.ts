// Binary → proto3 JSON, straight over the descriptors: camelCase names, defaults left out, enums by name, 64-bit numbers as
// text (kds-wire 4). Fields that the descriptors do not know are passed over.
import protobuf from 'protobufjs';
import { jsonName } from './json-to-binary.ts';
import { messageType } from './root.ts';
import { formatDuration, formatTimestamp, wrapperTypes } from './well-known.ts';

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

/** Deeper nesting is an attack: only Struct can nest at all. */
const MAX_DEPTH = 100;

/**
 * Decodes the binary of a message as proto3 JSON.
 * @throws Error on bytes that are no such message
 */
export function binaryToProtoJson(message: string, bytes: Uint8Array): JsonObject {
  const json = readMessage(messageType(message), protobuf.Reader.create(bytes), bytes.length, 0);
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw new Error(`${message} is no object in JSON`);
  return json;
}

function readMessage(type: protobuf.Type, reader: protobuf.Reader, end: number, depth: number): Json {
  if (depth > MAX_DEPTH) throw new Error('message is nested too deeply');
  const name = type.fullName.slice(1);
  switch (name) {
    case 'google.protobuf.Duration':
      return formatDuration(readSecondsNanos(reader, end));
    case 'google.protobuf.Timestamp':
      return formatTimestamp(readSecondsNanos(reader, end));
    case 'google.protobuf.Struct':
      return readStruct(reader, end, depth);
    case 'google.protobuf.ListValue':
      return readList(reader, end, depth);
    case 'google.protobuf.Value':
      return readValue(reader, end, depth);
    default:
  }
  const json = readFields(type, reader, end, depth);
  return wrapperTypes.has(name) ? (json['value'] ?? zeroOf(type.fields['value']?.type ?? 'string')) : json;
}

function readFields(type: protobuf.Type, reader: protobuf.Reader, end: number, depth: number): JsonObject {
  const read = new Map<protobuf.Field, Json>();
  while (reader.pos < end) {
    const tag = reader.uint32();
    const field = type.fieldsById[tag >>> 3];
    if (field === undefined || !wireTypeFits(field, tag & 7)) reader.skipType(tag & 7);
    else if (field instanceof protobuf.MapField) {
      const [key, value] = readMapEntry(field, reader, depth);
      const map = (read.get(field) ?? Object.create(null)) as JsonObject;
      map[key] = value;
      read.set(field, map);
    } else if (field.repeated) {
      const list = (read.get(field) ?? []) as Json[];
      list.push(readSingular(field, reader, depth));
      read.set(field, list);
    } else read.set(field, readSingular(field, reader, depth));
  }
  if (reader.pos !== end) throw new Error('message ends inside of a field');
  const json: JsonObject = {};
  for (const field of [...read.keys()].sort((a, b) => a.id - b.id)) {
    const value = read.get(field);
    if (value === undefined || isDefault(field, value)) continue;
    json[jsonName(field)] = field instanceof protobuf.MapField ? { ...(value as JsonObject) } : value;
  }
  return json;
}

function readSingular(field: Pick<protobuf.Field, 'resolvedType' | 'type'>, reader: protobuf.Reader, depth: number): Json {
  const type = field.resolvedType;
  if (type instanceof protobuf.Type) {
    const length = reader.uint32();
    const end = reader.pos + length;
    if (end > reader.len) throw new Error('message ends inside of a field');
    return readMessage(type, reader, end, depth + 1);
  }
  if (type instanceof protobuf.Enum) {
    const number = reader.int32();
    return type.valuesById[number] ?? number;
  }
  return readScalar(field.type, reader);
}

function readScalar(type: string, reader: protobuf.Reader): Json {
  switch (type) {
    case 'string':
      return reader.string();
    case 'bytes':
      return Buffer.from(reader.bytes()).toString('base64');
    case 'bool':
      return reader.bool();
    case 'double':
      return reader.double();
    case 'uint32':
      return reader.uint32();
    case 'int32':
      return reader.int32();
    case 'uint64':
      return reader.uint64().toString();
    case 'int64':
      return reader.int64().toString();
    default:
      throw new Error(`scalar type ${type} is not used by any spec`);
  }
}

function readMapEntry(field: protobuf.MapField, reader: protobuf.Reader, depth: number): [string, Json] {
  const end = reader.uint32() + reader.pos;
  if (end > reader.len) throw new Error('message ends inside of a map');
  let key = '';
  let value: Json | undefined;
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag >>> 3 === 1) key = reader.string();
    else if (tag >>> 3 === 2) value = readSingular(field, reader, depth);
    else reader.skipType(tag & 7);
  }
  return [key, value ?? (field.resolvedType instanceof protobuf.Type ? {} : zeroOf(field.type))];
}

function readSecondsNanos(reader: protobuf.Reader, end: number): { seconds: number; nanos: number } {
  let seconds = 0;
  let nanos = 0;
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === 8) seconds = Number(reader.int64().toString());
    else if (tag === 16) nanos = reader.int32();
    else reader.skipType(tag & 7);
  }
  return { seconds, nanos };
}

function readStruct(reader: protobuf.Reader, end: number, depth: number): JsonObject {
  const entries: [string, Json][] = [];
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag !== 10) {
      reader.skipType(tag & 7);
      continue;
    }
    const entryEnd = reader.uint32() + reader.pos;
    if (entryEnd > reader.len) throw new Error('message ends inside of a struct');
    let key = '';
    let value: Json = null;
    while (reader.pos < entryEnd) {
      const entryTag = reader.uint32();
      if (entryTag === 10) key = reader.string();
      else if (entryTag === 18) {
        const length = reader.uint32();
        value = readValue(reader, reader.pos + length, depth + 1);
      } else reader.skipType(entryTag & 7);
    }
    entries.push([key, value]);
  }
  return Object.fromEntries(entries);
}

function readList(reader: protobuf.Reader, end: number, depth: number): Json[] {
  const list: Json[] = [];
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag !== 10) reader.skipType(tag & 7);
    else {
      const length = reader.uint32();
      list.push(readValue(reader, reader.pos + length, depth + 1));
    }
  }
  return list;
}

function readValue(reader: protobuf.Reader, end: number, depth: number): Json {
  if (depth > MAX_DEPTH) throw new Error('message is nested too deeply');
  if (end > reader.len) throw new Error('message ends inside of a value');
  let value: Json = null;
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === 17) value = reader.double();
    else if (tag === 26) value = reader.string();
    else if (tag === 32) value = reader.bool();
    else if (tag === 42) value = readNested(reader, (e) => readStruct(reader, e, depth + 1));
    else if (tag === 50) value = readNested(reader, (e) => readList(reader, e, depth + 1));
    else {
      reader.skipType(tag & 7);
      value = null;
    }
  }
  return value;
}

function readNested<T>(reader: protobuf.Reader, read: (end: number) => T): T {
  const length = reader.uint32();
  return read(reader.pos + length);
}

const WIRE_TYPES: Record<string, number> = { string: 2, bytes: 2, double: 1 };

function wireTypeFits(field: protobuf.Field, wireType: number): boolean {
  if (field instanceof protobuf.MapField || field.resolvedType instanceof protobuf.Type) return wireType === 2;
  return wireType === (WIRE_TYPES[field.type] ?? 0);
}

function isDefault(field: protobuf.Field, value: Json): boolean {
  if (field.repeated || field instanceof protobuf.MapField || field.resolvedType instanceof protobuf.Type) return false;
  if (wrapperTypes.has(field.parent?.fullName.slice(1) ?? '')) return false;
  if (field.resolvedType instanceof protobuf.Enum) return value === field.resolvedType.valuesById[0];
  return value === zeroOf(field.type);
}

function zeroOf(type: string): Json {
  switch (type) {
    case 'string':
    case 'bytes':
      return '';
    case 'bool':
      return false;
    case 'uint64':
    case 'int64':
      return '0';
    default:
      return 0;
  }
}
