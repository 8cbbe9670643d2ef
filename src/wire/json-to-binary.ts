// proto3 JSON → binary, straight over the descriptors. Deterministic: fields in number order, map keys by UTF-8 bytes,
// in any order of the keys in the JSON (engine 19).
import { MIN_ITEMS } from '../base/long-lists.ts';
import { TYPE_URL_PREFIX } from './any.ts';
import { createWriter, lengthTag, type Writer } from './fields.ts';
import { envoyPlanOf, planOf, type FieldPlan, type MessagePlan, type ValuePlan } from './message-plan.ts';
import { ProtoJsonError, type ProtoViolation } from './proto-error.ts';
import { allowedFor, isZero, parseScalar, wireTypeOf, writeScalar, type ScalarType, type ScalarValue } from './scalar.ts';
import { writeList, writeStruct, writeValue, type StructObject, type StructValue } from './struct.ts';
import { sortedKeys } from './text-order.ts';
import { parseDuration, parseTimestamp, type SecondsNanos } from './well-known.ts';

/** The keys that are read and never used (D17): the strict reader knows them, and the binary leaves them out. */
const IGNORED_KEYS: ReadonlyMap<string, readonly string[]> = new Map([
  ['kuma.mesh.v1alpha1.Dataplane.Networking', ['advertisedAddress', 'advertised_address']],
]);

/** The number of violations after which the check ends. */
export const MAX_VIOLATIONS = 100;

/** @property strict refuses unknown keys @property keeps keeps the bytes of the items of long lists */
type EncoderOptions = { readonly strict: boolean; readonly keeps: boolean };

const encoded = new WeakMap<MessagePlan, WeakMap<StructObject, Uint8Array>>();

type PlainPlan = Exclude<ValuePlan, { kind: 'message' }>;

/**
 * Encodes proto3 JSON as the binary of a message. Original and camelCase names are taken; null means absent.
 * @param options.strict refuses unknown keys, which are otherwise left out
 * @throws ProtoJsonError with the values that do not fit, by path; after `MAX_VIOLATIONS` of them the check ends
 */
export function protoJsonToBinary(message: string, json: StructObject, options: { strict?: boolean } = {}): Uint8Array {
  return encode(planOf(message), json, new Encoder(createWriter(), { strict: options.strict ?? false, keeps: false }));
}

/**
 * Encodes proto3 JSON as the binary of a message of Envoy's API, strictly. Items of long lists are encoded once: they must not
 * change.
 * @throws ProtoJsonError as `protoJsonToBinary` does
 */
export function envoyJsonToBinary(message: string, json: StructObject): Uint8Array {
  return encode(envoyPlanOf(message), json, new Encoder(createWriter(), { strict: true, keeps: true }));
}

/** The memory in which large messages are made one after the other. */
let scratch = createWriter();
/** The limit in bytes of the memory that is kept. */
const MAX_SCRATCH_BYTES = 4 * 1024 * 1024;

/**
 * Encodes as `envoyJsonToBinary` does, for large messages that are needed for a moment.
 * @param use gets bytes that change after it returns
 * @throws ProtoJsonError as `envoyJsonToBinary`
 */
export function useEnvoyBinary<T>(message: string, json: StructObject, use: (bytes: Uint8Array) => T): T {
  const writer = scratch;
  // After an error the memory is of no use.
  scratch = createWriter();
  check(envoyPlanOf(message), json, new Encoder(writer, { strict: true, keeps: true }));
  const bytes = writer.finish(true);
  const used = use(bytes);
  if (bytes.buffer.byteLength <= MAX_SCRATCH_BYTES) scratch = writer.reset();
  return used;
}

function encode(plan: MessagePlan, json: StructObject, encoder: Encoder): Uint8Array {
  check(plan, json, encoder);
  return encoder.finish();
}

function check(plan: MessagePlan, json: StructObject, encoder: Encoder): void {
  encoder.message(plan, json, '');
  if (encoder.violations.length > 0) throw new ProtoJsonError(encoder.violations);
}

/** Writes while it checks. After the first violation the output is unusable. */
class Encoder {
  readonly violations: ProtoViolation[] = [];
  readonly #writer: Writer;
  readonly #options: EncoderOptions;

  constructor(writer: Writer, options: EncoderOptions) {
    this.#writer = writer;
    this.#options = options;
  }

  finish(): Uint8Array {
    return this.#writer.finish();
  }

