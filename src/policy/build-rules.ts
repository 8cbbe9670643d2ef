// Computes all rules of one proxy, for inspect and later for the proxy's configuration (policies 1.7, 3, 6).
// Invariant: the result depends only on the content of the index. Results that proxies share are cached until their inputs change.
import type { JsonObject } from '../resource/types.ts';
import { isGuest } from './guest-policy.ts';
import { mergeConfs } from './merge-conf.ts';
import type { Policy } from './parse-policy.ts';
import type { Contribution, ResourceRules } from './resource-rules.ts';
import { ruleOrder } from './precedence.ts';
import { resourceTypes } from '../resource/type-registry.ts';
import type { DataplaneProxy } from './dataplane-proxy.ts';
import { inboundRulesOf, sectionRules, type SectionRules, type SharedInbound } from './inbound-rules.ts';
import type { MeshIndex, ProxyMatches } from './mesh-index.ts';
import { type OldRouteRule, oldRouteRules } from './old-route-rules.ts';
import { hasRouteFields } from './route-fields.ts';
import { describeRef } from './target-ref.ts';
import { ToRulesOfType } from './to-rules.ts';

/** Policies about a whole proxy (MeshTrace, MeshMetric, MeshProxyPatch, MeshPassthrough): one conf, merged (policies 3.3, 8). */
type ProxyWideRule = {
  readonly conf: JsonObject;
  /** Weakest first. */
  readonly contributions: readonly Contribution[];
};

export type TypeRules = {
  readonly type: string;
  readonly proxyRule: ProxyWideRule | null;
  readonly toRules: ResourceRules;
  /** They apply if `toRules` has no key for their route (D14). */
  readonly oldRules: readonly OldRouteRule[];
  /** Sections without rules are omitted. */
  readonly inboundRules: readonly SectionRules[];
  /** Unresolved references of matched policies. */
  readonly warnings: readonly string[];
};

export type ProxyRules = {
  readonly proxy: DataplaneProxy;
  /** KRIs of the routes that the proxy has. */
  readonly routes: ReadonlySet<string>;
  /** Types with rules or warnings, in the order in which they are applied. */
  readonly types: readonly TypeRules[];
};

/** The rules of one type that all proxies of a zone share. */
type Shared = {
  readonly revision: string;
  readonly policies: readonly Policy[];
  /** The policies about the whole proxy. */
  readonly wide: readonly Policy[];
  readonly to: ToRulesOfType;
  readonly inbound: SharedInbound;
};

const POLICY_TYPES = resourceTypes
  .flatMap(({ name, policy }) => (policy === null ? [] : [{ name, order: policy.order }]))
  .sort((a, b) => a.order - b.order)
  .map(({ name }) => name);

const remembered = new WeakMap<MeshIndex, Map<string, Shared>>();

/** The rules of a proxy of this index (`index.proxy(name)`). */
export function buildRules(index: MeshIndex, proxy: DataplaneProxy): ProxyRules {
  const matches = new Map<string, ProxyMatches>();
  if (canBeMatched(proxy)) for (const type of POLICY_TYPES) matches.set(type, index.matching(type, proxy));
  const routes = new Set(ROUTE_TYPES.flatMap((type) => routesOf(index, proxy, type, matches.get(type))));
  const types = [...matches].map(([type, { selected, unresolved }]) =>
    typeRules(index, proxy, type, selected, unresolved, routes),
  );
  return { proxy, routes, types: types.filter(hasContent) };
}

/** The rules of one type; undefined where no policy of it matches. Types that lead to routes need `buildRules`. */
export function typeRulesOf(index: MeshIndex, proxy: DataplaneProxy, type: string): TypeRules | undefined {
  if (!canBeMatched(proxy)) return undefined;
  const { selected, unresolved } = index.matching(type, proxy);
  return typeRules(index, proxy, type, selected, unresolved, new Set());
}

/** Policies match an inbound, a listener or a gateway: a proxy with none of them has no rules at all. */
export function canBeMatched({ sections, gatewayTags }: Pick<DataplaneProxy, 'sections' | 'gatewayTags'>): boolean {
  return sections.length > 0 || gatewayTags !== null;
}

const ROUTE_TYPES = ['MeshHTTPRoute', 'MeshTCPRoute'];

function typeRules(
  index: MeshIndex,
  proxy: DataplaneProxy,
  type: string,
  selected: ProxyMatches['selected'],
  unresolved: readonly Policy[],
  routes: ReadonlySet<string>,
): TypeRules {
  const shared = sharedOf(index, type, proxy);
  const own = [...selected.keys()];
  const to = shared.to.rulesFor(own, routes);
  const hasRoute = (kri: string): boolean => routes.has(kri) && !to.rules.has(kri);
  return {
    type,
    proxyRule: proxyWideRule([...shared.wide, ...own], proxy.zone),
    toRules: to.rules,
    oldRules: hasRouteFields(type) ? oldRouteRules(index, own, shared.policies, proxy.zone, hasRoute) : [],
    inboundRules: sectionRules(proxy.sections, shared.inbound, selected, proxy.zone),
    warnings: [
      ...to.warnings,
      ...unresolved.map(
        (policy) => `${type} ${policy.displayName}: spec.targetRef: ${describeRef(policy.targetRef)} does not exist`,
      ),
    ].sort(),
  };
}

/** The merged `spec.default` of the matched policies; null when none has one. */
function proxyWideRule(policies: Iterable<Policy>, zone: string): ProxyWideRule | null {
  const contributions = [...policies]
    .flatMap((policy) => (policy.conf === null || isGuest(policy, zone) ? [] : [{ policy, index: 0, conf: policy.conf }]))
    .sort(ruleOrder(zone));
  if (contributions.length === 0) return null;
  return { conf: mergeConfs(contributions.map(({ conf }) => conf)), contributions };
}

function sharedOf(index: MeshIndex, type: string, { zone, origin }: DataplaneProxy): Shared {
  let ofIndex = remembered.get(index);
  if (ofIndex === undefined) remembered.set(index, (ofIndex = new Map<string, Shared>()));
  const key = JSON.stringify([type, zone, origin]);
  const revision = index.revisionOf(type);
  let shared = ofIndex.get(key);
  if (shared?.revision !== revision) {
    const policies = index.shared(type, { zone, origin });
    shared = {
      revision,
      policies,
      wide: policies.filter(({ conf }) => conf !== null),
      to: new ToRulesOfType(index, type, zone, policies),
      inbound: inboundRulesOf(policies, zone),
    };
    ofIndex.set(key, shared);
  }
  return shared;
}

function hasContent({ proxyRule, toRules, oldRules, inboundRules, warnings }: TypeRules): boolean {
  return proxyRule !== null || toRules.size + oldRules.length + inboundRules.length + warnings.length > 0;
}

/** KRIs of the routes of one type that a proxy has. */
function routesOf(index: MeshIndex, proxy: DataplaneProxy, type: string, matches: ProxyMatches | undefined): string[] {
  if (matches === undefined) return [];
  return [...sharedOf(index, type, proxy).policies, ...matches.selected.keys()].map(({ kri }) => kri);
}
