// Merging of confs: RFC 7396 over null-free JSON; lists replace, lists under `append…` keys concatenate (policies 3.3).
// Invariant: inputs are never changed; results may share parts with them and are read-only.
import { MIN_ITEMS } from '../base/long-lists.ts';
import { perObject } from '../base/per-object.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { isObject } from '../resource/read-json.ts';

/** The limit of a request body (D32). Deeper values stay unchanged. */
const MAX_DEPTH = 64;

/** Items of long lists are the same objects in all versions of a document. */
const stripItem = perObject((item: JsonObject): Json => strip(item, 0));

/** One conf over another, both of one type: scalars and lists override, objects recurse, `append…` lists grow at their end. */
export function mergeConf<C extends object>(weaker: C, stronger: C): C {
  const merged = { ...weaker } as JsonObject;
  for (const [key, next] of Object.entries(stronger as JsonObject)) merged[key] = mergeValue(key, merged[key] ?? null, next);
  return merged as C;
}

/** All confs, weakest first. */
export function mergeConfs<C extends object>(confs: Iterable<C>): C {
  let merged = {} as C;
  for (const conf of confs) merged = mergeConf(merged, conf);
  return merged;
}

/** Removes nulls before a merge, so that they never delete a value. Removes `__proto__` too. */
export function withoutNulls(value: JsonObject): JsonObject {
  return strip(value, 0) as JsonObject;
}

/** Whether lists under this key are appended, not replaced. */
export function isAppended(key: string): boolean {
  return key.startsWith('append');
}

function mergeValue(key: string, weaker: Json, stronger: Json): Json {
  if (isObject(weaker) && isObject(stronger)) return mergeConf(weaker, stronger);
  if (isAppended(key) && Array.isArray(weaker) && Array.isArray(stronger)) return [...weaker, ...stronger];
  return stronger;
}

function strip(value: Json, depth: number): Json {
  if (depth > MAX_DEPTH || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const isLong = value.length >= MIN_ITEMS;
    return value.map((item) => (isLong && isObject(item) ? stripItem(item) : strip(item, depth + 1)));
  }
  const stripped: JsonObject = {};
  for (const [key, item] of Object.entries(value)) {
    if (item !== null && key !== '__proto__') stripped[key] = strip(item, depth + 1);
  }
  return stripped;
}
