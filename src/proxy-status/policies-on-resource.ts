// The policies behind a resource of a proxy's configuration, by the name of the resource. Pure.
import { buildRules, type ProxyRules } from '../policy/build-rules.ts';
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import { effectiveOutbound } from '../policy/effective-conf.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import { outboundsOf } from '../policy/outbounds.ts';
import type { Resource } from '../resource/types.ts';
import { sectionOfInbound } from '../xds/inbounds.ts';

type Cause = { readonly kri: string; readonly resource: Resource };

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

function outbound(index: MeshIndex, rules: ProxyRules, name: string): Cause[] {
  const found = outboundsOf(index, rules.proxy).find(({ kri }) => kri === name);
  if (found === undefined) return [];
  const { policies, routes } = effectiveOutbound(index, rules, found);
  const inForce = [...policies, ...routes.flatMap((route) => route.policies)];
  return [
    ...inForce.flatMap(({ contributions }) => contributions.map(({ policy }) => policy)),
    ...routes.map(({ route }) => route),
  ];
}
