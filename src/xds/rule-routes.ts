// The Envoy routes of one rule of a route, with what they are made of (xds 3.2).
import { LRUCache } from 'lru-cache';
import type { JsonObject } from '../resource/types.ts';
import type { HttpMatch, RouteConf } from '../policies/routes.ts';
import type { EffectivePolicy } from '../policy/effective-conf.ts';
import type { Outbound } from '../policy/outbounds.ts';
import type { BackendResolver } from './backends.ts';
import type { Leads, RouteSettings, RuleRoutes } from './route-source.ts';
import { routeActionFields } from '../policies/parts.ts';
import { confsOf } from './conf-of.ts';
import { routeName } from './names.ts';
import type { Protocol } from '../envoy/protocol.ts';
import { percentage } from '../envoy/proto-json.ts';
import { changedClusters, headerChanges, mirrorPolicies, NO_BACKEND, redirectOf, urlRewrite } from './route-action.ts';
import { isCatchAll, rankOf, routeMatches } from './route-match.ts';
import type { UsableRoute } from './usable-routes.ts';

/** The routes of a rule: those of before, if they would be the same. */
export function ruleRoutes(
  rule: UsableRoute,
  outbound: Outbound,
  resolver: BackendResolver,
  settings: RouteSettings,
): RuleRoutes {
  const source = resolver.sourceOf(rule, outbound);
  const record = source.of(rule);
  if (record.routes?.settings === settings) return record.routes;
  const leads = leadsTo(rule, outbound, resolver);
  const before = record.routes ?? source.routesBefore(rule);
  const isSame = before?.leads.text === leads.text && before.settings.text === settings.text;
  const name = routeName(rule.route.kri, rule.index);
  const asked = isSame
    ? before.asked
    : (rule.matches ?? []).map((match) => ({
        ...{ rank: rankOf(match), isCatchAll: isCatchAll(match) },
        routes: makeRoutes(name, rule.conf, match, leads, settings.fields),
      }));
  return (record.routes = { settings, leads, asked, destinations: source.destinationsOf(leads) });
}

/** The same object for equal settings. */
export function routeSettings(policies: readonly EffectivePolicy[], protocol: Protocol): RouteSettings {
  const fields = routeActionFields(confsOf(policies), { direction: 'outbound', protocol });
  const text = JSON.stringify(fields);
  return knownSettings.memo(text, { context: fields });
}

const knownSettings = new LRUCache<string, RouteSettings, JsonObject>({
  max: 1_000,
  memoMethod: (text, _stale, { context }) => ({ fields: context, text }),
});

function leadsTo({ conf, route }: UsableRoute, outbound: Outbound, resolver: BackendResolver): Leads {
  const { backends, missingPercent } = resolver.all(conf, route, outbound);
  const mirrors = resolver.mirrors(conf, route);
  const clusters = backends.map((backend) => `${backend.outbound.kri}*${String(backend.weight)}`).join();
  const mirrored = mirrors.map((mirror) => mirror.outbound.kri).join();
  return { backends, missingPercent, mirrors, text: `${clusters} ${String(missingPercent)} ${mirrored}` };
}

function makeRoutes(
  name: string,
  { filters = [] }: RouteConf,
  match: HttpMatch,
  leads: Leads,
  settings: JsonObject,
): JsonObject[] {
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
