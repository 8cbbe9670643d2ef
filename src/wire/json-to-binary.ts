// proto3 JSON → binary, straight over the descriptors. Deterministic: fields in number order, map keys by UTF-8 bytes,
// whatever the order of the keys in the JSON (engine 19).
import protobuf from 'protobufjs';
import { ProtoJsonError, type ProtoViolation } from './proto-error.ts';
import { messageType } from './root.ts';
import { parseDuration, parseTimestamp, wrapperTypes } from './well-known.ts';

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/**
 * Encodes proto3 JSON as the binary of a message. Unknown keys are left out; original and camelCase names are taken.
 * @throws ProtoJsonError with every value that does not fit, by path
 */
export function protoJsonToBinary(message: string, json: Json): Uint8Array {
  const encoder = new Encoder();
  const writer = protobuf.Writer.create();
  encoder.message(messageType(message), json, writer, '');
  if (encoder.violations.length > 0) throw new ProtoJsonError(encoder.violations);
  return writer.finish();
}

class Encoder {
  readonly violations: ProtoViolation[] = [];

  message(type: protobuf.Type, json: Json, writer: protobuf.Writer, path: string): void {
    const name = type.fullName.slice(1);
    if (name === 'google.protobuf.Duration' || name === 'google.protobuf.Timestamp') {
      const isDuration = name.endsWith('Duration');
      const read = typeof json === 'string' ? (isDuration ? parseDuration(json) : parseTimestamp(json)) : null;
      if (read === null) this.#refuse(path, isDuration ? 'must be a duration such as "5s" or "0.5s"' : 'must be an RFC 3339 time such as "2026-01-31T12:00:00Z"');
      else {
        if (read.seconds !== 0) writer.uint32(8).int64(read.seconds);
        if (read.nanos !== 0) writer.uint32(16).int32(read.nanos);
      }
    } else if (wrapperTypes.has(name)) {
      const field = type.fieldsArray[0];
      if (field !== undefined) this.#singular(field, json, writer, path, false);
    } else if (name === 'google.protobuf.Struct') this.#struct(json, writer, path);
    else if (name === 'google.protobuf.Value') this.#value(json, writer);
    else if (name === 'google.protobuf.ListValue') this.#list(json, writer, path);
    else if (!isObject(json)) this.#refuse(path, 'must be an object');
    else this.#fields(type, json, writer, path);
  }

