// The facts of a message that the JSON mapping needs, read once from the reflection.
import protobuf from 'protobufjs/light.js';
import type { Field, Type } from 'protobufjs/light.js';
import { envoyMessageType, messageType, siblingType } from './root.ts';
import { isScalarType, type ScalarType } from './scalar.ts';

export type ValuePlan =
  | { readonly kind: 'scalar'; readonly type: ScalarType }
  | { readonly kind: 'enum'; readonly numbers: ReadonlyMap<string, number>; readonly names: ReadonlyMap<number, string> }
  /** A message may hold itself: its plan is made when it is asked for. */
  | { readonly kind: 'message'; readonly message: MessagePlan };

export type FieldPlan = {
  readonly number: number;
  /** The name as in proto/. */
  readonly name: string;
  /** The name in proto3 JSON: `advertised_port` → `advertisedPort`. */
  readonly jsonName: string;
  readonly shape: 'single' | 'list' | 'map';
  /** The type of the keys of a map. */
  readonly keyType: ScalarType;
  /** The oneof that the field is a member of: at most one of its members is set, and zero is a value. */
  readonly oneof: string | null;
  readonly value: ValuePlan;
};

/** Messages whose JSON is not an object of their fields. */
export type WellKnown = 'Duration' | 'Timestamp' | 'Struct' | 'Value' | 'ListValue' | 'Any' | 'wrapper';

export type MessagePlan = {
  readonly name: string;
  readonly wellKnown: WellKnown | null;
  /** The fields in the order of their numbers. */
  readonly fields: readonly FieldPlan[];
  readonly byNumber: ReadonlyMap<number, FieldPlan>;
  /**
   * The plan of a message of the same descriptors, for an Any.
   * @throws Error when they have none of that name
   */
  readonly sibling: (name: string) => MessagePlan;
};

const GOOGLE = 'google.protobuf.';
const OBJECTS: readonly WellKnown[] = ['Duration', 'Timestamp', 'Struct', 'Value', 'ListValue', 'Any'];

const plans = new WeakMap<Type, MessagePlan>();

/**
 * The plan of a message by its full name, made on first use.
 * @throws Error when proto/ has no such message or it uses an unsupported feature
 */
export function planOf(name: string): MessagePlan {
  return planOfType(messageType(name));
}

/** The plan of a message of Envoy's API, as `planOf` makes it. */
export function envoyPlanOf(name: string): MessagePlan {
  return planOfType(envoyMessageType(name));
}

function planOfType(type: Type): MessagePlan {
  let plan = plans.get(type);
  if (plan === undefined) plans.set(type, (plan = makePlan(type.fullName.slice(1), type)));
  return plan;
}

function makePlan(name: string, type: Type): MessagePlan {
  const wellKnown = wellKnownOf(name);
  const isPlain = wellKnown === null || wellKnown === 'wrapper';
  const fields = isPlain ? type.fieldsArray.map(makeField).sort((a, b) => a.number - b.number) : [];
  const byNumber = new Map(fields.map((field) => [field.number, field]));
  return { name, wellKnown, fields, byNumber, sibling: (other) => planOfType(siblingType(type, other)) };
}

function makeField(field: Field): FieldPlan {
  const isMap = field instanceof protobuf.MapField;
  const keyType = isMap ? field.keyType : 'string';
  if (!isScalarType(keyType)) throw unsupported(field.fullName, `keys of type ${keyType}`);
  return {
    number: field.id,
    name: field.name,
    jsonName: field.name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()),
    shape: isMap ? 'map' : field.repeated ? 'list' : 'single',
    keyType,
    oneof: field.partOf?.name ?? null,
    value: makeValue(field),
  };
}

function makeValue(field: Field): ValuePlan {
  const type = field.resolvedType;
  if (type instanceof protobuf.Type)
    return {
      kind: 'message',
      get message() {
        return planOfType(type);
      },
    };
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
