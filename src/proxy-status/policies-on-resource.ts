// The policies behind a resource of a proxy's configuration, by the name of the resource. Pure.
import { buildRules, type ProxyRules } from '../policy/build-rules.ts';
import type { DataplaneProxy, Section } from '../policy/dataplane-proxy.ts';
import {
  destinationOf,
  effectiveOutbound,
  policiesInForce,
  type EffectivePolicy,
  type EffectiveRoute,
} from '../policy/effective-conf.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import { outboundRoutes, type RouteRule } from '../policy/outbound-routes.ts';
import type { Outbound } from '../policy/outbounds.ts';
import { outboundsOf } from '../policy/proxy-outbounds.ts';
import type { Resource } from '../resource/types.ts';
import { BackendResolver } from '../xds/backends.ts';
import { sectionOfInbound } from '../xds/inbounds.ts';
import { listenerOf } from '../xds/names.ts';
import { usableRuleConf } from '../xds/usable-routes.ts';

type Cause = { readonly kri: string; readonly resource: Resource };

/** A route of the proxy, and a service to which it leads. */
type Lead = { readonly service: Outbound; readonly route: Cause };

/**
 * Finds the KRIs of the policies in force on a listener, its filters and routes, a cluster or a load assignment, the one that changed last
 * first: with a refused resource it is the first to look at. What all resources of the proxy need is made once.
 * @returns takes the name of a resource: an inbound of the proxy, or the KRI of a destination with its port
 */
export function findsPolicies(index: MeshIndex, proxy: DataplaneProxy): (name: string) => string[] {
  const rules = buildRules(index, proxy);
  const outbound = findsOutbound(index, rules);
  return (resource) => {
    const name = listenerOf(resource);
    const section = sectionOfInbound(proxy, name);
    const causes = [...wholeProxy(rules), ...(section === undefined ? outbound(name) : inbound(rules, section))];
    const unique = new Map(causes.map(({ kri, resource }) => [kri, resource.modificationTime.getTime()]));
    return [...unique].sort(([, a], [, b]) => b - a).map(([kri]) => kri);
  };
}

function wholeProxy({ types }: ProxyRules): Cause[] {
  return types.flatMap(({ proxyRule }) => (proxyRule?.contributions ?? []).map(({ policy }) => policy));
}

function inbound({ types }: ProxyRules, section: Section): Cause[] {
  return types.flatMap(({ inboundRules }) =>
    inboundRules.flatMap((found) => (found.section === section ? found.rules.map(({ policy }) => policy) : [])),
  );
}

/** Finds the policies of an outbound, or of a service that only the routes of outbounds lead to. */
function findsOutbound(index: MeshIndex, rules: ProxyRules): (name: string) => Cause[] {
  const outbounds = outboundsOf(index, rules.proxy);
  const byName = new Map(outbounds.toReversed().map((one) => [one.kri, one]));
  let routed: ((name: string) => Cause[]) | null = null;
  return (name) => {
    const found = byName.get(name);
    if (found === undefined) return (routed ??= findsRouted(index, rules, outbounds))(name);
    const { policies, routes: all } = effectiveOutbound(index, rules, found);
    // A route with a note does nothing.
    const routes = all.filter(({ note }) => note === null);
    const inForce = [...policies, ...routes.flatMap((route) => route.policies)];
    return [...causesOf(inForce), ...routes.map(({ route }) => route)];
  };
}

/** The policies on a service that no outbound means, and the routes that lead to it. */
function findsRouted(index: MeshIndex, rules: ProxyRules, outbounds: readonly Outbound[]): (name: string) => Cause[] {
  if (rules.routes.size === 0) return () => [];
  const resolver = new BackendResolver(index, rules.proxy.zone);
  /** The outbounds whose routes may lead to a service, by its name. */
  const mayLead = new Map<string, Set<Outbound>>();
  for (const one of outbounds)
    for (const { kind, rules: found } of outboundRoutes(rules, destinationOf(index, one.base, one.section)))
      for (const service of found.flatMap((rule) => servicesOf(kind, rule, one, resolver)))
        mayLead.set(service.kri, (mayLead.get(service.kri) ?? new Set()).add(one));
  return (name) => {
    const leads = [...(mayLead.get(name) ?? [])].flatMap((one) =>
      effectiveOutbound(index, rules, one)
        .routes.filter(({ note }) => note === null)
        .flatMap((rule) => leadsTo(name, rule, one, resolver)),
    );
    const [first] = leads;
    if (first === undefined) return [];
    const { base, section } = first.service;
    return [...causesOf(policiesInForce(rules, destinationOf(index, base, section))), ...leads.map(({ route }) => route)];
  };
}

/** The backends of a rule and of its mirrors that have this name. */
function leadsTo(name: string, rule: EffectiveRoute, from: Outbound, resolver: BackendResolver): Lead[] {
  return servicesOf(rule.kind, rule, from, resolver).flatMap((service) =>
    service.kri === name ? [{ service, route: rule.route }] : [],
  );
}

/** The backends of a rule and of its mirrors; none of a rule that is left out. */
function servicesOf(kind: EffectiveRoute['kind'], rule: RouteRule, from: Outbound, resolver: BackendResolver): Outbound[] {
  const conf = usableRuleConf(kind, rule);
  if (conf === null) return [];
  const backends = [...resolver.all(conf, rule.route, from).backends, ...resolver.mirrors(conf, rule.route)];
  return backends.map(({ outbound }) => outbound);
}

function causesOf(policies: readonly EffectivePolicy[]): Cause[] {
  return policies.flatMap(({ contributions }) => contributions.map(({ policy }) => policy));
}
