// The shape of a spec, read once from its schema: keys, kinds of values, ranges and defaults, without the checks.
// All code that walks specs by their schema (rules, unknown keys, defaults) uses this shape.
import { z } from 'zod';
import type { Json } from '../resource/types.ts';

export type Field = {
  readonly shape: Shape;
  /** The default. It is stored if the field is absent and the object above it exists; undefined if there is none. */
  readonly default: Json | undefined;
  readonly isRequired: boolean;
};

export type ObjectShape = {
  readonly is: 'object';
  readonly fields: ReadonlyMap<string, Field>;
  /** Whether unknown keys are kept and not looked into. */
  readonly isOpen: boolean;
  /** The schema from which this was read. */
  readonly schema: z.ZodObject;
};

export type Shape =
  | { readonly is: 'anything' }
  | { readonly is: 'text' | 'duration' | 'flag' | 'number' | 'whole or text' }
  /** The allowed values, and the `format` of the schema: the integer type of the field in Go. */
  | { readonly is: 'whole'; readonly min: number; readonly max: number; readonly format: unknown }
  | { readonly is: 'list'; readonly item: Shape }
  | { readonly is: 'map'; readonly value: Shape }
  | ObjectShape;

/** The `format` in the metadata of a schema for Go durations. */
export const DURATION_FORMAT = 'go-duration';

const shapes = new WeakMap<z.ZodType, Shape>();

/** The shape of a schema; the same object each time. */
export function shapeOf(schema: z.ZodType): Shape {
  const ready = shapes.get(schema);
  if (ready !== undefined) return ready;
  const shape = readShape(schema);
  shapes.set(schema, shape);
  return shape;
}

function readShape(schema: z.ZodType): Shape {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return shapeOf(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodArray) return { is: 'list', item: shapeOf(schema.element as z.ZodType) };
  if (schema instanceof z.ZodRecord) return { is: 'map', value: shapeOf(schema.valueType as z.ZodType) };
  if (schema instanceof z.ZodObject) return readObject(schema);
  if (schema instanceof z.ZodString)
    return { is: z.globalRegistry.get(schema)?.['format'] === DURATION_FORMAT ? 'duration' : 'text' };
  if (schema instanceof z.ZodBoolean) return { is: 'flag' };
  if (schema instanceof z.ZodEnum) return { is: 'text' };
  if (schema instanceof z.ZodNumber) return readNumber(schema);
  if (schema instanceof z.ZodLiteral) return ofValues([...schema.values]);
  if (schema instanceof z.ZodUnion) return ofMembers(schema.options.map((option) => shapeOf(option as z.ZodType)));
  return { is: 'anything' };
}

function readObject(schema: z.ZodObject): ObjectShape {
  const shape: Readonly<Record<string, z.ZodType>> = schema.shape;
  const members = Object.entries(shape);
  return {
    is: 'object',
    fields: new Map(
      members.map(([key, member]) => [
        key,
        { shape: shapeOf(member), default: defaultOf(member), isRequired: !member.safeParse(undefined).success },
      ]),
    ),
    isOpen: schema.def.catchall !== undefined,
    schema,
  };
}

function readNumber(schema: z.ZodNumber): Shape {
  if (!schema.format?.includes('int')) return { is: 'number' };
  const format = z.globalRegistry.get(schema)?.['format'];
  return { is: 'whole', min: schema.minValue ?? -Infinity, max: schema.maxValue ?? Infinity, format };
}

/** The default of a field, inside all schemas that are wrapped around it. */
function defaultOf(schema: z.ZodType): Json | undefined {
  if (schema instanceof z.ZodDefault) return schema.def.defaultValue as Json;
  return schema instanceof z.ZodOptional ? defaultOf(schema.unwrap() as z.ZodType) : undefined;
}

function ofValues(values: readonly unknown[]): Shape {
  if (values.every((value) => typeof value === 'string')) return { is: 'text' };
  const numbers = values.filter((value) => Number.isInteger(value)) as number[];
  return numbers.length === values.length
    ? { is: 'whole', min: Math.min(...numbers), max: Math.max(...numbers), format: undefined }
    : { is: 'anything' };
}

function ofMembers(members: readonly Shape[]): Shape {
  const kinds = new Set(members.map(({ is }) => is));
  if (kinds.size === 1) return members[0] ?? { is: 'anything' };
  return kinds.size === 2 && kinds.has('whole') && kinds.has('text') ? { is: 'whole or text' } : { is: 'anything' };
}
