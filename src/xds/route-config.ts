// The route configurations of a proxy: one for each HTTP listener (xds 3.1, 3.2).
import { hashPoliciesOf } from '../policy/load-balancing.ts';
import type { EffectiveOutbound, EffectivePolicy, EffectiveRoute } from '../policy/effective-conf.ts';
import { objectOf, objectsOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';
import type { BackendResolver, Backends } from './backends.ts';
import { protocolOf, type Protocol } from './protocol.ts';
import { hashPolicies } from './load-balancer.ts';
import { catchAllRouteName, CATCH_ALL, routeName } from './names.ts';
import { duration, percentage } from './proto-json.ts';
import { retryPolicy } from './retry.ts';
import { changedClusters, headerChanges, mirrorPolicies, NO_BACKEND, redirectOf, urlRewrite } from './route-action.ts';
import { compareMatches, routeMatches } from './route-match.ts';

/** A RouteConfiguration with one virtual host for every host. */
export function routeConfiguration(name: string, routes: readonly JsonObject[], more: JsonObject = {}): JsonObject {
  // Routes may name clusters that come later: requests to them get a 503 until then.
  return { name, virtualHosts: [{ name, domains: ['*'], routes: [...routes] }], ...more, validateClusters: false };
}

/** The routes of an HTTP outbound, in the order in which Envoy asks them. A rule of a MeshTCPRoute has no matches. */
export function outboundRoutes(outbound: EffectiveOutbound, resolver: BackendResolver): JsonObject[] {
  const protocol = protocolOf(outbound.protocol);
  const asked = outbound.routes
    .flatMap((rule) => (rule.matches ?? []).map((match) => ({ rule, match })))
    .sort((a, b) => compareMatches(a.match, b.match));
  const routes = asked.flatMap(({ rule, match }) => routesOfRule(rule, match, outbound, protocol, resolver));
  if (asked.some(({ match }) => isCatchAll(match))) return routes;
  const action = { cluster: outbound.kri, ...settings(outbound.policies, protocol) };
  return [...routes, { name: catchAllRouteName, match: { prefix: '/' }, route: action }];
}

/** The clusters that the routes of an outbound lead to, mirrors included. @param kind of the routes that apply: none of them has a note */
export function destinationsOf(outbound: EffectiveOutbound, kind: EffectiveRoute['kind'], resolver: BackendResolver) {
  const rules = outbound.routes.filter((rule) => rule.kind === kind);
  const ofRules = rules.flatMap(({ conf, route }) => [
    ...resolver.all(conf, route, outbound).backends.map((backend) => backend.outbound),
    ...resolver.mirrors(conf, route).map((mirror) => mirror.outbound),
  ]);
  const leadsToItself =
    rules.length === 0 || (kind === 'MeshHTTPRoute' && !rules.some(({ matches }) => (matches ?? []).some(isCatchAll)));
  return leadsToItself ? [...ofRules, outbound] : ofRules;
}

function routesOfRule(
  rule: EffectiveRoute,
  match: JsonObject,
  outbound: EffectiveOutbound,
  protocol: Protocol,
  resolver: BackendResolver,
): JsonObject[] {
  const { conf, route, policies } = rule;
  const name = routeName(route.kri, rule.index);
  const filters = objectsOf(conf['filters']);
  const backends = resolver.all(conf, route, outbound);
  const mirrors = resolver.mirrors(conf, route).map((mirror) => ({ cluster: mirror.outbound.kri, share: mirror.percentage }));
  return routeMatches(match).flatMap((one): JsonObject[] => {
    const redirect = redirectOf(filters, one.isBelowPrefix);
    if (redirect !== null) return [{ name, match: one.match, redirect, ...headerChanges(filters) }];
    if (backends.backends.length === 0) return [{ name, match: one.match, ...NO_BACKEND }];
    const rewrite = urlRewrite(filters, one.isBelowPrefix);
    const { clusters, changes } = changedClusters(backends, filters);
    const action = {
      ...clusters,
      ...(leadsOutside(backends) && rewrite['hostRewriteLiteral'] === undefined && { autoHostRewrite: true }),
      ...rewrite,
      ...settings(policies, protocol),
      ...mirrorPolicies(mirrors),
    };
    return [...missingShare(name, one.match, backends), { name, match: one.match, route: action, ...changes }];
  });
}

/** Before the route: a copy that answers 500 for the share of backends that do not exist. */
function missingShare(name: string, match: JsonObject, { missingPercent }: Backends): JsonObject[] {
  if (missingPercent === 0) return [];
  const share = percentage(Math.round(missingPercent * 100) / 100);
  return [{ name, match: { ...match, runtimeFraction: { defaultValue: share } }, ...NO_BACKEND }];
}

/** An external service is called by its own host name. */
function leadsOutside({ backends }: Backends): boolean {
  return backends.some(({ outbound }) => outbound.resource.type === 'MeshExternalService');
}

/** The policies of a route: timeouts, retries, hash policies. */
function settings(policies: readonly EffectivePolicy[], protocol: Protocol): JsonObject {
  const timeouts = objectOf(confOf(policies, 'MeshTimeout')['http']);
  const retry = retryPolicy(confOf(policies, 'MeshRetry'), protocol);
  const hashes = hashPolicies(hashPoliciesOf(confOf(policies, 'MeshLoadBalancingStrategy')));
  return {
    timeout: duration(timeouts['requestTimeout'], '15s'),
    idleTimeout: duration(timeouts['streamIdleTimeout'], '1800s'),
    ...(retry !== null && { retryPolicy: retry }),
    ...(hashes.length > 0 && { hashPolicy: hashes }),
  };
}

/** The conf in force of one policy type; `{}` where none is. */
export function confOf(policies: readonly Pick<EffectivePolicy, 'type' | 'conf'>[], type: string): JsonObject {
  return policies.find((policy) => policy.type === type)?.conf[0] ?? {};
}

function isCatchAll(match: JsonObject): boolean {
  return JSON.stringify(routeMatches(match)) === JSON.stringify(routeMatches(CATCH_ALL));
}
