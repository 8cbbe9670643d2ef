// Scalars of protobuf: JSON ⇄ value ⇄ bytes (proto3 JSON mapping). 64-bit numbers are text in JSON.
import { readText, toBuffer, type Reader, type Writer } from './fields.ts';

export type ScalarType = 'string' | 'bytes' | 'bool' | 'int32' | 'uint32' | 'int64' | 'uint64' | 'float' | 'double';
/** It is bigint for the 64-bit integers, and number for all other numbers. */
export type ScalarValue = string | Uint8Array | boolean | number | bigint;

const RANGES = {
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  uint32: [0n, 2n ** 32n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
} as const;

const ZEROS: Record<ScalarType, string | number | boolean> = {
  string: '',
  bytes: '',
  bool: false,
  int32: 0,
  uint32: 0,
  int64: '0',
  uint64: '0',
  float: 0,
  double: 0,
};

/** The forms of the standard alphabet, and of the one for URLs. */
const BASE64 = [/^[A-Za-z0-9+/]*(={0,2})$/, /^[\w-]*(={0,2})$/];

export function isScalarType(type: string): type is ScalarType {
  return Object.hasOwn(ZEROS, type);
}

/** The wire type of a value: 0 varint, 1 and 5 fixed width, 2 length-delimited. */
export type ScalarWireType = 0 | 1 | 2 | 5;

export function wireTypeOf(type: ScalarType): ScalarWireType {
  switch (type) {
    case 'string':
    case 'bytes':
      return 2;
    case 'double':
      return 1;
    case 'float':
      return 5;
    default:
      return 0;
  }
}

/** The default in JSON. */
export function zeroOf(type: ScalarType): string | number | boolean {
  return ZEROS[type];
}

/** Parses a scalar. It is undefined where the JSON does not fit; `allowedFor` says what would. */
export function parseScalar(type: ScalarType, json: unknown): ScalarValue | undefined {
  switch (type) {
    case 'string':
      return typeof json === 'string' && json.isWellFormed() ? json : undefined;
    case 'bytes':
      return typeof json === 'string' && isBase64(json) ? Buffer.from(json, 'base64') : undefined;
    case 'bool':
      return typeof json === 'boolean' ? json : undefined;
    case 'float':
    case 'double':
      return typeof json === 'number' ? json : undefined;
    default: {
      const [least, most] = RANGES[type];
      const isWhole = typeof json === 'number' ? Number.isInteger(json) : typeof json === 'string' && /^-?\d{1,20}$/.test(json);
      if (!isWhole) return undefined;
      const number = BigInt(json as number | string);
      if (number < least || number > most) return undefined;
      return type === 'int32' || type === 'uint32' ? Number(number) : number;
    }
  }
}

/** The expected JSON value of the type, for error messages. */
export function allowedFor(type: ScalarType): string {
  switch (type) {
    case 'string':
      return 'must be a string';
    case 'bytes':
      return 'must be base64';
    case 'bool':
      return 'must be true or false';
    case 'float':
    case 'double':
      return 'must be a number';
    default:
      return `must be a whole number from ${RANGES[type][0]} to ${RANGES[type][1]}`;
  }
}

export function isZero(value: ScalarValue): boolean {
  return value instanceof Uint8Array ? value.length === 0 : !value;
}

/** Appends the value without a tag. */
export function writeScalar(writer: Writer, type: ScalarType, value: ScalarValue): void {
  if (typeof value === 'string') writer.string(value);
  else if (typeof value === 'boolean') writer.bool(value);
  else if (typeof value === 'bigint') {
    // Both 64-bit types have the same bytes: two's complement.
    const [low, high] = [Number(BigInt.asUintN(32, value)), Number(BigInt.asUintN(32, value >> 32n))];
    writer.uint64({ low, high, unsigned: true });
  } else if (typeof value === 'number') {
    if (type === 'int32') writer.int32(value);
    else if (type === 'double') writer.double(value);
    else if (type === 'float') writer.float(value);
    else writer.uint32(value);
  } else writer.bytes(value);
}

/** Reads the value after its tag, as JSON. */
export function readScalar(type: ScalarType, reader: Reader): string | number | boolean {
  switch (type) {
    case 'string':
      return readText(reader);
    case 'bytes':
      return toBuffer(reader.bytes()).toString('base64');
    case 'bool':
      return reader.bool();
    case 'int32':
      return reader.int32();
    case 'uint32':
      return reader.uint32();
    case 'int64':
      return reader.int64().toString();
    case 'uint64':
      return reader.uint64().toString();
    case 'double':
      return reader.double();
    case 'float':
      return reader.float();
  }
}

/** Whether a text is base64, with padding or without. Node would decode the beginning of other text and leave out the rest. */
function isBase64(text: string): boolean {
  const [, padding] = BASE64.map((pattern) => pattern.exec(text)).find((match) => match !== null) ?? [];
  if (padding === undefined) return false;
  return padding === '' ? text.length % 4 !== 1 : text.length % 4 === 0;
}
