// Whether a program in Go could decode a spec or a status: a peer ends the whole stream at the first value of another JSON type
// than the field of its struct has, whatever else is in the message. It follows encoding/json and metav1.Duration. Pure.
import { parseGoNanoseconds } from '../base/duration.ts';
import type { Violation } from '../base/errors.ts';
import { isObject } from '../resource/read-json.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { FaultlessItems } from '../schema/faultless-items.ts';
import { specDefinitions } from './schemas.ts';
import { INT32_MAX, UINT32_MAX } from '../schema/spec-fields.ts';
import { child } from '../resource/spec-path.ts';
import { statusSchemas } from './statuses.ts';
import { shapeOf, type Field, type ObjectShape, type Shape } from '../schema/spec-shape.ts';

type Range = { readonly min: number; readonly max: number };

const INT32: Range = { min: -INT32_MAX - 1, max: INT32_MAX };
/** The range of the whole numbers that JavaScript counts exactly. */
const WIDEST: Range = { min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER };
const RANGES: ReadonlyMap<unknown, Range> = new Map([
  ['int32', INT32],
  ['uint32', { min: 0, max: UINT32_MAX }],
  ['int64', WIDEST],
]);
const NEEDED = {
  text: 'must be a string',
  flag: 'must be true or false',
  number: 'must be a number',
  duration: 'must be a duration such as "10s" or "1m30s"',
  'whole or text': 'must be a whole number or a string',
  list: 'must be a list',
  map: 'must be an object',
  object: 'must be an object',
} as const;

/**
 * The first value of a spec that a Go program cannot decode, or null: a wrong JSON type, a number that does not fit its field,
 * a duration that cannot be parsed. Disallowed values and unknown keys can be decoded.
 * @param type a name of the registry; a type without a schema has nothing to find
 * @returns a path from `spec`, and the allowed values
 */
export function undecodable(type: string, spec: JsonObject): Violation | null {
  const definition = specDefinitions.get(type);
  return definition === undefined ? null : findIn(shapeOf(definition.schema), spec, () => 'spec');
}

/**
 * A status without the fields that a Go program cannot decode. A status is computed again and again, so an undecodable part of it does
 * not withhold the spec.
 * @param type a name of the registry; of a type without a known status everything stays
 * @returns the same object where nothing has to go
 */
export function decodableStatus(type: string, status: JsonObject): JsonObject {
  const schema = statusSchemas.get(type);
  if (schema === undefined) return status;
  const shape = shapeOf(schema);
  const broken = Object.keys(status).filter((key) => findIn(shape, { [key]: status[key] ?? null }, () => 'status') !== null);
  if (broken.length === 0) return status;
  return Object.fromEntries(Object.entries(status).filter(([key]) => !broken.includes(key)));
}

const decodableItems = new FaultlessItems();

/** Paths are built only for findings. */
type Path = () => string;

function findIn(shape: Shape, value: Json, path: Path): Violation | null {
  if (shape.is === 'anything' || value === null) return null;
  if (!fits(shape, value)) return { field: path(), reason: shape.is === 'whole' ? wholeNeeded(shape) : NEEDED[shape.is] };
  if (shape.is === 'list' && Array.isArray(value)) {
    let found: Violation | null = null;
    decodableItems.check(
      shape.item,
      value,
      (item, index) => (found = findIn(shape.item, item, () => child(path(), index))) === null,
      { whole: false },
    );
    return found;
  }
  if (!isObject(value)) return null;
  if (shape.is === 'map')
    return first(Object.entries(value), ([key, member]) => findIn(shape.value, member, () => child(path(), key)));
  if (shape.is !== 'object') return null;
  return first(Object.entries(value), ([key, member]) => {
    const field = fieldOf(shape, key);
    return field === undefined ? null : findInField(field, member, () => child(path(), key));
  });
}

/** A duration that must be given is no pointer in Go, and is parsed even where it is null. */
function findInField({ shape, isRequired }: Field, value: Json, path: Path): Violation | null {
  if (value === null && isRequired && shape.is === 'duration') return { field: path(), reason: NEEDED.duration };
  return findIn(shape, value, path);
}

/** Go takes a key in any case for the field, unless the field is there in its own spelling too, and then decodes both. */
function fieldOf({ fields }: ObjectShape, key: string): Field | undefined {
  const exact = fields.get(key);
  if (exact !== undefined) return exact;
  const folded = fold(key);
  return [...fields].find(([name]) => name.length === key.length && fold(name) === folded)?.[1];
}

/** Upper case first: long s and the Kelvin sign become S and k. */
function fold(key: string): string {
  return key.toUpperCase().toLowerCase();
}

function fits(shape: Exclude<Shape, { is: 'anything' }>, value: Json): boolean {
  switch (shape.is) {
    case 'text':
      return typeof value === 'string';
    case 'flag':
      return typeof value === 'boolean';
    case 'number':
      return typeof value === 'number';
    case 'whole':
      return isWhole(value, rangeOf(shape));
    case 'whole or text':
      return typeof value === 'string' || isWhole(value, INT32);
    case 'duration':
      return typeof value === 'string' && parseGoNanoseconds(value) !== null;
    case 'list':
      return Array.isArray(value);
    case 'map':
    case 'object':
      return isObject(value);
  }
}

function isWhole(value: Json, { min, max }: Range): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
}

/** The range of the integer type in Go; an unknown type is the widest. */
function rangeOf({ format }: { readonly format: unknown }): Range {
  return RANGES.get(format) ?? WIDEST;
}

function wholeNeeded(shape: { readonly format: unknown }): string {
  const { min, max } = rangeOf(shape);
  return `must be a whole number from ${String(min)} to ${String(max)}`;
}

function first<T>(items: Iterable<T>, find: (item: T) => Violation | null): Violation | null {
  for (const item of items) {
    const found = find(item);
    if (found !== null) return found;
  }
  return null;
}
