// A spec as it is stored and sent: with the defaults of its schema, and durations in the one form of Go's `Duration.String`.
// Pure and idempotent: input is never changed, and an unchanged value is returned as the same object.
import { MIN_ITEMS } from '../base/long-lists.ts';
import { perObject } from '../base/per-object.ts';
import { printedByGo } from '../base/duration.ts';
import { isObject } from '../resource/read-json.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { specDefinitions } from './schemas.ts';
import { shapeOf, type ObjectShape, type Shape } from '../schema/spec-shape.ts';

/**
 * Completes a value. It returns the same value where nothing is missing. It is null for a shape in which nothing is ever missing.
 */
type Completer = ((value: Json) => Json) | null;

/** Every write and every row that is sent passes here, so a shape is read once. */
const completers = new WeakMap<Shape, Completer>();

/**
 * The spec with defaults and normalised durations. A default is filled in only where the object above it exists; a field that
 * is null counts as absent. Values that do not fit the schema stay unchanged: validation refuses them.
 * @param type a name of the registry; specs of types without a schema come back unchanged
 */
export function completeSpec(type: string, spec: JsonObject): JsonObject {
  const definition = specDefinitions.get(type);
  if (definition === undefined) return spec;
  const complete = completerOf(shapeOf(definition.schema));
  return complete === null ? spec : (complete(spec) as JsonObject);
}

function completerOf(shape: Shape): Completer {
  const known = completers.get(shape);
  if (known !== undefined) return known;
  const made = makeCompleter(shape);
  completers.set(shape, made);
  return made;
}

function makeCompleter(shape: Shape): Completer {
  switch (shape.is) {
    case 'duration':
      // Values other than durations stay unchanged.
      return (value) => (typeof value === 'string' ? (printedByGo(value) ?? value) : value);
    case 'list':
      return ofItems(completerOf(shape.item));
    case 'map':
      return ofMembers(completerOf(shape.value));
    case 'object':
      return ofFields(shape);
    default:
      return null;
  }
}

function ofItems(completeItem: Completer): Completer {
  if (completeItem === null) return null;
  // Items of long lists are the same objects in all versions of a document.
  const once = perObject((item: JsonObject): Json => completeItem(item));
  return (value) => {
    if (!Array.isArray(value)) return value;
    let copy: Json[] | null = null;
    const isLong = value.length >= MIN_ITEMS;
    for (let index = 0; index < value.length; index += 1) {
      const item = value[index] ?? null;
      const completed = isLong && isObject(item) ? once(item) : completeItem(item);
      if (completed !== item) (copy ??= [...value])[index] = completed;
    }
    return copy ?? value;
  };
}

function ofMembers(completeMember: Completer): Completer {
  if (completeMember === null) return null;
  return (value) => {
    if (!isObject(value)) return value;
    let copy: JsonObject | null = null;
    for (const [key, member] of Object.entries(value)) {
      const completed = completeMember(member);
      // A copy by spreading has own properties alone, `__proto__` too.
      if (completed !== member) copy = { ...(copy ?? value), [key]: completed };
    }
    return copy ?? value;
  };
}

function ofFields({ fields }: ObjectShape): Completer {
  const nested = [...fields].flatMap(([key, { shape }]) => {
    const complete = completerOf(shape);
    return complete === null ? [] : [{ key, complete }];
  });
  const defaults = [...fields].flatMap(([key, field]) => (field.default === undefined ? [] : [{ key, value: field.default }]));
  if (nested.length === 0 && defaults.length === 0) return null;
  return (value) => {
    if (!isObject(value)) return value;
    let copy: JsonObject | null = null;
    for (const { key, complete } of nested) {
      const member = value[key];
      if (member === undefined || member === null) continue;
      const completed = complete(member);
      if (completed !== member) (copy ??= { ...value })[key] = completed;
    }
    for (const { key, value: preset } of defaults)
      if ((value[key] ?? null) === null) (copy ??= { ...value })[key] = structuredClone(preset);
    return copy ?? value;
  };
}
