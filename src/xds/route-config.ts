// The route configurations of a proxy: one for each HTTP listener (xds 3.1, 3.2).
import { perObject } from '../base/per-object.ts';
import { hashPoliciesOf } from '../policy/load-balancing.ts';
import type { EffectiveOutbound, EffectivePolicy, EffectiveRoute } from '../policy/effective-conf.ts';
import type { Outbound } from '../policy/outbounds.ts';
import { objectOf, objectsOf } from '../resource/read-json.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import type { BackendResolver, Backends } from './backends.ts';
import { protocolOf, type Protocol } from './protocol.ts';
import { hashPolicies } from './load-balancer.ts';
import { catchAllRouteName, routeName } from './names.ts';
import { duration, percentage } from './proto-json.ts';
import { retryPolicy } from './retry.ts';
import { changedClusters, headerChanges, mirrorPolicies, NO_BACKEND, redirectOf, urlRewrite } from './route-action.ts';
import { compareMatches, isCatchAll, routeMatches } from './route-match.ts';

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
  const settingsOf = perObject((policies: readonly EffectivePolicy[]) => withText(settings(policies, protocol)));
  const routes = asked.flatMap(({ rule, match }) =>
    routesOfRule(rule, match, leadsTo(rule, outbound, resolver), settingsOf(rule.policies)),
  );
  if (asked.some(({ match }) => isCatchAll(match))) return routes;
  const action = { cluster: outbound.kri, ...settings(outbound.policies, protocol) };
  return [...routes, { name: catchAllRouteName, match: { prefix: '/' }, route: action }];
}

/** The clusters that the routes of an outbound lead to, each once, mirrors included. @param kind of the routes that apply: none of them has a note */
export function destinationsOf(outbound: EffectiveOutbound, kind: EffectiveRoute['kind'], resolver: BackendResolver): Outbound[] {
  const rules = outbound.routes.filter((rule) => rule.kind === kind);
  const ofRules = rules.flatMap(({ conf, route }) => [
    ...resolver.all(conf, route, outbound).backends.map((backend) => backend.outbound),
    ...resolver.mirrors(conf, route).map((mirror) => mirror.outbound),
  ]);
  const leadsToItself =
    rules.length === 0 || (kind === 'MeshHTTPRoute' && !rules.some(({ matches }) => (matches ?? []).some(isCatchAll)));
  const all: readonly Outbound[] = leadsToItself ? [...ofRules, outbound] : ofRules;
  return [...new Map(all.map((one) => [one.kri, one])).values()];
}

/** Where a rule leads to. Rules with equal ones have equal texts. */
type Leads = Backends & {
  readonly mirrors: readonly { readonly cluster: string; readonly share: Json | undefined }[];
  readonly text: string;
};
type Settings = { readonly settings: JsonObject; readonly text: string };
type KnownRoutes = { readonly key: string; readonly routes: readonly JsonObject[] };

function leadsTo({ conf, route }: EffectiveRoute, outbound: EffectiveOutbound, resolver: BackendResolver): Leads {
  const { backends, missingPercent } = resolver.all(conf, route, outbound);
  const mirrors = resolver.mirrors(conf, route).map((mirror) => ({ cluster: mirror.outbound.kri, share: mirror.percentage }));
  const clusters = backends.map((backend) => `${backend.outbound.kri}*${String(backend.weight)}`).join();
  return {
    backends,
    missingPercent,
    mirrors,
    text: `${clusters} ${String(missingPercent)} ${mirrors.map(({ cluster }) => cluster).join()}`,
  };
}

function withText(settings: JsonObject): Settings {
  return { settings, text: JSON.stringify(settings) };
}

/** The routes of each match of a rule, as they were made last. Matches and confs are the same objects in all versions of a policy. */
const known = new WeakMap<JsonObject, WeakMap<JsonObject, KnownRoutes>>();

/** The same objects as before for what they are made of: each is encoded once. */
function routesOfRule(
  rule: EffectiveRoute,
  match: JsonObject,
  leads: Leads,
  { settings, text }: Settings,
): readonly JsonObject[] {
  const { conf, route, index } = rule;
  const name = routeName(route.kri, index);
  const key = `${name} ${leads.text} ${text}`;
  let ofConf = known.get(conf);
  if (ofConf === undefined) known.set(conf, (ofConf = new WeakMap<JsonObject, KnownRoutes>()));
  const before = ofConf.get(match);
  if (before?.key === key) return before.routes;
  const routes = makeRoutes(name, conf, match, leads, settings);
  ofConf.set(match, { key, routes });
  return routes;
}

function makeRoutes(name: string, conf: JsonObject, match: JsonObject, leads: Leads, settings: JsonObject): JsonObject[] {
  const filters = objectsOf(conf['filters']);
  return routeMatches(match).flatMap((one): JsonObject[] => {
    const redirect = redirectOf(filters, one.isBelowPrefix);
    if (redirect !== null) return [{ name, match: one.match, redirect, ...headerChanges(filters) }];
    if (leads.backends.length === 0) return [{ name, match: one.match, ...NO_BACKEND }];
    const rewrite = urlRewrite(filters, one.isBelowPrefix);
    const { clusters, changes } = changedClusters(leads, filters);
    const action = {
      ...clusters,
      ...(leadsOutside(leads) && rewrite['hostRewriteLiteral'] === undefined && { autoHostRewrite: true }),
      ...rewrite,
      ...settings,
      ...mirrorPolicies(leads.mirrors),
    };
    return [...missingShare(name, one.match, leads), { name, match: one.match, route: action, ...changes }];
  });
}

/** Before the route: a copy that answers 500 for the share of backends that do not exist. */
function missingShare(name: string, match: JsonObject, { missingPercent }: Leads): JsonObject[] {
  if (missingPercent === 0) return [];
  const share = percentage(Math.round(missingPercent * 100) / 100);
  return [{ name, match: { ...match, runtimeFraction: { defaultValue: share } }, ...NO_BACKEND }];
}

/** An external service is called by its own host name. */
function leadsOutside({ backends }: Leads): boolean {
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
