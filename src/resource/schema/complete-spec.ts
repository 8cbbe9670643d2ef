// A spec as it is stored and sent: with the defaults of its schema, and durations in the one form of Go's `Duration.String`.
// Pure and idempotent: input is never changed, and what needs no change comes back as the very same object.
import { printedByGo } from '../../base/duration.ts';
import { isObject } from '../read-json.ts';
import type { Json, JsonObject } from '../types.ts';
import { specDefinitions } from './schemas.ts';
import { shapeOf, type ObjectShape, type Shape } from './spec-shape.ts';

/** Shapes in which something may have to be completed; most have nothing, and their values are not walked. */
const completable = new WeakMap<Shape, boolean>();

/**
 * The spec with defaults and normalised durations. A default is filled in only where the object above it exists; a field that
 * is null counts as absent. What does not fit the schema stays as it is: others refuse it.
 * @param type a name of the registry; specs of types without a schema come back unchanged
 */
export function completeSpec(type: string, spec: JsonObject): JsonObject {
  const definition = specDefinitions.get(type);
  if (definition === undefined) return spec;
  const shape = shapeOf(definition.schema);
  return isCompletable(shape) ? (complete(shape, spec) as JsonObject) : spec;
}

function complete(shape: Shape, value: Json): Json {
  switch (shape.is) {
    case 'duration':
      return typeof value === 'string' ? normalDuration(value) : value;
    case 'list':
      return Array.isArray(value) && isCompletable(shape.item) ? completeItems(shape.item, value) : value;
    case 'map':
      return isObject(value) && isCompletable(shape.value) ? completeMembers(() => shape.value, value) : value;
    case 'object':
      return isObject(value)
        ? fillDefaults(
            shape,
            completeMembers((key) => shape.fields.get(key)?.shape, value),
          )
        : value;
    default:
      return value;
  }
}

function completeItems(shape: Shape, items: Json[]): Json[] {
  let copy: Json[] | null = null;
  for (const [index, item] of items.entries()) {
    const completed = complete(shape, item);
    if (completed !== item) (copy ??= [...items])[index] = completed;
  }
  return copy ?? items;
}

function completeMembers(shapeOfMember: (key: string) => Shape | undefined, value: JsonObject): JsonObject {
  let copy: JsonObject | null = null;
  for (const [key, member] of Object.entries(value)) {
    const shape = shapeOfMember(key);
    if (shape === undefined || !isCompletable(shape)) continue;
    const completed = complete(shape, member);
    // A copy by spreading has own properties alone, `__proto__` too.
    if (completed !== member) copy = { ...(copy ?? value), [key]: completed };
  }
  return copy ?? value;
}

function fillDefaults({ fields }: ObjectShape, value: JsonObject): JsonObject {
  let filled = value;
  for (const [key, field] of fields) {
    if (field.default === undefined || (Object.hasOwn(value, key) && value[key] !== null)) continue;
    filled = { ...filled, [key]: structuredClone(field.default) };
  }
  return filled;
}

/** What is no duration stays as it is. */
function normalDuration(text: string): string {
  return printedByGo(text) ?? text;
}

function isCompletable(shape: Shape): boolean {
  const known = completable.get(shape);
  if (known !== undefined) return known;
  const found = hasSomethingToComplete(shape);
  completable.set(shape, found);
  return found;
}

function hasSomethingToComplete(shape: Shape): boolean {
  switch (shape.is) {
    case 'duration':
      return true;
    case 'list':
      return isCompletable(shape.item);
    case 'map':
      return isCompletable(shape.value);
    case 'object':
      return [...shape.fields.values()].some((field) => field.default !== undefined || isCompletable(field.shape));
    default:
      return false;
  }
}
