// The usable policies of an outbound or an inbound, and the problems of the parts that are left out.
import { perObject } from '../base/per-object.ts';
import type { EffectiveOutbound, EffectivePolicy, EffectiveRoute } from '../policy/effective-conf.ts';
import { catchAllConf, type InboundRule } from '../policy/inbound-rules.ts';
import { matchesHash } from '../policy/route-rules.ts';
import { displayNameOf } from '../resource/labels.ts';
import { objectOf, objectsOf } from '../resource/read-json.ts';
import { idleFilters } from '../schema/route-filters.ts';
import type { Conf, Confs } from '../policies/confs.ts';
import type { InboundMatch } from '../schema/inbound-match.ts';
import type { JsonObject } from '../resource/types.ts';
import { areNamed, type BackendResolver } from './backends.ts';
import { fieldOf, type ConfigProblem } from './config-problem.ts';
import type { RuleRecord } from './route-source.ts';
import { problemsOf, usableConf } from './usable-conf.ts';

export type Report = (problem: ConfigProblem) => void;

/** Reports each problem once. */
export function reportTo(problems: ConfigProblem[]): Report {
  const known = new Set<string>();
  let counted = 0;
  const keyOf = ({ policy, field, reason }: ConfigProblem): string => JSON.stringify([policy, field, reason]);
  return (problem) => {
    // Others may report to the same list.
    for (; counted < problems.length; counted += 1) known.add(keyOf(problems[counted] ?? problem));
    if (known.has(keyOf(problem))) return;
    problems.push(problem);
  };
}

/** A rule of a route that cannot become configuration is left out; requests find the next one that fits. */
export function usableOutbound(outbound: EffectiveOutbound, resolver: BackendResolver, report: Report): EffectiveOutbound {
  const usable = new Map<readonly EffectivePolicy[], readonly EffectivePolicy[]>();
  /** The rules of a route have the same policies. */
  const usableOf = (policies: readonly EffectivePolicy[]): readonly EffectivePolicy[] => {
    let found = usable.get(policies);
    if (found === undefined) usable.set(policies, (found = usablePolicies(policies, report)));
    return found;
  };
  const routes: EffectiveRoute[] = [];
  for (const rule of outbound.routes) {
    const record = rule.note === null ? resolver.sourceOf(rule, outbound).of(rule) : null;
    if (record !== null && !record.isQuiet && !checkRule(rule, outbound, resolver, record, report)) continue;
    const policies = record === null ? rule.policies : usableOf(rule.policies);
    routes.push(policies === rule.policies ? rule : { ...rule, policies });
  }
  return { ...outbound, policies: usablePolicies(outbound.policies, report), routes };
}

/** Reports what is wrong with a rule, and notes in its record that nothing is. @returns whether it can become configuration */
function checkRule(
  rule: EffectiveRoute,
  outbound: EffectiveOutbound,
  resolver: BackendResolver,
  record: RuleRecord,
  report: Report,
): boolean {
  let isQuiet = true;
  const noting: Report = (problem) => {
    isQuiet = false;
    report(problem);
  };
  if (!isUsable(rule, noting)) return false;
  reportMissing(rule, resolver, noting);
  for (const { path, reason } of idleFilters(objectsOf(rule.conf['filters'])))
    noting(problemOfRule(rule, `default.filters${path}`, reason));
  reportHostname(rule, outbound, resolver, noting);
  record.isQuiet = isQuiet;
  return true;
}

/** The policies in force with the usable parts of their confs; the same list where all of them are usable. */
export function usablePolicies(policies: readonly EffectivePolicy[], report: Report): readonly EffectivePolicy[] {
  const usable = policies.map((policy) => {
    const [given = {}] = policy.conf;
    const { conf, refused } = usableConf(policy.type, 'to', given);
    for (const problem of problemsOf(refused, 'to', policy.contributions)) report(problem);
    return conf === given ? policy : { ...policy, conf: [conf] };
  });
  return usable.every((policy, at) => policy === policies[at]) ? policies : usable;
}

/** A rule whose conf and match are checked. */
export type UsableRule<T extends keyof Confs> = InboundRule<Conf<T>, InboundMatch>;

/** The rules of an inbound with the usable parts of their confs. A rule with an unreadable match is left out. */
export function usableRules<T extends keyof Confs>(type: T, rules: readonly InboundRule[], report: Report): UsableRule<T>[] {
  // The check has seen them.
  return checkedRules(type, rules, report) as UsableRule<T>[];
}

function checkedRules(type: string, rules: readonly InboundRule[], report: Report): InboundRule[] {
  const usable = rules.flatMap((rule) => {
    const { conf, refused } = usableConf(type, 'rules', rule.conf, rule.match);
    for (const { path, reason } of refused) {
      // A rule has one of the matches of its item.
      const field = conf === null ? `spec.rules[${String(rule.index)}].matches` : fieldOf('rules', rule.index, path);
      report({ policy: rule.policy.kri, field, reason });
    }
    return conf === null ? [] : [conf === rule.conf ? rule : { ...rule, conf }];
  });
  // Confs that are good each may merge into a bad one.
  const common = usable.filter(({ match }) => match === null);
  const [last] = common.slice(-1);
  if (common.length < 2 || last === undefined) return usable;
  const merged = usableConf(type, 'rules', catchAllConf(common));
  if (merged.refused.length === 0) return usable;
  for (const { path, reason } of merged.refused)
    report({ policy: last.policy.kri, field: fieldOf('rules', last.index, path), reason });
  return [...usable.filter(({ match }) => match !== null), { ...last, conf: merged.conf ?? {} }];
}