  /** Appends the fields of a message. */
  message(plan: MessagePlan, json: StructValue, at: string): void {
    switch (plan.wellKnown) {
      case null:
        if (isObject(json)) this.#fields(plan, json, at);
        else this.#refuse(at, 'must be an object');
        return;
      case 'Duration':
        this.#time(
          typeof json === 'string' ? parseDuration(json) : null,
          at,
          'must be a duration in seconds such as "5s" or "0.5s"',
        );
        return;
      case 'Timestamp':
        this.#time(
          typeof json === 'string' ? parseTimestamp(json) : null,
          at,
          'must be an RFC 3339 time such as "2026-01-31T12:00:00Z"',
        );
        return;
      case 'wrapper':
        for (const field of plan.fields) this.#single(field, json, at);
        return;
      case 'Any':
        this.#any(plan, json, at);
        return;
      default:
        this.#struct(plan.wellKnown, json, at);
    }
  }

  /** Writes `{"@type": "type.googleapis.com/<message>", …}`: the fields of the message stand beside its type. */
  #any(plan: MessagePlan, json: StructValue, at: string): void {
    const typeUrl = isObject(json) ? json['@type'] : undefined;
    const inner = typeof typeUrl === 'string' ? innerPlan(plan, typeUrl) : null;
    if (!isObject(json) || typeof typeUrl !== 'string' || inner === null) {
      this.#refuse(join(at, '@type'), `must be ${TYPE_URL_PREFIX} and the name of a message of the API`);
      return;
    }
    const { '@type': _type, ...fields } = json;
    this.#writer.uint32(lengthTag(1)).string(typeUrl);
    this.#writer.uint32(lengthTag(2)).fork();
    this.message(inner, fields, at);
    this.#writer.ldelim();
  }

  #fields(plan: MessagePlan, json: StructObject, at: string): void {
    const members = new Map<string, string>();
    let known = 0;
    for (const field of plan.fields) {
      const key = this.#keyOf(field, json, at);
      if (key !== undefined) known += 1;
      const value = key === undefined ? undefined : json[key];
      if (key === undefined || value === undefined || (value === null && !takesNull(field))) continue;
      const path = join(at, key);
      if (field.oneof !== null) {
        const other = members.get(field.oneof);
        if (other !== undefined) this.#refuse(path, `must not be set beside ${other}`);
        members.set(field.oneof, key);
      }
      if (field.shape === 'map') this.#map(field, value, path);
      else if (field.shape === 'list') this.#list(field, value, path);
      else this.#single(field, value, path);
    }
    if (this.#options.strict && known < Object.keys(json).length) this.#refuseUnknown(plan, json, at);
  }

  /** The spelling of the key in use. Both at once are refused. */
  #keyOf({ name, jsonName }: FieldPlan, json: StructObject, at: string): string | undefined {
    const hasJsonName = Object.hasOwn(json, jsonName);
    if (name === jsonName || !Object.hasOwn(json, name)) return hasJsonName ? jsonName : undefined;
    if (hasJsonName) this.#refuse(join(at, name), `is given twice; keep ${jsonName} alone`);
    return name;
  }

  #refuseUnknown(plan: MessagePlan, json: StructObject, at: string): void {
    const known = new Set(plan.fields.flatMap(({ name, jsonName }) => [name, jsonName]));
    const allowed = plan.fields.map(({ jsonName }) => jsonName).join(', ');
    for (const key of Object.keys(json)) {
      if (known.has(key) || IGNORED_KEYS.get(plan.name)?.includes(key) === true) continue;
      this.#refuse(join(at, key), `is no field; allowed: ${allowed === '' ? 'none' : allowed}`);
    }
  }

  /** Writes a map, always with key and value, as Go does. */
  #map(field: FieldPlan, json: StructValue, at: string): void {
    if (!isObject(json)) {
      this.#refuse(at, 'must be an object');
      return;
    }
    for (const key of sortedKeys(json)) {
      const path = `${at}[${JSON.stringify(key)}]`;
      const parsed = parseScalar(field.keyType, field.keyType === 'bool' ? key === 'true' : key);
      if (parsed === undefined) {
        this.#refuse(
          path,
          field.keyType === 'string' ? 'has a key with half a character' : `has a key that ${allowedFor(field.keyType)}`,
        );
        continue;
      }
      this.#writer.uint32(lengthTag(field.number)).fork();
      this.#writer.uint32((1 << 3) | wireTypeOf(field.keyType));
      writeScalar(this.#writer, field.keyType, parsed);
      this.#value(field.value, 2, json[key] ?? null, path);
      this.#writer.ldelim();
    }
  }

  #list(field: FieldPlan, json: StructValue, at: string): void {
    if (!Array.isArray(json)) {
      this.#refuse(at, 'must be a list');
      return;
    }
    const { value: plan, number } = field;
    if (this.#options.keeps && plan.kind === 'message' && json.length >= MIN_ITEMS) {
      this.#listOfKept(plan.message, number, json, at);
    } else if (plan.kind === 'message' || wireTypeOf(scalarTypeOf(plan)) === 2) {
      for (const [index, item] of json.entries()) this.#value(plan, number, item, `${at}[${index}]`);
    } else if (json.length > 0) this.#packed(plan, number, json, at);
  }

  /** Writes the messages of a long list. The same object is encoded once: it must not change. */
  #listOfKept(plan: MessagePlan, number: number, list: readonly StructValue[], at: string): void {
    let known = encoded.get(plan);
    if (known === undefined) encoded.set(plan, (known = new WeakMap<StructObject, Uint8Array>()));
    const tag = lengthTag(number);
    for (let index = 0; index < list.length; index += 1) {
      const item = list[index] ?? null;
      if (!isObject(item)) this.#value({ kind: 'message', message: plan }, number, item, `${at}[${index}]`);
      else {
        const bytes = known.get(item) ?? this.#kept(plan, known, item, `${at}[${index}]`);
        if (bytes !== null) this.#writer.uint32(tag).bytes(bytes);
      }
    }
  }

  /** The bytes of an item. @returns null for an item with violations */
  #kept(plan: MessagePlan, known: WeakMap<StructObject, Uint8Array>, item: StructObject, at: string): Uint8Array | null {
    const encoder = new Encoder(createWriter(), this.#options);
    encoder.message(plan, item, at);
    for (const { field, reason } of encoder.violations) this.#refuse(field, reason);
    if (encoder.violations.length > 0) return null;
    // A small buffer would keep alive the large one that it is cut from.
    const bytes = Uint8Array.from(encoder.finish());
    known.set(item, bytes);
    return bytes;
  }

  #packed(plan: PlainPlan, number: number, json: readonly StructValue[], at: string): void {
    this.#writer.uint32(lengthTag(number)).fork();
    for (const [index, item] of json.entries()) {
      const value = this.#parse(plan, item, `${at}[${index}]`);
      if (value !== undefined) writeScalar(this.#writer, scalarTypeOf(plan), value);
    }
    this.#writer.ldelim();
  }

  /** Writes a field of its own: scalars are left out when they have their default. */
  #single(field: FieldPlan, json: StructValue, at: string): void {
    // A member of a oneof is there or not: zero is a value.
    this.#value(field.value, field.number, json, at, field.oneof === null);
  }

  /** Writes tag and value. */
  #value(plan: ValuePlan, number: number, json: StructValue, at: string, omitZero = false): void {
    if (plan.kind === 'message') {
      this.#writer.uint32(lengthTag(number)).fork();
      this.message(plan.message, json, at);
      this.#writer.ldelim();
      return;
    }
    const value = this.#parse(plan, json, at);
    if (value === undefined || (omitZero && isZero(value))) return;
    const type = scalarTypeOf(plan);
    this.#writer.uint32((number << 3) | wireTypeOf(type));
    writeScalar(this.#writer, type, value);
  }

  /** Parses a scalar. It is undefined, with a violation, where the JSON does not fit. */
  #parse(plan: PlainPlan, json: StructValue, at: string): ScalarValue | undefined {
    if (plan.kind === 'scalar') {
      const value = parseScalar(plan.type, json);
      if (value === undefined) this.#refuse(at, allowedFor(plan.type));
      return value;
    }
    const number =
      typeof json === 'number' ? parseScalar('int32', json) : typeof json === 'string' ? plan.numbers.get(json) : undefined;
    if (number === undefined) this.#refuse(at, `must be one of ${[...plan.numbers.keys()].join(', ')}`);
    return number;
  }

  #time(read: SecondsNanos | null, at: string, allowed: string): void {
    if (read === null) {
      this.#refuse(at, allowed);
      return;
    }
    if (read.seconds !== 0) this.#writer.uint32(1 << 3).int64(read.seconds);
    if (read.nanos !== 0) this.#writer.uint32(2 << 3).int32(read.nanos);
  }

  #struct(kind: 'Struct' | 'Value' | 'ListValue', json: StructValue, at: string): void {
    try {
      if (kind === 'Value') writeValue(this.#writer, json);
      else if (kind === 'ListValue') {
        if (Array.isArray(json)) writeList(this.#writer, json);
        else this.#refuse(at, 'must be a list');
      } else if (isObject(json)) writeStruct(this.#writer, json);
      else this.#refuse(at, 'must be an object');
    } catch (error) {
      if (error instanceof ProtoJsonError) throw error;
      this.#refuse(at, error instanceof Error ? error.message : String(error));
    }
  }

  #refuse(field: string, reason: string): void {
    this.violations.push({ field, reason });
    // One more than is listed says that there are more; the rest of the input is not looked at.
    if (this.violations.length > MAX_VIOLATIONS) throw new ProtoJsonError(this.violations);
  }
}

/** The message that an Any holds; null where the descriptors have none of that name. */
function innerPlan(plan: MessagePlan, typeUrl: string): MessagePlan | null {
  if (!typeUrl.startsWith(TYPE_URL_PREFIX)) return null;
  try {
    return plan.sibling(typeUrl.slice(TYPE_URL_PREFIX.length));
  } catch {
    return null;
  }
}

/** Enums travel as int32. */
function scalarTypeOf(plan: PlainPlan): ScalarType {
  return plan.kind === 'scalar' ? plan.type : 'int32';
}

function takesNull({ shape, value }: FieldPlan): boolean {
  return shape === 'single' && value.kind === 'message' && value.message.wellKnown === 'Value';
}

function join(at: string, key: string): string {
  return at === '' ? key : `${at}.${key}`;
}

function isObject(value: StructValue): value is StructObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
