// The name of a route rule's matches: a hash of their canonical JSON (policies 3.4).
import { createHash } from 'node:crypto';
import type { Json, JsonObject } from '../resource/types.ts';
import { isObject, objectsOf } from '../resource/read-json.ts';

const known = new WeakMap<Json[], string>();

/** base64(SHA-256) of the canonical matches of a route rule. */
export function matchesHash(matches: Json | undefined): string {
  const list = Array.isArray(matches) ? matches : [];
  let hash = known.get(list);
  if (hash === undefined) {
    hash = createHash('sha256')
      .update(goJson(canonicalMatches(list)))
      .digest('base64');
    known.set(list, hash);
  }
  return hash;
}

/** Matches with their keys in the order of the hash: path, method, queryParams, headers. */
export function canonicalMatches(matches: Json | undefined): JsonObject[] {
  return objectsOf(matches).map(({ path, method, queryParams, headers }) => ({
    ...(isObject(path) && { path: keysOf(path, ['value', 'type']) }),
    ...(method !== undefined && { method }),
    ...(queryParams !== undefined && { queryParams: objectsOf(queryParams).map(typeNameValue) }),
    ...(headers !== undefined && { headers: objectsOf(headers).map(typeNameValue) }),
  }));
}

function typeNameValue(match: JsonObject): JsonObject {
  return keysOf(match, ['type', 'name', 'value']);
}

function keysOf(object: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(keys.flatMap((key) => (Object.hasOwn(object, key) ? [[key, object[key] ?? null]] : [])));
}

/** Compact JSON as Go writes it: `<`, `>`, `&` and the two line separators are escaped. */
function goJson(value: Json): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
