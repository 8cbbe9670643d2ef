// The facts of a message that the JSON mapping needs, read once from the reflection.
import protobuf from 'protobufjs/light.js';
import type { Field, Type } from 'protobufjs/light.js';
import { messageType } from './root.ts';
import { isScalarType, type ScalarType } from './scalar.ts';

export type ValuePlan =
  | { readonly kind: 'scalar'; readonly type: ScalarType }
  | { readonly kind: 'enum'; readonly numbers: ReadonlyMap<string, number>; readonly names: ReadonlyMap<number, string> }
  | { readonly kind: 'message'; readonly message: MessagePlan };

export type FieldPlan = {
  readonly number: number;
  /** As in proto/. */
  readonly name: string;
  /** In proto3 JSON: `advertised_port` → `advertisedPort`. */
  readonly jsonName: string;
  /** Keys of maps are strings. */
  readonly shape: 'single' | 'list' | 'map';
  readonly value: ValuePlan;
};

/** Messages whose JSON is not an object of their fields. */
export type WellKnown = 'Duration' | 'Timestamp' | 'Struct' | 'Value' | 'ListValue' | 'wrapper';

export type MessagePlan = {
  readonly name: string;
  readonly wellKnown: WellKnown | null;
  /** In the order of their numbers. */
  readonly fields: readonly FieldPlan[];
  readonly byNumber: ReadonlyMap<number, FieldPlan>;
};

const GOOGLE = 'google.protobuf.';
const OBJECTS: readonly WellKnown[] = ['Duration', 'Timestamp', 'Struct', 'Value', 'ListValue'];

const plans = new Map<string, MessagePlan>();

/**
 * The plan of a message by its full name, made on first use.
 * @throws Error when proto/ has no such message or it uses an unsupported feature
 */
export function planOf(name: string): MessagePlan {
  const known = plans.get(name);
  if (known !== undefined) return known;
  const plan = makePlan(name, messageType(name));
  plans.set(name, plan);
  return plan;
}

function makePlan(name: string, type: Type): MessagePlan {
  const wellKnown = wellKnownOf(name);
  if (wellKnown === null && type.oneofsArray.length > 0) throw unsupported(name, 'a oneof');
  const isPlain = wellKnown === null || wellKnown === 'wrapper';
  const fields = isPlain ? type.fieldsArray.map(makeField).sort((a, b) => a.number - b.number) : [];
  return { name, wellKnown, fields, byNumber: new Map(fields.map((field) => [field.number, field])) };
}

function makeField(field: Field): FieldPlan {
  const isMap = field instanceof protobuf.MapField;
  if (isMap && field.keyType !== 'string') throw unsupported(field.fullName, `keys of type ${field.keyType}`);
  return {
    number: field.id,
    name: field.name,
    jsonName: field.name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()),
    shape: isMap ? 'map' : field.repeated ? 'list' : 'single',
    value: makeValue(field),
  };
}

function makeValue(field: Field): ValuePlan {
  const type = field.resolvedType;
  if (type instanceof protobuf.Type) return { kind: 'message', message: planOf(type.fullName.slice(1)) };
  if (type instanceof protobuf.Enum) {
    const entries = Object.entries(type.values);
    return { kind: 'enum', numbers: new Map(entries), names: new Map(entries.map(([name, number]) => [number, name])) };
  }
  if (!isScalarType(field.type)) throw unsupported(field.fullName, `type ${field.type}`);
  return { kind: 'scalar', type: field.type };
}

function wellKnownOf(name: string): WellKnown | null {
  if (!name.startsWith(GOOGLE)) return null;
  const short = name.slice(GOOGLE.length);
  if (short.endsWith('Value') && short !== 'Value' && short !== 'ListValue') return 'wrapper';
  return OBJECTS.find((known) => known === short) ?? null;
}

function unsupported(where: string, what: string): Error {
  return new Error(`${where}: the JSON mapping does not support ${what}; extend src/wire/message-plan.ts`);
}
