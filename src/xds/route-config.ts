// The route configurations of a proxy: one for each HTTP listener (xds 3.1, 3.2).
import { perObject } from '../base/per-object.ts';
import type { RouteKind } from '../policies/routes.ts';
import type { EffectivePolicy } from '../policy/effective-conf.ts';
import type { Outbound } from '../policy/outbounds.ts';
import type { JsonObject } from '../resource/types.ts';
import type { BackendResolver } from './backends.ts';
import { protocolOf } from '../envoy/protocol.ts';
import { catchAllRouteName } from './names.ts';
import { compareRanks } from './route-match.ts';
import type { AskedRoutes, RouteSettings, RuleRoutes } from './route-source.ts';
import { routeSettings, ruleRoutes } from './rule-routes.ts';
import type { UsableOutbound, UsableRoute } from './usable-routes.ts';

/** A RouteConfiguration with one virtual host for every host. */
export function routeConfiguration(name: string, routes: readonly JsonObject[], more: JsonObject = {}): JsonObject {
  // Routes may name clusters that come later: requests to them get a 503 until then.
  return { name, virtualHosts: [{ name, domains: ['*'], routes: [...routes] }], ...more, validateClusters: false };
}

/** The routes of an HTTP outbound, in the order in which Envoy asks them. A rule of a MeshTCPRoute has no matches. */
export function outboundRoutes(outbound: UsableOutbound, resolver: BackendResolver): JsonObject[] {
  const routesOf = routesOfRules(outbound, resolver);
  const asked: AskedRoutes[] = [];
  for (const rule of outbound.routes) if (rule.matches !== null) for (const one of routesOf(rule).asked) asked.push(one);
  asked.sort((a, b) => compareRanks(a.rank, b.rank));
  const routes: JsonObject[] = [];
  for (const one of asked) for (const route of one.routes) routes.push(route);
  if (asked.some(catchesAll)) return routes;
  const action = { cluster: outbound.kri, ...routeSettings(outbound.policies, protocolOf(outbound.protocol)).fields };
  routes.push({ name: catchAllRouteName, match: { prefix: '/' }, route: action });
  return routes;
}

/** The clusters that the routes of an outbound lead to, each once, mirrors included. @param kind of the routes that apply */
export function destinationsOf(outbound: UsableOutbound, kind: RouteKind, resolver: BackendResolver): Outbound[] {
  const routesOf = routesOfRules(outbound, resolver);
  const found = new Map<string, Outbound>();
  let [hasRules, hasCatchAll] = [false, false];
  const known = new Set<readonly Outbound[]>();
  for (const rule of outbound.routes) {
    if (rule.kind !== kind) continue;
    const { asked, destinations } = routesOf(rule);
    if (!known.has(destinations)) for (const one of destinations) found.set(one.kri, one);
    known.add(destinations);
    hasRules = true;
    hasCatchAll ||= asked.some(catchesAll);
  }
  if (!hasRules || (kind === 'MeshHTTPRoute' && !hasCatchAll)) found.set(outbound.kri, plain(outbound));
  return [...found.values()];
}

function catchesAll({ isCatchAll }: AskedRoutes): boolean {
  return isCatchAll;
}

/** Rules of one route have the same policies. */
function routesOfRules(outbound: UsableOutbound, resolver: BackendResolver): (rule: UsableRoute) => RuleRoutes {
  const protocol = protocolOf(outbound.protocol);
  const settingsOf = perObject((policies: readonly EffectivePolicy[]) => routeSettings(policies, protocol));
  const itself = plain(outbound);
  let last: { readonly policies: readonly EffectivePolicy[]; readonly settings: RouteSettings } | null = null;
  return (rule) => {
    const { policies } = rule;
    if (last?.policies !== policies) last = { policies, settings: settingsOf(policies) };
    return ruleRoutes(rule, itself, resolver, last.settings);
  };
}

/** Without its routes: what is remembered must not keep them. */
function plain({ kri, base, section, resource, port, protocol }: Outbound): Outbound {
  return { kri, base, section, resource, port, protocol };
}
