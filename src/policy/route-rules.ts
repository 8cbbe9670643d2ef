// The rules of MeshHTTPRoutes: the hash that identifies the matches of a rule, and the merge rule by rule, in which the rules of
// the strongest policy come first, in the order of its document (policies 3.3, 3.4).
import { createHash } from 'node:crypto';
import { perObject } from '../base/per-object.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { isObject, objectOf, objectsOf } from '../resource/read-json.ts';

const hashOf = perObject((matches: readonly unknown[]): string =>
  createHash('sha256')
    .update(goJson(canonicalMatches(matches)))
    .digest('base64'),
);

/** A rule of a route that no check has seen. */
export type WrittenRule = { readonly matches?: Json; readonly default?: Json };

/** The rules of a route's item, or of a merged conf. Reading a policy leaves objects alone in the list. */
export function writtenRules({ rules }: JsonObject): readonly WrittenRule[] {
  return (rules ?? []) as readonly WrittenRule[];
}

/** base64(SHA-256) of the canonical matches of a route rule. */
export function matchesHash(matches: Json | readonly object[] | undefined): string {
  return hashOf(Array.isArray(matches) ? matches : []);
}

/** Matches with their keys in the order of the hash: path, method, queryParams, headers. The same objects for the same list. */
export function canonicalMatches(matches: Json | readonly unknown[] | undefined): readonly JsonObject[] {
  return Array.isArray(matches) ? canonical(matches) : [];
}

const canonical = perObject((matches: readonly unknown[]): readonly JsonObject[] =>
  objectsOf(matches).map(({ path, method, queryParams, headers }) => ({
    ...(isObject(path) && { path: keysOf(path, ['value', 'type']) }),
    ...(method !== undefined && { method }),
    ...(queryParams !== undefined && { queryParams: objectsOf(queryParams).map(typeNameValue) }),
    ...(headers !== undefined && { headers: objectsOf(headers).map(typeNameValue) }),
  })),
);

function typeNameValue(match: JsonObject): JsonObject {
  return keysOf(match, ['type', 'name', 'value']);
}

function keysOf(object: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(keys.flatMap((key) => (Object.hasOwn(object, key) ? [[key, object[key] ?? null]] : [])));
}

/** Compact JSON as Go writes it: `<`, `>`, `&` and the two line separators are escaped. */
function goJson(value: readonly JsonObject[]): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/**
 * The rules of several MeshHTTPRoutes on one destination.
 * @param confs weakest first, each `{rules, hostnames?}`
 * @returns one conf for each group of hostnames
 */
export function mergeRouteRules(confs: readonly JsonObject[]): readonly JsonObject[] {
  if (confs.length === 1 && confs.every(hasDistinctMatches)) return [...confs];
  const groups = new Map<string, { hostnames: Json | undefined; rules: Map<string, WrittenRule> }>();
  for (const conf of confs) {
    const { hostnames } = conf;
    const key = JSON.stringify(hostnames ?? []);
    let group = groups.get(key);
    if (group === undefined) groups.set(key, (group = { hostnames, rules: new Map<string, WrittenRule>() }));
    for (const rule of writtenRules(conf).toReversed()) fold(group.rules, rule);
  }
  return [...groups.values()].map(({ hostnames, rules }) => ({
    rules: [...rules.values()].toReversed(),
    ...(hostnames !== undefined && { hostnames }),
  }));
}

/** A conf by itself is the merged one then. */
function hasDistinctMatches(conf: JsonObject): boolean {
  const rules = writtenRules(conf);
  const hashes = new Set<string>();
  for (const { matches } of rules) hashes.add(matchesHash(matches));
  return hashes.size === rules.length;
}

/**
 * Merges rules with equal matches: the position of the stronger one counts, and its filters and backendRefs each replace those of the
 * weaker one.
 */
function fold(rules: Map<string, WrittenRule>, rule: WrittenRule): void {
  const key = matchesHash(rule.matches);
  const weaker = rules.get(key);
  rules.delete(key);
  rules.set(key, weaker === undefined ? rule : { ...rule, default: { ...objectOf(weaker.default), ...objectOf(rule.default) } });
}
