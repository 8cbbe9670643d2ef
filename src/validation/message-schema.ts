// JSON Schema of a protobuf message in its proto3 JSON form, for OpenAPI and `meridian explain`.
import { planOf, type FieldPlan, type MessagePlan, type ValuePlan, type WellKnown } from '../wire/message-plan.ts';
import type { ScalarType } from '../wire/scalar.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { textOfField } from './message-texts.ts';

const WELL_KNOWN: Readonly<Record<Exclude<WellKnown, 'wrapper'>, JsonObject>> = {
  Duration: { type: 'string', format: 'duration', description: 'Seconds, such as "1.5s".' },
  Timestamp: { type: 'string', format: 'date-time' },
  Struct: { type: 'object', additionalProperties: true },
  Value: {},
  ListValue: { type: 'array', items: {} },
  Any: { type: 'object', properties: { '@type': { type: 'string' } }, required: ['@type'] },
};

/** The JSON Schema (draft 2020-12) of a message by its full name. */
export function messageJsonSchema(name: string): JsonObject {
  return ofMessage(planOf(name), []);
}

/** @param above the messages around this one: a message within itself is any object */
function ofMessage(plan: MessagePlan, above: readonly MessagePlan[]): JsonObject {
  if (plan.wellKnown === 'wrapper') {
    const [value] = plan.fields;
    return value === undefined ? {} : ofValue(value.value, above);
  }
  if (plan.wellKnown !== null) return WELL_KNOWN[plan.wellKnown];
  if (above.includes(plan)) return { type: 'object' };
  const properties = plan.fields.map((field) => [field.jsonName, described(plan, field, above)] as const);
  return { type: 'object', properties: Object.fromEntries(properties) };
}

function described(plan: MessagePlan, field: FieldPlan, above: readonly MessagePlan[]): JsonObject {
  const schema = ofField(field, [...above, plan]);
  const text = textOfField(plan.name, field.jsonName);
  if (text === '') return schema;
  // A duration has a text of its own, which says how it is written.
  const written = typeof schema['description'] === 'string' ? ` ${schema['description']}` : '';
  return { ...schema, description: `${text}${written}` };
}

function ofField({ shape, value }: FieldPlan, above: readonly MessagePlan[]): JsonObject {
  const schema = ofValue(value, above);
  if (shape === 'list') return { type: 'array', items: schema };
  return shape === 'map' ? { type: 'object', additionalProperties: schema } : schema;
}

function ofValue(value: ValuePlan, above: readonly MessagePlan[]): JsonObject {
  if (value.kind === 'message') return ofMessage(value.message, above);
  if (value.kind === 'enum') return { type: 'string', enum: [...value.numbers.keys()] as Json[] };
  return ofScalar(value.type);
}

function ofScalar(type: ScalarType): JsonObject {
  switch (type) {
    case 'string':
      return { type: 'string' };
    case 'bytes':
      return { type: 'string', contentEncoding: 'base64' };
    case 'bool':
      return { type: 'boolean' };
    case 'int32':
    case 'uint32':
      return { type: 'integer', format: type };
    case 'int64':
    case 'uint64':
      return { type: ['integer', 'string'], format: type };
    case 'float':
    case 'double':
      return { type: 'number', format: type };
  }
}
