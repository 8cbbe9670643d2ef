// The proxies that a policy affects, the reasons why it does not affect the others, and warnings about references that do not
// resolve (`inspect policy`). The matching is the one that builds rules.
import { writtenRules, type WrittenRule } from './route-rules.ts';
import { perObject } from '../base/per-object.ts';
import { compareText } from '../base/compare-text.ts';
import type { Steps } from '../base/steps.ts';
import { whyNoPort } from './backend-port.ts';
import { buildRules } from './build-rules.ts';
import type { DataplaneProxy, Section } from './dataplane-proxy.ts';
import { isGuest, whyForeign } from './guest-policy.ts';
import { destinationsOf, sectionOf } from './group-items.ts';
import { matchDataplane } from './match-dataplane.ts';
import type { MeshIndex } from './mesh-index.ts';
import { isRouteKind, type Policy, type ToItem } from './parse-policy.ts';
import { hasRouteFields } from './route-fields.ts';
import { describeRef, serviceRefOf } from './target-ref.ts';
import { whyNotLed } from './zone-proxy-reach.ts';
import { isObject, objectOf, objectsOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';

export type TouchedProxy = {
  readonly proxy: DataplaneProxy;
  /** Inbounds and zone listeners that the top-level targetRef selects. */
  readonly sections: readonly Section[];
  /** KRIs of the destinations that its `to[]` selects on this proxy. */
  readonly destinations: readonly string[];
};
export type PolicyReach = {
  readonly policy: Policy;
  /** By display name. */
  readonly touched: readonly TouchedProxy[];
  /** The reasons for the other proxies, each with its number of proxies, the most frequent first. */
  readonly untouched: readonly { readonly reason: string; readonly proxies: number }[];
  /** A sentence for each item without effect on any proxy and each backend that does not exist. */
  readonly warnings: readonly string[];
};

/** A destination of the policy; a route applies only to proxies that have it. */
type Reachable = { readonly kri: string; readonly type: string; readonly route: Policy | null; readonly label: string };

/** The cost is one match for each proxy of the mesh, each in a step. The proxies are those of the beginning. */
export function* policyReach(index: MeshIndex, policy: Policy): Steps<PolicyReach> {
  const warnings = idleItems(index, policy).map(({ field, reason }) => `${field}: ${reason}`);
  yield;
  const faults = yield* backendFaults(index, policy);
  warnings.push(...faults.map(({ field, reason }) => `${field}: ${reason}`));
  const byZone = new Map<string, { readonly reachable: Reachable[]; readonly reasons: readonly string[] }>();
  const touched: TouchedProxy[] = [];
  const reasons = new Map<string, number>();
  for (const proxy of [...index.proxies()]) {
    yield;
    let here = byZone.get(proxy.zone);
    if (here === undefined) {
      const reasons: string[] = [];
      const reachable = policy.to.flatMap((item) => reachableBy(index, item, proxy.zone, reasons));
      byZone.set(proxy.zone, (here = { reachable, reasons }));
    }
    const found = touch(index, policy, proxy, here.reachable, here.reasons);
    if (typeof found === 'string') reasons.set(found, (reasons.get(found) ?? 0) + 1);
    else touched.push(found);
  }
  if (touched.length + reasons.size === 0) warnings.push('the mesh has no Dataplanes');
  return {
    policy,
    warnings,
    touched: touched.sort(
      (a, b) => compareText(a.proxy.displayName, b.proxy.displayName) || compareText(a.proxy.kri, b.proxy.kri),
    ),
    untouched: [...reasons]
      .map(([reason, proxies]) => ({ reason, proxies }))
      .sort((a, b) => b.proxies - a.proxies || compareText(a.reason, b.reason)),
  };
}

function touch(
  index: MeshIndex,
  policy: Policy,
  proxy: DataplaneProxy,
  reachable: readonly Reachable[],
  reasons: readonly string[],
): TouchedProxy | string {
  const match = matchDataplane(policy, proxy, index);
  if (!match.isMatched) return match.reason;
  const { sections } = match;
  const idle = reachable.map(({ type }) => whyNotLed(proxy, policy.type, type));
  const led = reachable.filter((_, at) => idle[at] === null);
  const had = led.filter(({ route }) => route === null || matchDataplane(route, proxy, index).isMatched);
  const isOverridden = overriding(index, policy, proxy);
  const here = had.filter(({ kri }) => !isOverridden(kri));
  if (had.length > 0 && here.length === 0)
    return `is overridden: another ${policy.type} names ${had.map(({ label }) => label).join(', ')} in its to[]`;
  const isHost = !isGuest(policy, proxy.zone);
  const hasRules = isHost && policy.rules.length + policy.from.length > 0 && sections.length > 0;
  if (here.length === 0 && !hasRules && (policy.conf === null || !isHost))
    return led.length < reachable.length ? (idle.find((why) => why !== null) ?? '') : whyNothing(policy, reachable, reasons);
  return { proxy, sections, destinations: here.map(({ kri }) => kri) };
}

/** The routes on which a policy of the old form, with the route at its top, gives way to a policy that names the route in `to[]`. */
function overriding(index: MeshIndex, policy: Policy, proxy: DataplaneProxy): (route: string) => boolean {
  if (!isRouteKind(policy.targetRef.kind) || !hasRouteFields(policy.type)) return () => false;
  const rules = buildRules(index, proxy).types.find(({ type }) => type === policy.type);
  return (route) => rules?.toRules.has(route) === true;
}

function whyNothing({ to, rules, from }: Policy, reachable: readonly Reachable[], reasons: readonly string[]): string {
  if (reachable.length > 0)
    return `is about ${[...new Set(reachable.map(({ label }) => label))].join(', ')}, which these proxies do not have`;
  if (to.length > 0) return `matches, but has no effect: ${[...new Set(reasons)].join('; ')}`;
  return rules.length + from.length > 0 ? 'has rules for inbounds, and there are none' : 'says nothing';
}

function reachableBy(index: MeshIndex, { policy, targetRef }: ToItem, zone: string, reasons: string[]): Reachable[] {
  if (isRouteKind(policy.targetRef.kind)) {
    const routes = index.resolve(policy.targetRef, policy, zone);
    return routes.map((route) => ({
      kri: index.kriOf(route),
      type: route.type,
      route: null,
      label: describeRef(policy.targetRef),
    }));
  }
  if (targetRef.kind === 'Mesh' && isGuest(policy, zone)) {
    reasons.push(whyForeign(policy, targetRef, []));
    return [];
  }
  if (targetRef.kind === 'Mesh') return [{ kri: index.kriOf(index.meshResource()), type: 'Mesh', route: null, label: 'Mesh' }];
  const found = destinationsOf(index, targetRef, policy, zone);
  if (typeof found === 'string') {
    reasons.push(found);
    return [];
  }
  const section = sectionOf(targetRef);
  return found.map((resource) => ({
    kri: index.kriOf(resource) + section,
    type: resource.type,
    route: isRouteKind(resource.type) ? (index.policyOf(resource) ?? null) : null,
    label: describeRef(targetRef),
  }));
}

/** The items of `to[]` whose destination does not exist for any proxy, each with its field in the document. */
export function idleItems(index: MeshIndex, policy: Policy): { readonly field: string; readonly reason: string }[] {
  return policy.to.flatMap((item) => {
    const reasons: string[] = [];
    reachableBy(index, item, '', reasons);
    return reasons.map((reason) => ({ field: `spec.to[${String(item.index)}].targetRef`, reason }));
  });
}

const RULES_IN_A_STEP = 64;

type BackendFault = { readonly field: string; readonly reason: string; readonly ref: JsonObject };

/** The backends and mirrors of a route that mean no port, each with its field in the document. */
export function* backendFaults(index: MeshIndex, policy: Policy): Steps<BackendFault[]> {
  const faults: BackendFault[] = [];
  if (!isRouteKind(policy.type)) return faults;
  // The rules of a long route name few services.
  const reasons = new Map<string, string | null>();
  const reasonOf = (text: string, ref: JsonObject): string | null => {
    let reason = reasons.get(text);
    if (reason === undefined) reasons.set(text, (reason = whyNoPort(index, serviceRefOf(ref), policy)));
    return reason;
  };
  const isThere = ({ text, ref }: NamedBackend): boolean => reasonOf(text, ref) === null;
  for (const { index: place, conf } of policy.to) {
    const rules = writtenRules(conf);
    for (let at = 0; at < rules.length; at += 1) {
      if (at % RULES_IN_A_STEP === 0) yield;
      const named = backendsOfRule(rules[at] ?? {});
      if (named.every(isThere)) continue;
      for (const { field, ref, text } of named) {
        const reason = reasonOf(text, ref);
        if (reason === null) continue;
        faults.push({ field: `spec.to[${String(place)}].rules[${String(at)}].default.${field}`, reason, ref });
      }
    }
  }
  return faults;
}

type NamedBackend = { readonly field: string; readonly ref: JsonObject; readonly text: string };

/** The rule is the same object in all versions of a route. */
const backendsOfRule = perObject((rule: WrittenRule): readonly NamedBackend[] =>
  backendsOf(objectOf(rule.default)).map(([field, ref]) => ({ field, ref, text: JSON.stringify(ref) })),
);

function backendsOf({ backendRefs, filters }: JsonObject): [field: string, ref: JsonObject][] {
  return [
    ...objectsOf(backendRefs).map((ref, at): [string, JsonObject] => [`backendRefs[${String(at)}]`, ref]),
    ...objectsOf(filters).flatMap(({ requestMirror }, at): [string, JsonObject][] => {
      const { backendRef } = objectOf(requestMirror);
      return isObject(backendRef) ? [[`filters[${String(at)}].requestMirror.backendRef`, backendRef]] : [];
    }),
  ];
}
