// The usable rules of the routes of an outbound, and the problems of those that are left out. Invariant: from here on a rule has its types.
import { perObject } from '../base/per-object.ts';
import type { HttpMatch, RouteConf, RouteKind, ServiceRef } from '../policies/routes.ts';
import type { EffectiveOutbound, EffectivePolicy, EffectiveRoute } from '../policy/effective-conf.ts';
import { matchesHash, writtenRules } from '../policy/route-rules.ts';
import type { RouteRule } from '../policy/outbound-routes.ts';
import { serviceRefOf } from '../policy/target-ref.ts';
import { displayNameOf } from '../resource/labels.ts';
import { isObject, objectsOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';
import { idleFilters } from '../schema/route-filters.ts';
import { checkRouteRule } from '../validation/check-conf.ts';
import { areNamed, type BackendResolver } from './backends.ts';
import type { ConfigProblem } from './config-problem.ts';
import type { RuleRecord } from './route-source.ts';
import type { Refused } from './usable-conf.ts';
import { usablePolicies, type Report } from './usable-policies.ts';

/** A rule that is in force and checked. */
export type UsableRoute = EffectiveRoute<RouteConf, HttpMatch>;
export type UsableOutbound = EffectiveOutbound<UsableRoute>;

/** A rule of a route that cannot become configuration is left out; requests find the next one that fits. So is a rule with a note. */
export function usableOutbound(outbound: EffectiveOutbound, resolver: BackendResolver, report: Report): UsableOutbound {
  const usable = new Map<readonly EffectivePolicy[], readonly EffectivePolicy[]>();
  /** The rules of a route have the same policies. */
  const usableOf = (policies: readonly EffectivePolicy[]): readonly EffectivePolicy[] => {
    let found = usable.get(policies);
    if (found === undefined) usable.set(policies, (found = usablePolicies(policies, report)));
    return found;
  };
  const routes: UsableRoute[] = [];
  for (const rule of outbound.routes) {
    if (rule.note !== null) continue;
    const record = resolver.sourceOf(rule, outbound).of(rule);
    const checked = record.isQuiet ? asChecked(rule) : checkRule(rule, outbound, resolver, record, report);
    if (checked === null) continue;
    const policies = usableOf(rule.policies);
    routes.push(policies === rule.policies ? checked : { ...checked, policies });
  }
  return { ...outbound, policies: usablePolicies(outbound.policies, report), routes };
}

/**
 * The conf of a rule, or null if the rule cannot become configuration. A wrong reference means no service, and what it has of a wrong type
 * is not there.
 */
export function usableRuleConf(kind: RouteKind, rule: Pick<RouteRule, 'matches' | 'conf'>): RouteConf | null {
  const refused = refusedIn(kind, rule);
  return refused.every(isOfReference) ? readConf(rule.conf, refused) : null;
}

/** The check has seen it. */
function asChecked(rule: EffectiveRoute): UsableRoute {
  return rule as unknown as UsableRoute;
}

function readConf(conf: JsonObject, refused: readonly Refused[]): RouteConf {
  return refused.length === 0 ? (conf as unknown as RouteConf) : withReadRefs(conf);
}

function isOfReference({ path }: Refused): boolean {
  return REFERENCE.test(path);
}

/** Reports what is wrong with a rule, and notes in its record that nothing is. @returns null if it cannot become configuration */
function checkRule(
  rule: EffectiveRoute,
  outbound: EffectiveOutbound,
  resolver: BackendResolver,
  record: RuleRecord,
  report: Report,
): UsableRoute | null {
  let isQuiet = true;
  const noting: Report = (problem) => {
    isQuiet = false;
    report(problem);
  };
  const refused = refusedIn(rule.kind, rule);
  const faults = refused.filter((one) => !isOfReference(one));
  for (const { path, reason } of faults) report(problemOfRule(rule, path, reason));
  if (faults.length > 0) return null;
  const checked = refused.length === 0 ? asChecked(rule) : { ...asChecked(rule), conf: readConf(rule.conf, refused) };
  reportMissing(checked, resolver, noting);
  for (const { path, reason } of idleFilters(checked.conf.filters ?? []))
    noting(problemOfRule(rule, `default.filters${path}`, reason));
  reportHostname(checked, outbound, resolver, noting);
  record.isQuiet = isQuiet && refused.length === 0;
  return checked;
}

/** A missing backend is no violation here: its share of the requests is answered 500. Its weight and its filters can be one. */
const REFERENCE = /\.(backendRefs\[\d+\]|backendRef(?!s))(?!\.(weight|filters))/;

/** Matches of rules in which nothing is refused, by their confs. */
const faultless = new WeakMap<JsonObject, RouteRule['matches']>();
const faulty = new WeakMap<JsonObject, { readonly matches: RouteRule['matches']; readonly refused: readonly Refused[] }>();

function refusedIn(kind: RouteKind, { matches, conf }: Pick<RouteRule, 'matches' | 'conf'>): readonly Refused[] {
  if (faultless.get(conf) === matches) return [];
  const before = faulty.get(conf);
  if (before?.matches === matches) return before.refused;
  const rule = kind === 'MeshHTTPRoute' ? { matches: [...(matches ?? [])], default: conf } : { default: conf };
  const refused = checkRouteRule(kind, rule).map(({ field, reason }) => ({ path: field, reason }));
  if (refused.length === 0) faultless.set(conf, matches);
  else faulty.set(conf, { matches, refused });
  return refused;
}

/** The conf with references as they can be read. */
const withReadRefs = perObject(({ backendRefs, filters, ...rest }: JsonObject): RouteConf => {
  const read = objectsOf(filters).map((filter) => {
    const mirror = filter['requestMirror'];
    return isObject(mirror)
      ? { ...filter, requestMirror: { ...mirror, backendRef: serviceRefOf(mirror['backendRef']) } }
      : filter;
  });
  return { ...rest, backendRefs: objectsOf(backendRefs).map(serviceRefOf), filters: read } as unknown as RouteConf;
});

function reportMissing({ conf, ...rule }: UsableRoute, resolver: BackendResolver, report: Report): void {
  const { backendRefs: refs, filters = [] } = conf;
  const whyNone = (ref: ServiceRef): string | null => resolver.whyNone(ref, rule.route);
  const faults = refs.map(whyNone);
  const hasOthers = refs.some(({ weight }, at) => weight !== 0 && faults[at] === null);
  const ofTcp = hasOthers ? 'its share goes to the others' : 'connections are closed';
  for (const [at, fault] of faults.entries()) {
    if (fault === null || refs[at]?.weight === 0) continue;
    const share = rule.kind === 'MeshHTTPRoute' ? 'its share of the requests is answered 500' : ofTcp;
    report(problemOfRule(rule, `default.backendRefs[${String(at)}]`, `${fault}: ${share}`));
  }
  for (const [at, { type, requestMirror }] of filters.entries()) {
    const fault = type === 'RequestMirror' && requestMirror !== undefined ? whyNone(requestMirror.backendRef) : null;
    if (fault === null) continue;
    const field = `default.filters[${String(at)}].requestMirror.backendRef`;
    report(problemOfRule(rule, field, `${fault}: nothing is mirrored`));
  }
}

/** The host that a URLRewrite sets reaches the egress. The egress replaces it where it calls an external service by name. */
function reportHostname(rule: UsableRoute, outbound: EffectiveOutbound, resolver: BackendResolver, report: Report): void {
  const { filters = [] } = rule.conf;
  const at = filters.findIndex(({ type, urlRewrite }) => type === 'URLRewrite' && urlRewrite?.hostname !== undefined);
  if (at === -1) return;
  for (const { outbound: backend } of resolver.all(rule.conf, rule.route, outbound).backends) {
    const { type, spec } = backend.resource;
    if (type !== 'MeshExternalService' || !areNamed(objectsOf(spec['endpoints']))) continue;
    const field = `default.filters[${String(at)}].urlRewrite.hostname`;
    const name = displayNameOf(backend.resource);
    report(problemOfRule(rule, field, `has no effect: the egress calls MeshExternalService ${name} by the name of its endpoint`));
  }
}

type RulePlace = Pick<EffectiveRoute<unknown, JsonObject | HttpMatch>, 'route' | 'index' | 'matches' | 'kind'>;

/** @param path in the rule */
function problemOfRule({ route, index, matches, kind }: RulePlace, path: string, reason: string): ConfigProblem {
  const conf = route.to.find((item) => item.index === index)?.conf;
  const place = conf === undefined ? undefined : placesOf(conf).get(matchesHash(matches ?? []));
  const at = kind === 'MeshTCPRoute' ? 0 : (place ?? -1);
  const rule = `spec.to[${String(index)}].rules${at === -1 ? '' : `[${String(at)}]`}`;
  return { policy: route.kri, field: path === '' ? rule : `${rule}.${path}`, reason };
}

/** The positions of the rules of an item, by the hash of their matches. */
const placesOf = perObject((conf: JsonObject): ReadonlyMap<string, number> => {
  const rules = [...writtenRules(conf).entries()];
  return new Map(rules.toReversed().map(([at, { matches }]) => [matchesHash(matches), at]));
});
