// Binary → proto3 JSON, straight over the descriptors: camelCase names, defaults left out, enums by name, 64-bit numbers as
// text (kds-wire 4). Fields that the descriptors do not know are passed over; a message given twice is merged.
import { decodeAny, TYPE_URL_PREFIX } from './any.ts';
import { decoding, readFields, type Reader } from './fields.ts';
import { envoyPlanOf, planOf, type FieldPlan, type MessagePlan, type ValuePlan } from './message-plan.ts';
import { setOwn } from './own-key.ts';
import { readScalar, wireTypeOf, zeroOf, type ScalarWireType } from './scalar.ts';
import { decodeList, decodeStruct, decodeValue, type StructObject, type StructValue } from './struct.ts';
import { formatDuration, formatTimestamp } from './well-known.ts';

type PlainPlan = Exclude<ValuePlan, { kind: 'message' }>;

/**
 * Decodes the binary of a message as proto3 JSON, keys in the order of the field numbers.
 * @throws Error on bytes that are no such message
 */
export function binaryToProtoJson(message: string, bytes: Uint8Array): StructObject {
  const plan = planOf(message);
  return decoding(message, () => decodeFields(plan, bytes));
}

/** Decodes a message of Envoy's API as `binaryToProtoJson` does. */
export function envoyBinaryToJson(message: string, bytes: Uint8Array): StructObject {
  const plan = envoyPlanOf(message);
  return decoding(message, () => decodeFields(plan, bytes));
}

function decodeMessage(plan: MessagePlan, bytes: Uint8Array): StructValue {
  switch (plan.wellKnown) {
    case null:
      return decodeFields(plan, bytes);
    case 'Duration':
      return formatDuration(decodeSecondsNanos(bytes));
    case 'Timestamp':
      return formatTimestamp(decodeSecondsNanos(bytes));
    case 'Struct':
      return decodeStruct(bytes);
    case 'Value':
      return decodeValue(bytes);
    case 'ListValue':
      return decodeList(bytes);
    case 'Any': {
      const { typeUrl, value } = decodeAny(bytes);
      const inner = decodeMessage(plan.sibling(typeUrl.slice(TYPE_URL_PREFIX.length)), value);
      return { '@type': typeUrl, ...(inner as StructObject) };
    }
    case 'wrapper':
      return decodeWrapper(plan, bytes);
  }
}

function decodeFields(plan: MessagePlan, bytes: Uint8Array): StructObject {
  const found = new Map<number, Found>();
  readFields(bytes, (tag, reader) => {
    const field = plan.byNumber.get(tag >>> 3);
    return field !== undefined && collect(field, tag & 7, reader, found);
  });
  const json: StructObject = {};
  for (const field of plan.fields) {
    const value = valueOf(field, found.get(field.number));
    if (value !== undefined) json[field.jsonName] = value;
  }
  return json;
}

/** The parts that were read of one field: the bytes of a message wait until all its parts are there. */
type Found = {
  readonly parts: Uint8Array[];
  readonly list: StructValue[];
  readonly map: StructObject;
  plain: StructValue | undefined;
};

/** Returns false when the wire type is not that of the field, which then counts as unknown. */
function collect(field: FieldPlan, wireType: number, reader: Reader, all: Map<number, Found>): boolean {
  const { shape, value } = field;
  const expected = shape === 'map' || value.kind === 'message' ? 2 : plainWireType(value);
  const isPacked = shape === 'list' && wireType === 2 && expected !== 2;
  if (wireType !== expected && !isPacked) return false;
  let found = all.get(field.number);
  if (found === undefined) all.set(field.number, (found = { parts: [], list: [], map: {}, plain: undefined }));
  if (shape === 'map') setOwn(found.map, ...decodeEntry(field, reader.bytes()));
  else if (value.kind === 'message') {
    const bytes = reader.bytes();
    if (shape === 'list') found.list.push(decodeMessage(value.message, bytes));
    else found.parts.push(bytes);
  } else if (isPacked) readPacked(value, reader, found.list);
  else if (shape === 'list') found.list.push(readPlain(value, reader));
  else found.plain = readPlain(value, reader);
  return true;
}

/** The value of a field; undefined for what proto3 JSON leaves out. */
function valueOf({ shape, value, oneof }: FieldPlan, found: Found | undefined): StructValue | undefined {
  if (found === undefined) return undefined;
  if (shape === 'map') return found.map;
  if (shape === 'list') return found.list.length === 0 ? undefined : found.list;
  if (value.kind === 'message') return decodeMessage(value.message, joined(found.parts));
  return oneof === null && found.plain === zeroOfPlain(value) ? undefined : found.plain;
}

/** Protobuf merges the parts of a message, and parts in a row are their merger. */
function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts;
  return parts.length === 1 && first !== undefined ? first : Buffer.concat(parts);
}

function decodeEntry({ keyType, value: plan }: FieldPlan, bytes: Uint8Array): [string, StructValue] {
  let key = String(zeroOf(keyType));
  const keyTag = (1 << 3) | wireTypeOf(keyType);
  const parts: Uint8Array[] = [];
  let plain: StructValue | undefined;
  const expected = lengthOrPlainTag(plan);
  readFields(bytes, (tag, reader) => {
    if (tag === keyTag) key = String(readScalar(keyType, reader));
    else if (tag !== expected) return false;
    else if (plan.kind === 'message') parts.push(reader.bytes());
    else plain = readPlain(plan, reader);
    return true;
  });
  return [key, plan.kind === 'message' ? decodeMessage(plan.message, joined(parts)) : (plain ?? zeroOfPlain(plan))];
}

function lengthOrPlainTag(plan: ValuePlan): number {
  return (2 << 3) | (plan.kind === 'message' ? 2 : plainWireType(plan));
}

function decodeWrapper(plan: MessagePlan, bytes: Uint8Array): StructValue {
  const [field] = plan.fields;
  if (field === undefined || field.value.kind === 'message') throw new Error(`${plan.name} is no wrapper`);
  return decodeFields(plan, bytes)[field.jsonName] ?? zeroOfPlain(field.value);
}

function decodeSecondsNanos(bytes: Uint8Array): { seconds: number; nanos: number } {
  const read = { seconds: 0, nanos: 0 };
  readFields(bytes, (tag, reader) => {
    if (tag === 1 << 3) read.seconds = Number(reader.int64());
    else if (tag === 2 << 3) read.nanos = reader.int32();
    else return false;
    return true;
  });
  return read;
}

function readPacked(plan: PlainPlan, reader: Reader, list: StructValue[]): void {
  const end = reader.uint32() + reader.pos;
  if (end > reader.len) throw new Error('a packed list is longer than its message');
  while (reader.pos < end) list.push(readPlain(plan, reader));
  if (reader.pos !== end) throw new Error('a packed list ends inside of a number');
}

function plainWireType(plan: PlainPlan): ScalarWireType {
  return plan.kind === 'enum' ? 0 : wireTypeOf(plan.type);
}

/** A number that the enum does not know stays a number. */
function readPlain(plan: PlainPlan, reader: Reader): StructValue {
  if (plan.kind === 'scalar') return readScalar(plan.type, reader);
  const number = reader.int32();
  return plan.names.get(number) ?? number;
}

function zeroOfPlain(plan: PlainPlan): StructValue {
  return plan.kind === 'scalar' ? zeroOf(plan.type) : (plan.names.get(0) ?? 0);
}