  #fields(type: protobuf.Type, json: Record<string, Json>, writer: protobuf.Writer, path: string): void {
    for (const field of fieldsByNumber(type)) {
      const key = Object.hasOwn(json, jsonName(field)) ? jsonName(field) : field.name;
      const value = Object.hasOwn(json, key) ? json[key] : undefined;
      if (value === undefined || value === null) continue;
      const at = path === '' ? key : `${path}.${key}`;
      if (field instanceof protobuf.MapField) this.#map(field, value, writer, at);
      else if (field.repeated) this.#repeated(field, value, writer, at);
      else this.#singular(field, value, writer, at, true);
    }
  }

  #map(field: protobuf.MapField, value: Json, writer: protobuf.Writer, path: string): void {
    if (!isObject(value)) {
      this.#refuse(path, 'must be an object');
      return;
    }
    for (const key of Object.keys(value).sort(compareUtf8)) {
      writer.uint32((field.id << 3) | 2).fork();
      if (key !== '') writer.uint32(10).string(key);
      this.#mapValue(field, value[key] ?? null, writer, `${path}[${JSON.stringify(key)}]`);
      writer.ldelim();
    }
  }

  #mapValue(field: protobuf.MapField, value: Json, writer: protobuf.Writer, path: string): void {
    if (field.resolvedType instanceof protobuf.Type) {
      writer.uint32(18).fork();
      this.message(field.resolvedType, value, writer, path);
      writer.ldelim();
    } else this.#scalar(field.type, 2, value, writer, path, true);
  }

  #repeated(field: protobuf.Field, value: Json, writer: protobuf.Writer, path: string): void {
    if (!Array.isArray(value)) {
      this.#refuse(path, 'must be a list');
      return;
    }
    const isPacked = field.resolvedType === null ? packable.has(field.type) : field.resolvedType instanceof protobuf.Enum;
    if (isPacked && value.length > 0) throw new Error(`packed field ${field.fullName} is not used by any spec`);
    for (const [index, item] of value.entries()) this.#singular(field, item, writer, `${path}[${String(index)}]`, false);
  }

  /** @param omitDefault leave out a zero value, as proto3 does outside of lists and wrappers */
  #singular(field: protobuf.Field, value: Json, writer: protobuf.Writer, path: string, omitDefault: boolean): void {
    const type = field.resolvedType;
    if (type instanceof protobuf.Type) {
      writer.uint32((field.id << 3) | 2).fork();
      this.message(type, value, writer, path);
      writer.ldelim();
    } else if (type instanceof protobuf.Enum) {
      const number = typeof value === 'number' ? value : type.values[String(value)];
      if (number === undefined || type.valuesById[number] === undefined) {
        this.#refuse(path, `must be one of ${Object.keys(type.values).join(', ')}`);
      } else if (number !== 0 || !omitDefault) writer.uint32(field.id << 3).int32(number);
    } else {
      const isWrapper = !omitDefault && wrapperTypes.has(field.parent?.fullName.slice(1) ?? '');
      this.#scalar(field.type, field.id, value, writer, path, omitDefault || isWrapper);
    }
  }

  #scalar(type: string, id: number, value: Json, writer: protobuf.Writer, path: string, omitDefault: boolean): void {
    switch (type) {
      case 'string':
        if (typeof value !== 'string') this.#refuse(path, 'must be a string');
        else if (value !== '' || !omitDefault) writer.uint32((id << 3) | 2).string(value);
        return;
      case 'bytes': {
        const bytes = typeof value === 'string' && /^[\w+/-]*={0,2}$/.test(value) ? Buffer.from(value, 'base64') : null;
        if (bytes === null) this.#refuse(path, 'must be base64');
        else if (bytes.length > 0 || !omitDefault) writer.uint32((id << 3) | 2).bytes(bytes);
        return;
      }
      case 'bool':
        if (typeof value !== 'boolean') this.#refuse(path, 'must be true or false');
        else if (value || !omitDefault) writer.uint32(id << 3).bool(value);
        return;
      case 'double':
        if (typeof value !== 'number') this.#refuse(path, 'must be a number');
        else if (value !== 0 || !omitDefault) writer.uint32((id << 3) | 1).double(value);
        return;
      default:
        this.#integer(type, id, value, writer, path, omitDefault);
    }
  }

  #integer(type: string, id: number, value: Json, writer: protobuf.Writer, path: string, omitDefault: boolean): void {
    const range = ranges[type];
    if (range === undefined) throw new Error(`scalar type ${type} is not used by any spec`);
    const isText = typeof value === 'string' && /^-?\d{1,20}$/.test(value);
    const number = typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : isText ? BigInt(value) : null;
    if (number === null || number < range[0] || number > range[1]) {
      this.#refuse(path, `must be a whole number from ${String(range[0])} to ${String(range[1])}`);
      return;
    }
    if (number === 0n && omitDefault) return;
    writer.uint32(id << 3);
    if (type === 'uint32') writer.uint32(Number(number));
    else if (type === 'int32') writer.int32(Number(number));
    else if (type === 'uint64') writer.uint64(String(number));
    else writer.int64(String(number));
  }

  #struct(json: Json, writer: protobuf.Writer, path: string): void {
    if (!isObject(json)) {
      this.#refuse(path, 'must be an object');
      return;
    }
    for (const key of Object.keys(json).sort(compareUtf8)) {
      writer.uint32(10).fork();
      if (key !== '') writer.uint32(10).string(key);
      writer.uint32(18).fork();
      this.#value(json[key] ?? null, writer);
      writer.ldelim().ldelim();
    }
  }

  #value(json: Json, writer: protobuf.Writer): void {
    if (json === null) writer.uint32(8).int32(0);
    else if (typeof json === 'number') writer.uint32(17).double(json);
    else if (typeof json === 'string') writer.uint32(26).string(json);
    else if (typeof json === 'boolean') writer.uint32(32).bool(json);
    else if (Array.isArray(json)) {
      writer.uint32(50).fork();
      this.#list(json, writer, '');
      writer.ldelim();
    } else {
      writer.uint32(42).fork();
      this.#struct(json, writer, '');
      writer.ldelim();
    }
  }

  #list(json: Json, writer: protobuf.Writer, path: string): void {
    if (!Array.isArray(json)) {
      this.#refuse(path, 'must be a list');
      return;
    }
    for (const item of json) {
      writer.uint32(10).fork();
      this.#value(item, writer);
      writer.ldelim();
    }
  }

  #refuse(field: string, reason: string): void {
    this.violations.push({ field, reason });
  }
}

const packable = new Set(['bool', 'double', 'int32', 'int64', 'uint32', 'uint64']);
const ranges: Record<string, readonly [bigint, bigint]> = {
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  uint32: [0n, 2n ** 32n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
};

const ordered = new WeakMap<protobuf.Type, readonly protobuf.Field[]>();

function fieldsByNumber(type: protobuf.Type): readonly protobuf.Field[] {
  const known = ordered.get(type);
  if (known !== undefined) return known;
  const fields = [...type.fieldsArray].sort((a, b) => a.id - b.id);
  ordered.set(type, fields);
  return fields;
}

/** The proto3 JSON name: `advertised_port` → `advertisedPort`. */
export function jsonName(field: protobuf.Field): string {
  return field.name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** Order of the UTF-8 bytes of two texts, which is not that of their UTF-16 units. */
export function compareUtf8(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function isObject(value: Json): value is Record<string, Json> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
