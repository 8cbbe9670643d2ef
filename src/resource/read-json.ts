// Reads JSON of unknown shape: a wrong shape reads as an empty one, since a peer's resource may hold anything (D7).
import type { JsonObject, Labels } from './types.ts';

/** The object, or an empty one. */
export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** The objects of a list. Other items are left out; other values give an empty list. */
export function objectsOf(value: unknown): readonly JsonObject[] {
  if (!Array.isArray(value)) return [];
  // A list has thousands of items, and is read again and again.
  return value.every(isObject) ? value : value.filter(isObject);
}

/** The text, or `''`. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The number, or 0. */
export function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

/** The entries of an object whose values are texts. */
export function textMapOf(value: unknown): Labels {
  return Object.fromEntries(
    Object.entries(objectOf(value)).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
