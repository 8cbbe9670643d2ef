// Reads JSON of unknown shape: a wrong shape reads as an empty one, since a peer's resource may hold anything (decisions D7).
import type { Json, JsonObject, Labels } from '../resource/types.ts';

/** The object, or an empty one. */
export function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

/** The objects of a list; what is no object, or no list, is left out. */
export function objectsOf(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** The text, or `''`. */
export function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** The number, or 0. */
export function numberOf(value: Json | undefined): number {
  return typeof value === 'number' ? value : 0;
}

/** The entries of an object whose values are texts. */
export function textMapOf(value: Json | undefined): Labels {
  return Object.fromEntries(
    Object.entries(objectOf(value)).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
