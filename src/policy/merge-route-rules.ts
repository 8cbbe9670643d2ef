// Routes merge rule by rule: the strongest policy's rules come first, in the order they were written (policies 3.3).
import type { Json, JsonObject } from '../resource/types.ts';
import { matchesHash } from './matches-hash.ts';
import { objectOf, objectsOf } from '../resource/read-json.ts';

/**
 * The rules of several MeshHTTPRoutes on one destination.
 * @param confs weakest first, each `{rules, hostnames?}`
 * @returns one conf for each group of hostnames
 */
export function mergeRouteRules(confs: readonly JsonObject[]): JsonObject[] {
  const groups = new Map<string, { hostnames: Json | undefined; rules: Map<string, JsonObject> }>();
  for (const { rules, hostnames } of confs) {
    const key = JSON.stringify(hostnames ?? []);
    let group = groups.get(key);
    if (group === undefined) groups.set(key, (group = { hostnames, rules: new Map<string, JsonObject>() }));
    for (const rule of objectsOf(rules).toReversed()) fold(group.rules, rule);
  }
  return [...groups.values()].map(({ hostnames, rules }) => ({
    rules: [...rules.values()].toReversed(),
    ...(hostnames !== undefined && { hostnames }),
  }));
}

/** Equal matches fold into the later place; filters and backendRefs replace, each for itself. */
function fold(rules: Map<string, JsonObject>, rule: JsonObject): void {
  const key = matchesHash(rule['matches']);
  const weaker = rules.get(key);
  rules.delete(key);
  rules.set(
    key,
    weaker === undefined ? rule : { ...rule, default: { ...objectOf(weaker['default']), ...objectOf(rule['default']) } },
  );
}