/** Reports the rules for some clients, where all clients have the same conf. */
export function reportMatches(
  rules: readonly Omit<InboundRule<unknown, unknown>, 'conf'>[],
  reason: string,
  report: Report,
): void {
  for (const { match, policy, index } of rules)
    if (match !== null) report({ policy: policy.kri, field: `spec.rules[${String(index)}].matches`, reason });
}

/** A missing backend is no violation here: its share of the requests is answered 500. A weight can be one. */
const REFERENCE = /\.(backendRefs\[\d+\]|backendRef(?!s))(?!\.weight)/;

function isUsable(rule: EffectiveRoute, report: Report): boolean {
  const { refused } = usableConf(rule.kind, 'to', wholeRule(rule));
  const reasons = refused.filter(({ path }) => !REFERENCE.test(path));
  for (const { path, reason } of reasons) report(problemOfRule(rule, path.replace(/^rules\[0\]\.?/, ''), reason));
  return reasons.length === 0;
}

const known = new WeakMap<JsonObject, { readonly matches: EffectiveRoute['matches']; readonly whole: JsonObject }>();

/** The rule as a route has it; the same object each time, so that it is checked once. */
function wholeRule({ kind, matches, conf }: EffectiveRoute): JsonObject {
  const before = known.get(conf);
  if (before?.matches === matches) return before.whole;
  const rule = kind === 'MeshHTTPRoute' ? { matches: [...(matches ?? [])], default: conf } : { default: conf };
  const whole = { rules: [rule] };
  known.set(conf, { matches, whole });
  return whole;
}

function reportMissing(rule: EffectiveRoute, resolver: BackendResolver, report: Report): void {
  const refs = objectsOf(rule.conf['backendRefs']);
  const faults = refs.map((ref) => resolver.whyNone(ref, rule.route));
  const hasOthers = refs.some((ref, at) => ref['weight'] !== 0 && faults[at] === null);
  const ofTcp = hasOthers ? 'its share goes to the others' : 'connections are closed';
  for (const [at, fault] of faults.entries()) {
    if (fault === null || refs[at]?.['weight'] === 0) continue;
    const share = rule.kind === 'MeshHTTPRoute' ? 'its share of the requests is answered 500' : ofTcp;
    report(problemOfRule(rule, `default.backendRefs[${String(at)}]`, `${fault}: ${share}`));
  }
  for (const [at, filter] of objectsOf(rule.conf['filters']).entries()) {
    if (filter['type'] !== 'RequestMirror') continue;
    const fault = resolver.whyNone(objectOf(objectOf(filter['requestMirror'])['backendRef']), rule.route);
    if (fault === null) continue;
    const field = `default.filters[${String(at)}].requestMirror.backendRef`;
    report(problemOfRule(rule, field, `${fault}: nothing is mirrored`));
  }
}

/** The host that a URLRewrite sets reaches the egress. The egress replaces it where it calls an external service by name. */
function reportHostname(rule: EffectiveRoute, outbound: EffectiveOutbound, resolver: BackendResolver, report: Report): void {
  const sets = ({ type, urlRewrite }: JsonObject): boolean =>
    type === 'URLRewrite' && objectOf(urlRewrite)['hostname'] !== undefined;
  const at = objectsOf(rule.conf['filters']).findIndex(sets);
  if (at === -1) return;
  for (const { outbound: backend } of resolver.all(rule.conf, rule.route, outbound).backends) {
    const { type, spec } = backend.resource;
    if (type !== 'MeshExternalService' || !areNamed(objectsOf(spec['endpoints']))) continue;
    const field = `default.filters[${String(at)}].urlRewrite.hostname`;
    const name = displayNameOf(backend.resource);
    report(problemOfRule(rule, field, `has no effect: the egress calls MeshExternalService ${name} by the name of its endpoint`));
  }
}

/** @param path in the rule */
function problemOfRule({ route, index, matches, kind }: EffectiveRoute, path: string, reason: string): ConfigProblem {
  const conf = route.to.find((item) => item.index === index)?.conf;
  const place = conf === undefined ? undefined : placesOf(conf).get(matchesHash(matches ?? []));
  const at = kind === 'MeshTCPRoute' ? 0 : (place ?? -1);
  const rule = `spec.to[${String(index)}].rules${at === -1 ? '' : `[${String(at)}]`}`;
  return { policy: route.kri, field: path === '' ? rule : `${rule}.${path}`, reason };
}

/** The positions of the rules of an item, by the hash of their matches. */
const placesOf = perObject((conf: JsonObject): ReadonlyMap<string, number> => {
  const rules = [...objectsOf(conf['rules']).entries()];
  return new Map(rules.toReversed().map(([at, { matches }]) => [matchesHash(matches), at]));
});
