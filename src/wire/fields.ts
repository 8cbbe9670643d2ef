// Reading and writing protobuf fields by hand, for the messages that are too many for reflection.
// Invariant: reading takes at most one pass over the bytes, and bytes other than protobuf throw.
import { isUtf8 } from 'node:buffer';
import protobuf from 'protobufjs/light.js';
import type { Reader, Writer } from 'protobufjs/light.js';
import type { Steps } from '../base/steps.ts';

export type { Reader, Writer };

/** The key of a length-delimited field: strings, bytes, messages, maps, packed numbers. */
export function lengthTag(field: number): number {
  return (field << 3) | 2;
}

export function createWriter(): Writer {
  return protobuf.Writer.create();
}

/** Finishes a writer; in Node its bytes are always a Buffer. */
export function finish(writer: Writer): Buffer {
  return toBuffer(writer.finish());
}

/** The bytes as a Buffer of the same memory. */
export function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * Calls `visit` for each field. It reads the value and returns true, or returns false and the value is passed over, as
 * protobuf asks for unknown fields and for known ones of an unexpected wire type.
 * @throws Error on bytes that are no protobuf message
 */
export function readFields(bytes: Uint8Array, visit: (tag: number, reader: Reader) => boolean): void {
  const reader = protobuf.Reader.create(toBuffer(bytes));
  while (reader.pos < reader.len) {
    const tag = reader.tag();
    if (tag >>> 3 === 0) throw new Error('field number 0 is not allowed');
    if (!visit(tag, reader)) reader.skipType(tag & 7, 0, tag >>> 3);
  }
}

/** The number of fields between two steps. */
const FIELDS_A_STEP = 128;

/**
 * `readFields` in steps, for messages that may be large.
 * @throws Error on bytes that are no protobuf message
 */
export function* readFieldsInSteps(bytes: Uint8Array, visit: (tag: number, reader: Reader) => boolean): Steps<void> {
  const reader = protobuf.Reader.create(toBuffer(bytes));
  for (let fields = 1; reader.pos < reader.len; fields += 1) {
    const tag = reader.tag();
    if (tag >>> 3 === 0) throw new Error('field number 0 is not allowed');
    if (!visit(tag, reader)) reader.skipType(tag & 7, 0, tag >>> 3);
    if (fields % FIELDS_A_STEP === 0) yield;
  }
}

/** The largest number of bytes of a text that is looked at one by one. */
const MAX_SHORT = 128;

/** Reads a text. @throws Error when the bytes are not UTF-8 */
export function readText(reader: Reader): string {
  const start = reader.pos;
  const length = reader.uint32();
  const end = reader.pos + length;
  // Names and types are ASCII: such a text is read without a view of its bytes.
  if (length <= MAX_SHORT && end <= reader.len && isAscii(reader.buf, reader.pos, end)) {
    const text = toBuffer(reader.buf).toString('latin1', reader.pos, end);
    reader.pos = end;
    return text;
  }
  reader.pos = start;
  const bytes = toBuffer(reader.bytes());
  if (!isUtf8(bytes)) throw new Error('a string is not UTF-8');
  return bytes.toString('utf8');
}

function isAscii(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) if ((bytes[at] ?? 0x80) >= 0x80) return false;
  return true;
}

/** Writes a string field, which is left out when empty. Lone surrogates become U+FFFD: they have no UTF-8. */
export function writeText(writer: Writer, field: number, text: string): void {
  if (text !== '') writer.uint32(lengthTag(field)).string(text.toWellFormed());
}

/** Writes one entry of a `map<string, string>`; key and value are always written, as Go does. */
export function writeTextEntry(writer: Writer, field: number, key: string, value: string): void {
  writer.uint32(lengthTag(field)).fork();
  writer.uint32(lengthTag(1)).string(key.toWellFormed());
  writer.uint32(lengthTag(2)).string(value.toWellFormed());
  writer.ldelim();
}

export function readTextEntry(bytes: Uint8Array): [key: string, value: string] {
  let key = '';
  let value = '';
  readFields(bytes, (tag, reader) => {
    if (tag === lengthTag(1)) key = readText(reader);
    else if (tag === lengthTag(2)) value = readText(reader);
    else return false;
    return true;
  });
  return [key, value];
}

/**
 * Runs a decoder; its errors name `what`.
 * @throws Error
 */
export function decoding<T>(what: string, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    throw cannotRead(what, error);
  }
}

/**
 * `decoding` in steps.
 * @throws Error
 */
export function* decodingInSteps<T>(what: string, decode: () => Steps<T>): Steps<T> {
  try {
    return yield* decode();
  } catch (error) {
    throw cannotRead(what, error);
  }
}

function cannotRead(what: string, error: unknown): Error {
  const reason = error instanceof Error ? error.message : String(error);
  return new Error(`cannot read ${what}: ${reason}`, { cause: error });
}
