// The usable part of the conf in force. A policy from a peer may be unchecked, and valid confs can merge into an invalid one. This leaves
// out and reports everything that the checks of a PUT refuse, and keeps the rest.
import type { Violation } from '../base/errors.ts';
import type { Conf, Confs } from '../policies/confs.ts';
import type { Contribution } from '../policy/resource-rules.ts';
import { isObject, objectOf } from '../resource/read-json.ts';
import { checkConfItem, type ConfSection } from '../validation/check-conf.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { problemIn, type ConfigProblem } from './config-problem.ts';

/** The usable conf, and the paths that were left out, with reasons. */
export type UsableConf<C = JsonObject> = {
  /** Null: the match of the rule cannot be read. */
  readonly conf: C | null;
  readonly refused: readonly Refused[];
};
export type Refused = { readonly path: string; readonly reason: string };

/** The limit of rounds. After it nothing of the conf is used. */
const MAX_ROUNDS = 8;
/** Keys of a path that are taken out together: `http.requestTimeout`, `backends[0]`. */
const UNIT = 2;
/** The same of a MeshRateLimit: `local.http.onRateLimit`. A limit stays without the answer that Envoy refuses. */
const LIMIT_UNIT = 3;

const known = new WeakMap<JsonObject, Map<string, UsableConf>>();

/**
 * The usable part of a conf. The answer is remembered for the object.
 * @param type of the policy
 * @param match of the rule that the conf is of
 */
export function usableConf<T extends keyof Confs>(
  type: T,
  section: Exclude<ConfSection, 'rules'>,
  conf: JsonObject,
): UsableConf<Conf<T>> & { conf: Conf<T> };
export function usableConf<T extends keyof Confs>(type: T, section: 'rules', conf: JsonObject): UsableConf<Conf<T>>;
export function usableConf(
  type: string,
  section: Exclude<ConfSection, 'rules'>,
  conf: JsonObject,
): UsableConf & { conf: JsonObject };
export function usableConf(type: string, section: ConfSection, conf: JsonObject, match?: JsonObject | null): UsableConf;
export function usableConf(type: string, section: ConfSection, conf: JsonObject, match: JsonObject | null = null): UsableConf {
  const key = `${type} ${section} ${match === null ? '' : JSON.stringify(match)}`;
  let answers = known.get(conf);
  if (answers === undefined) known.set(conf, (answers = new Map<string, UsableConf>()));
  let answer = answers.get(key);
  if (answer === undefined) answers.set(key, (answer = cleaned(type, section, conf, match)));
  return answer;
}

/** The problems of a conf, each with the policy that gave the value. @param contributions weakest first */
export function problemsOf(
  refused: readonly Refused[],
  section: ConfSection,
  contributions: readonly Contribution[],
): ConfigProblem[] {
  return refused.map(({ path, reason }) => problemIn(contributions, section, path, reason));
}

function cleaned(type: string, section: ConfSection, given: JsonObject, match: JsonObject | null): UsableConf {
  let conf = withoutOldLists(type, given);
  const refused: Refused[] = [];
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const { inConf, inMatch } = violationsOf(type, section, conf, match);
    if (inMatch.length > 0) return { conf: null, refused: [...refused, ...inMatch] };
    if (inConf.length === 0) return { conf, refused };
    const taken = new Set<string>();
    conf = structuredClone(conf);
    // From behind, so that places in lists stay.
    for (const { path, reason } of inConf.toReversed()) {
      // Later refusals are consequences, such as an object that lost its only field.
      if (round === 0) refused.unshift({ path, reason });
      const unit = unitOf(path, type === 'MeshRateLimit' ? LIMIT_UNIT : UNIT);
      // One unit may have several refusals, and what held it may be gone.
      if ([[], ...unit].some((_, depth) => taken.has(unit.slice(0, depth).join('.')))) continue;
      const keys = heldIn(conf, unit);
      takeOut(conf, keys);
      taken.add(keys.join('.'));
    }
  }
  return { conf: {}, refused };
}

/** The violations inside a conf, by path in it, and those of the match. */
function violationsOf(
  type: string,
  section: ConfSection,
  conf: JsonObject,
  match: JsonObject | null,
): { inConf: Refused[]; inMatch: Refused[] } {
  const item = { ...(match !== null && { matches: [match] }), default: conf };
  const violations = checkConfItem(type, section, item);
  return {
    inConf: violations.flatMap((violation) => insideOf('default', violation)),
    inMatch: match === null ? [] : violations.flatMap((violation) => insideOf('matches', violation)),
  };
}

function insideOf(start: string, { field, reason }: Violation): Refused[] {
  if (!field.startsWith(start)) return [];
  return [{ path: field.slice(start.length).replace(/^\./, ''), reason }];
}

/** The path of the unit that holds a value. */
function unitOf(path: string, depth: number): string[] {
  return path
    .split(/[.[\]]+/)
    .filter((key) => key !== '')
    .slice(0, depth);
}

/** The path to take out: that of the unit, or less where the unit is missing. */
function heldIn(conf: JsonObject, unit: readonly string[]): string[] {
  const keys = [...unit];
  while (keys.length > 0 && !holds(conf, keys)) keys.pop();
  return keys;
}

function holds(conf: Json, keys: readonly string[]): boolean {
  const [key, ...rest] = keys;
  if (key === undefined) return true;
  const inner = Array.isArray(conf) ? conf[Number(key)] : isObject(conf) && Object.hasOwn(conf, key) ? conf[key] : undefined;
  return inner !== undefined && holds(inner, rest);
}

/** @param keys none: the whole conf */
function takeOut(conf: JsonObject, keys: readonly string[]): void {
  const last = keys.at(-1);
  if (last === undefined) for (const key of Object.keys(conf)) Reflect.deleteProperty(conf, key);
  else {
    let holder: Json | undefined = conf;
    for (const key of keys.slice(0, -1))
      holder = Array.isArray(holder) ? holder[Number(key)] : isObject(holder) ? holder[key] : undefined;
    if (Array.isArray(holder)) holder.splice(Number(last), 1);
    else if (isObject(holder)) Reflect.deleteProperty(holder, last);
  }
}

/** Old and new lists of hash policies may stand beside each other in a merged conf: the new one is in force (MADR 075). */
function withoutOldLists(type: string, conf: JsonObject): JsonObject {
  if (type !== 'MeshLoadBalancingStrategy' || conf['hashPolicies'] === undefined || !isObject(conf['loadBalancer'])) return conf;
  const balancer = Object.entries(conf['loadBalancer']).map(([key, value]): [string, Json] => {
    const { hashPolicies: _old, ...rest } = objectOf(value);
    return [key, isObject(value) ? rest : value];
  });
  return { ...conf, loadBalancer: Object.fromEntries(balancer) };
}
