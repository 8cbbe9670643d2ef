// The answers of the inspect API about one proxy, from its rules (policies 8). Null means 404: no such outbound, inbound, route.
import { isIdleOn } from './zone-proxy-reach.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import type { ProxyRules } from './build-rules.ts';
import { compareText } from '../base/compare-text.ts';
import type { ConfInForce, Destination } from './conf-in-force.ts';
import { destinationOf, policiesInForce } from './effective-conf.ts';
import type { MeshIndex } from './mesh-index.ts';
import { outboundRoutes } from './outbound-routes.ts';
import { outboundsTo, type Outbound } from './outbounds.ts';
import { outboundsOf } from './proxy-outbounds.ts';
import { isRouteKind, type Policy } from './parse-policy.ts';
import { parseKri } from '../resource/kri.ts';
import { matchDataplane } from './match-dataplane.ts';
import { selectedDataplanes } from './services.ts';
import { isServiceType } from '../resource/type-registry.ts';
import type { DataplaneProxy } from './dataplane-proxy.ts';
import type { Contribution } from './resource-rules.ts';
import { proxyIdentity } from './proxy-identity.ts';

/** `_policies`: the policies for the whole proxy. */
export function policiesView({ types }: ProxyRules): JsonObject {
  return {
    policies: types.flatMap(({ type, proxyRule }) =>
      proxyRule === null ? [] : [{ kind: type, conf: proxyRule.conf, origins: originKris(proxyRule.contributions) }],
    ),
  };
}

/** `_inbounds/{kri}/_policies`; the KRI is the Dataplane's with a section, zone listeners too. */
export function inboundPoliciesView({ proxy, types }: ProxyRules, kri: string): JsonObject | null {
  const section = proxy.sections.find((candidate) => proxy.kri + candidate.section === kri);
  if (section === undefined) return null;
  return {
    policies: types.flatMap(({ type, inboundRules }) => {
      const found = inboundRules.find((candidate) => candidate.section === section);
      if (found === undefined || found.rules.length === 0) return [];
      const rules = found.rules.map(({ match, conf, policy }) => ({ kri: policy.kri, conf, ...(match !== null && { match }) }));
      return [{ kind: type, rules, origins: originKris(found.rules) }];
    }),
  };
}

/** `_outbounds/{kri}/_policies`: section, then service, then mesh. */
export function outboundPoliciesView(index: MeshIndex, rules: ProxyRules, kri: string): JsonObject | null {
  const destination = outboundOf(index, rules, kri);
  return destination === null ? null : { policies: policiesInForce(rules, destination).map(policyView) };
}

/** `_outbounds/{kri}/_routes`. */
export function routesView(index: MeshIndex, rules: ProxyRules, kri: string): JsonObject | null {
  const destination = outboundOf(index, rules, kri);
  if (destination === null) return null;
  return {
    routes: outboundRoutes(rules, destination).map(({ kind, rules: found, contributions }) => ({
      kind,
      rules: found.map(({ route, matches, conf }) => ({
        kri: matches === null ? '' : route.kri,
        matches: matches === null ? null : [...matches],
        conf,
      })),
      origins: originKris(contributions),
    })),
  };
}

/** `_outbounds/{kri}/_routes/{route-kri}/_policies`: the route's conf, else the outbound's (D13). */
export function routePoliciesView(index: MeshIndex, rules: ProxyRules, kri: string, routeKri: string): JsonObject | null {
  const destination = outboundOf(index, rules, kri);
  const route = parseKri(routeKri, index.mesh);
  if (destination === null || route === null || !isRouteKind(route.type)) return null;
  const isHere = outboundRoutes(rules, destination).some(({ rules: found }) =>
    found.some((rule) => rule.route.kri === route.base),
  );
  return isHere ? { policies: policiesInForce(rules, { ...destination, route: route.base }).map(policyView) } : null;
}

/** `_layout`: the sections and outbounds of the proxy under their names in Envoy. */
export function layoutView(
  index: MeshIndex,
  proxy: DataplaneProxy,
  outbounds: readonly Outbound[] = outboundsOf(index, proxy),
): JsonObject {
  const { kri, labels, sections } = proxy;
  const spiffeId = proxyIdentity(index, proxy)?.spiffeId ?? null;
  return {
    kri,
    labels: { ...labels },
    inbounds: sections
      .filter(({ kind }) => kind === 'Inbound')
      .map(({ section, port, protocol }) => ({
        kri: kri + section,
        port,
        protocol,
        proxyResourceName: `self_inbound_dp_${section}`,
      })),
    listeners: sections
      .filter(({ kind }) => kind !== 'Inbound')
      .map(({ section, port, kind }) => ({
        kri: kri + section,
        type: kind,
        port,
        proxyResourceName: `self_${kind.toLowerCase()}_dp_${section}`,
      })),
    outbounds: outbounds.map((outbound) => ({
      kri: outbound.kri,
      port: outbound.port,
      protocol: outbound.protocol,
      proxyResourceName: outbound.kri,
    })),
    ...(spiffeId !== null && { spiffeId }),
  };
}

/** The items of `{policies}/{name}/_resources/dataplanes`: proxies that the policy's top level matches, by name. */
export function policyDataplanesView(index: MeshIndex, policy: Policy): JsonObject[] {
  return [...index.proxies()]
    .filter((proxy) => !isIdleOn(policy, proxy) && matchDataplane(policy, proxy, index).isMatched)
    .sort((a, b) => compareText(a.displayName, b.displayName) || compareText(a.kri, b.kri))
    .map(({ resource }) => metaOf(resource));
}

/** The items of `meshservices/{name}/_dataplanes`. */
export function serviceDataplanesView(index: MeshIndex, service: Resource): JsonObject[] {
  return selectedDataplanes(index, service).map(({ resource }) => metaOf(resource));
}

function policyView({ type, conf, contributions }: ConfInForce): JsonObject {
  return { kind: type, conf: [...conf], origins: originKris(contributions) };
}

/** Finds any service that the zone of the proxy has, with or without a port. */
function outboundOf(index: MeshIndex, { proxy }: ProxyRules, kri: string): Destination | null {
  const parsed = parseKri(kri, index.mesh);
  const service = parsed === null || !isServiceType(parsed.type) ? undefined : index.withKri(parsed.type, parsed.base);
  if (parsed === null || service === undefined || !index.isVisible(service, proxy.zone)) return null;
  const { base, section } = parsed;
  if (section !== '' && !outboundsTo(index, service).some((outbound) => outbound.section === section)) return null;
  return destinationOf(index, base, section);
}

type ResourceMeta = Pick<Resource, 'type' | 'mesh' | 'name' | 'labels'>;

/** `name` is the stored name, for further requests. The labels have the display name. */
export function metaOf(resource: Resource): ResourceMeta {
  let meta = known.get(resource);
  if (meta === undefined) {
    const { type, mesh, name, labels } = resource;
    known.set(resource, (meta = { type, mesh, name, labels: { ...labels } }));
  }
  return meta;
}

const known = new WeakMap<Resource, ResourceMeta>();

/** Contributors in merge order, as `{resourceMeta, ruleIndex}`. */
export function originsOf(contributions: readonly Contribution[]): JsonObject[] {
  return contributions.map(({ policy, index }) => ({ resourceMeta: metaOf(policy.resource), ruleIndex: index }));
}

/** Contributors in merge order, as `{kri}`, each policy once. */
function originKris(contributions: readonly Pick<Contribution, 'policy'>[]): JsonObject[] {
  return [...new Set(contributions.map(({ policy }) => policy.kri))].map((kri) => ({ kri }));
}
