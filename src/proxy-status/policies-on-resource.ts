// The policies behind a resource of a proxy's configuration, by the name of the resource. Pure.
import { buildRules, type ProxyRules } from '../policy/build-rules.ts';
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import { destinationOf, effectiveOutbound, policiesInForce, type EffectivePolicy } from '../policy/effective-conf.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import { outboundRoutes, type RouteRule } from '../policy/outbound-routes.ts';
import { outboundsOf, type Outbound } from '../policy/outbounds.ts';
import type { Resource } from '../resource/types.ts';
import { BackendResolver } from '../xds/backends.ts';
import { sectionOfInbound } from '../xds/inbounds.ts';

type Cause = { readonly kri: string; readonly resource: Resource };

/** A route of the proxy, and a service to which it leads. */
type Lead = { readonly service: Outbound; readonly route: Cause };

/**
 * KRIs of the policies in force on a listener, a route configuration, a cluster or a load assignment, the one that changed last
 * first: with a refused resource it is the first to look at.
 * @param name of the resource: an inbound of the proxy, or the KRI of a destination with its port
 */
export function policiesOnResource(index: MeshIndex, proxy: DataplaneProxy, name: string): string[] {
  const rules = buildRules(index, proxy);
  const causes = [...wholeProxy(rules), ...inbound(rules, name), ...outbound(index, rules, name)];
  const unique = new Map(causes.map(({ kri, resource }) => [kri, resource.modificationTime.getTime()]));
  return [...unique].sort(([, a], [, b]) => b - a).map(([kri]) => kri);
}

function wholeProxy({ types }: ProxyRules): Cause[] {
  return types.flatMap(({ proxyRule }) => (proxyRule?.contributions ?? []).map(({ policy }) => policy));
}

function inbound({ types, proxy }: ProxyRules, name: string): Cause[] {
  const section = sectionOfInbound(proxy, name);
  return types.flatMap(({ inboundRules }) =>
    inboundRules.flatMap((found) => (found.section === section ? found.rules.map(({ policy }) => policy) : [])),
  );
}

/** Of an outbound, or of a service that only the routes of outbounds lead to. */
function outbound(index: MeshIndex, rules: ProxyRules, name: string): Cause[] {
  const outbounds = outboundsOf(index, rules.proxy);
  const found = outbounds.find(({ kri }) => kri === name);
  if (found === undefined) return routed(index, rules, outbounds, name);
  const { policies, routes } = effectiveOutbound(index, rules, found);
  const inForce = [...policies, ...routes.flatMap((route) => route.policies)];
  return [...causesOf(inForce), ...routes.map(({ route }) => route)];
}

/** The policies on a service that no outbound means, and the routes that lead to it. */
function routed(index: MeshIndex, rules: ProxyRules, outbounds: readonly Outbound[], name: string): Cause[] {
  if (rules.routes.size === 0) return [];
  const resolver = new BackendResolver(index, rules.proxy.zone);
  const leads = outbounds.flatMap((one) => {
    const found = (of: readonly RouteRule[]): Lead[] => of.flatMap((rule) => leadsTo(name, rule, one, resolver));
    const { base, section } = one;
    const mayLead = outboundRoutes(rules, destinationOf(index, base, section)).some((kind) => found(kind.rules).length > 0);
    return mayLead ? found(effectiveOutbound(index, rules, one).routes.filter(({ note }) => note === null)) : [];
  });
  const [first] = leads;
  if (first === undefined) return [];
  const { base, section } = first.service;
  return [...causesOf(policiesInForce(rules, destinationOf(index, base, section))), ...leads.map(({ route }) => route)];
}

/** The backends of a rule and of its mirrors that have this name. */
function leadsTo(name: string, { conf, route }: RouteRule, from: Outbound, resolver: BackendResolver): Lead[] {
  const services = [...resolver.all(conf, route, from).backends, ...resolver.mirrors(conf, route)];
  return services.flatMap(({ outbound: service }) => (service.kri === name ? [{ service, route }] : []));
}

function causesOf(policies: readonly EffectivePolicy[]): Cause[] {
  return policies.flatMap(({ contributions }) => contributions.map(({ policy }) => policy));
}
