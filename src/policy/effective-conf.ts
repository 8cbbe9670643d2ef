// The effective configuration of a proxy: for each outbound and each of its routes, the conf of each policy type, with the origin of
// each value (`inspect dataplane`; D13).
import type { RouteKind } from '../policies/routes.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import type { ProxyRules, TypeRules } from './build-rules.ts';
import { confInForce, type ConfInForce, type Destination } from './conf-in-force.ts';
import { confSources, type ConfValue } from './conf-sources.ts';
import { hashPoliciesOf, whyNoHashing } from '../policies/mesh-load-balancing-strategy/hash-policies.ts';
import { catchAllConf, type SectionRules } from './inbound-rules.ts';
import type { MeshIndex } from './mesh-index.ts';
import { outboundRoutes, type RouteRule } from './outbound-routes.ts';
import type { Outbound } from './outbounds.ts';
import { outboundsOf } from './proxy-outbounds.ts';
import { isRouteKind } from './parse-policy.ts';
import { speaksHttp } from './services.ts';

export type EffectivePolicy = ConfInForce & {
  readonly values: readonly ConfValue[];
  /** Of MeshLoadBalancingStrategy: the list in force (MADR 075), null when there is no hashing. */
  readonly hashPolicies: readonly Json[] | null;
  /** Why a part of the conf does nothing, or null. */
  readonly note: string | null;
};
/** Unchecked, as its rule. */
export type EffectiveRoute<C = JsonObject, M = JsonObject> = RouteRule<C, M> & {
  readonly kind: RouteKind;
  /** Why the rule does nothing on this port, or null. */
  readonly note: string | null;
  readonly policies: readonly EffectivePolicy[];
};
export type EffectiveOutbound<R = EffectiveRoute> = Outbound & {
  readonly policies: readonly EffectivePolicy[];
  readonly routes: readonly R[];
};
export type EffectiveInbound = SectionRules & { readonly type: string; readonly catchAll: ReturnType<typeof catchAllConf> };
export type EffectiveConf = { readonly outbounds: readonly EffectiveOutbound[]; readonly inbounds: readonly EffectiveInbound[] };

/** The whole conf of a proxy. Cluster settings of a route are those of its outbound. */
export function effectiveConf(index: MeshIndex, rules: ProxyRules): EffectiveConf {
  const inbounds = rules.types.flatMap(({ type, inboundRules }) =>
    inboundRules.map((section) => ({ ...section, type, catchAll: catchAllConf(section.rules) })),
  );
  return { inbounds, outbounds: outboundsOf(index, rules.proxy).map((outbound) => effectiveOutbound(index, rules, outbound)) };
}

/** The conf of one outbound and of its routes. */
export function effectiveOutbound(index: MeshIndex, rules: ProxyRules, outbound: Outbound): EffectiveOutbound {
  const destination = destinationOf(index, outbound.base, outbound.section);
  const kinds = outboundRoutes(rules, destination);
  const isHttp = speaksHttp(outbound.protocol);
  const policiesOf = new Map<string, readonly EffectivePolicy[]>();
  /** A route may have thousands of rules with the same policies. */
  const ofRoute = (route: string): readonly EffectivePolicy[] => {
    let policies = policiesOf.get(route);
    if (policies === undefined) policiesOf.set(route, (policies = policiesInForce(rules, { ...destination, route })));
    return policies;
  };
  const hasHttpRules = kinds.some(({ kind, rules: found }) => kind === 'MeshHTTPRoute' && found.length > 0);
  const [first = [], ...others] = kinds.map(({ kind, rules: found }) =>
    effectiveRoutes(kind, found, noteOf(kind, outbound.protocol, isHttp, hasHttpRules), ofRoute),
  );
  return {
    ...outbound,
    policies: policiesInForce(rules, destination),
    routes: others.length === 0 ? first : [first, ...others].flat(),
  };
}

type KnownRoutes = {
  readonly note: string | null;
  /** By the KRI of the route. */
  readonly policies: ReadonlyMap<string, readonly EffectivePolicy[]>;
  readonly routes: readonly EffectiveRoute[];
};
const knownRoutes = new WeakMap<readonly RouteRule[], KnownRoutes>();

/** The same list for the same rules with the same policies: a long one is made once for all proxies. */
function effectiveRoutes(
  kind: RouteKind,
  rules: readonly RouteRule[],
  note: string | null,
  policiesOf: (route: string) => readonly EffectivePolicy[],
): readonly EffectiveRoute[] {
  const before = knownRoutes.get(rules);
  if (before?.note === note && [...before.policies].every(([kri, policies]) => areSame(policies, policiesOf(kri))))
    return before.routes;
  const policies = new Map<string, readonly EffectivePolicy[]>();
  const routes = rules.map(({ route, index, matches, conf }) => {
    const ofRoute = policiesOf(route.kri);
    policies.set(route.kri, ofRoute);
    return { route, index, matches, conf, kind, note, policies: ofRoute };
  });
  knownRoutes.set(rules, { note, policies, routes });
  return routes;
}

/** Policies with the same confs from the same contributions. */
function areSame(some: readonly EffectivePolicy[], others: readonly EffectivePolicy[]): boolean {
  return (
    some.length === others.length &&
    some.every(({ type, source, kri, conf, contributions }, at) => {
      const other = others[at];
      const isFrom = other?.type === type && other.source === source && other.kri === kri;
      return isFrom && other.conf === conf && other.contributions === contributions;
    })
  );
}

/** The conf in force of each type except the route types. */
export function policiesInForce({ types }: ProxyRules, destination: Destination): EffectivePolicy[] {
  return types.flatMap((rules: TypeRules) => {
    const found = isRouteKind(rules.type) ? null : confInForce(rules, destination);
    if (found === null) return [];
    const conf = found.conf[0] ?? {};
    const isBalancing = rules.type === 'MeshLoadBalancingStrategy';
    const hashes = isBalancing ? hashPoliciesOf(conf) : null;
    // A route without a balancer of its own may send to services with different ones.
    const note = isBalancing && (found.source !== 'route' || 'loadBalancer' in conf) ? whyNoHashing(conf) : null;
    return [{ ...found, values: confSources(found.contributions), hashPolicies: hashes, note }];
  });
}

/** The keys of the rules for a service and its port. */
export function destinationOf(index: MeshIndex, base: string, section: string): Destination {
  return { base, section, mesh: index.kriOf(index.meshResource()) };
}

/** A TCP route on an HTTP port applies only if no HTTP route does (policies 7). */
function noteOf(kind: RouteKind, protocol: string, isHttp: boolean, hasHttpRules: boolean): string | null {
  if (kind === 'MeshHTTPRoute') return isHttp ? null : `the port's protocol is ${protocol}: HTTP routes need http, http2 or grpc`;
  return isHttp && hasHttpRules ? 'a MeshHTTPRoute on the same port comes first' : null;
}
