// The inbound rules of a proxy: `rules[]` items for each inbound or zone listener, one rule for each match (policies 6).
// Invariant: rules are listed, not merged; rules without match come last and merge into one conf when they are applied.
import type { JsonObject } from '../resource/types.ts';
import type { Section } from './dataplane-proxy.ts';
import { mergeConfs } from './merge-conf.ts';
import { isGuest } from './guest-policy.ts';
import type { FromItem, Policy, RuleItem } from './parse-policy.ts';
import { isObject, textOf } from '../resource/read-json.ts';
import { mergeOrdered, ruleOrder } from './precedence.ts';
import type { TargetRef } from './target-ref.ts';

export type InboundRule<C = JsonObject, M = JsonObject> = {
  /** Null: every request. */
  readonly match: M | null;
  readonly conf: C;
  readonly policy: Policy;
  readonly index: number;
};
/** A rule of the old form for requests of some clients. */
export type FromRule = Omit<InboundRule, 'match'> & { readonly from: TargetRef };

export type SectionRules = {
  readonly section: Section;
  readonly rules: readonly InboundRule[];
  readonly fromRules: readonly FromRule[];
};

/**
 * Whether a `from[]` item is for all clients: then it is read as a rule without match (policies 6). MeshTrafficPermission has another conf
 * in `from[]`, and MeshFaultInjection selects clients by other kinds than Mesh.
 */
function isForAll({ policy: { type }, targetRef: { kind, proxyTypes } }: FromItem): boolean {
  if (type === 'MeshFaultInjection') return kind === 'Mesh' && proxyTypes.length === 0;
  return type !== 'MeshTrafficPermission';
}

/** Rules that apply to all sections of all proxies, computed once for a type and a zone. */
export type SharedInbound = { readonly rules: readonly InboundRule[]; readonly from: readonly FromItem[] };

/** Sorted by precedence, weakest first, then stably: exact identities, prefixes, none; a server name before none. */
export function inboundRulesOf(policies: Iterable<Policy>, zone: string): SharedInbound {
  const order = ruleOrder(zone);
  const sorted = [...policies].filter((policy) => !isGuest(policy, zone));
  const items = sorted.flatMap(ruleItems).sort(order);
  return {
    rules: items.flatMap(expand).sort((a, b) => specificity(a) - specificity(b)),
    from: sorted.flatMap(({ from }) => from.filter((item) => !isForAll(item))).sort(order),
  };
}

/** The rules of each section that has some. */
export function sectionRules(
  sections: readonly Section[],
  shared: SharedInbound,
  own: ReadonlyMap<Policy, readonly Section[]>,
  zone: string,
): SectionRules[] {
  const order = ruleOrder(zone);
  return sections.flatMap((section) => {
    const policies = [...own].flatMap(([policy, selected]) => (selected.includes(section) ? [policy] : []));
    const mine = inboundRulesOf(policies, zone);
    const rules = mergeOrdered(shared.rules, mine.rules, (a, b) => specificity(a) - specificity(b) || order(a, b));
    const from = mergeOrdered(shared.from, mine.from, order);
    if (rules.length === 0 && from.length === 0) return [];
    const fromRules = from.map(({ policy, index, conf, targetRef }) => ({ policy, index, conf, from: targetRef }));
    return [{ section, rules, fromRules }];
  });
}

/** The conf for requests that match nothing: all rules without match, merged (policies 6). */
export function catchAllConf<C extends object>(rules: readonly InboundRule<C, unknown>[]): C {
  return mergeConfs(rules.flatMap(({ match, conf }) => (match === null ? [conf] : [])));
}

/**
 * Whether the rules of a type with one match are in force beside each other: each permission, each fault, and each log for some clients.
 * All others merge into one conf (policies 6).
 */
export function areSeparate(type: string, match: JsonObject | null): boolean {
  if (type === 'MeshAccessLog') return match !== null;
  return type === 'MeshTrafficPermission' || type === 'MeshFaultInjection';
}

/** `from[]` applies only if `rules` is empty. */
function ruleItems({ rules, from }: Policy): readonly RuleItem[] {
  if (rules.length > 0) return rules;
  return from.filter(isForAll).map(({ policy, index, conf }) => ({ policy, index, conf, matches: [] }));
}

function expand({ policy, index, conf, matches }: RuleItem): InboundRule[] {
  if (matches.length === 0) return [{ match: null, conf, policy, index }];
  return matches.map((match) => ({ match, conf, policy, index }));
}

/** A rule with a smaller number is tried earlier. */
function specificity({ match }: InboundRule): number {
  const identity = match?.['spiffeID'];
  const hasName = isObject(match?.['sni']);
  const rank = !isObject(identity) ? 2 : textOf(identity['type']) === 'Prefix' ? 1 : 0;
  return rank * 2 + (hasName ? 0 : 1);
}
