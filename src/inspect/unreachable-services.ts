// The services that proxies of a zone call and do not reach, each with the broken part of the way. From the indexes that the zone has for
// its proxies: only a service without endpoints is worked through.
import { waysTo, proxiesOnWays, type Way } from './service-ways.ts';
import { runSteps, type Steps } from '../base/steps.ts';
import { idleParts } from './idle-parts.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import type { Outbound } from '../policy/outbounds.ts';
import { isOnline } from '../resource/online-status.ts';
import { numberOf, objectOf, objectsOf } from '../resource/read-json.ts';
import type { Resource } from '../resource/types.ts';
import { serviceRefOf } from '../policy/target-ref.ts';
import { BackendResolver } from '../xds/backends.ts';
import { egressOf, localEndpoints, membersOf, otherZones } from '../xds/servers.ts';
import { certifiedIdentity } from '../xds/proxy-tls.ts';
import type { ProxyInsights } from '../zone-status/proxy-insights.ts';

/** Services of a mesh that are looked at. */
const MAX_SERVICES = 50;

/** Services without endpoints for a zone, that its proxies name as outbounds. A proxy with redirected connections names none. */
export function* servicesWithoutEndpoints(index: MeshIndex, zone: string): Steps<Resource[]> {
  const resolver = new BackendResolver(index, zone);
  const called = new Map<string, { readonly outbound: Outbound; hasIdentity: boolean }>();
  for (const proxy of index.proxies()) {
    if (proxy.zone !== zone) continue;
    const hasIdentity = certifiedIdentity(index, proxy) !== null;
    for (const { backendRef } of objectsOf(objectOf(proxy.resource.spec['networking'])['outbound'])) {
      const outbound = resolver.find(serviceRefOf(backendRef), proxy);
      if (outbound === undefined) continue;
      const known = called.get(outbound.kri);
      if (known === undefined) called.set(outbound.kri, { outbound, hasIdentity });
      else known.hasIdentity ||= hasIdentity;
    }
    yield;
  }
  const found = new Map<string, Resource>();
  for (const { outbound, hasIdentity } of called.values()) {
    if (found.size >= MAX_SERVICES) break;
    if (!hasServers(index, outbound, zone, hasIdentity)) found.set(index.kriOf(outbound.resource), outbound.resource);
    yield;
  }
  return [...found.values()];
}

/** @param hasIdentity of a caller: without one no zone proxy lets it through */
function hasServers(index: MeshIndex, outbound: Outbound, zone: string, hasIdentity: boolean): boolean {
  const nothing = (): void => undefined;
  if (outbound.resource.type === 'MeshExternalService') {
    // A reference to something that does not exist is a problem of its own.
    const isIdle = runSteps(idleParts(index, outbound.resource)).length > 0;
    return isIdle || (hasIdentity && egressOf(index, outbound, zone, nothing) !== null);
  }
  const { local } = membersOf(index, outbound.resource, zone);
  // The zone reports its own services that are down.
  if (local.some((member) => whyFailing(member) === null) && localEndpoints(index, outbound, zone).ready.length > 0) return true;
  if (local.some((member) => whyFailing(member) !== null)) return true;
  return hasIdentity && otherZones(index, outbound, zone, nothing).length > 0;
}

export type UnreachableWay = { readonly service: Resource; readonly way: Way };

type Sources = { readonly insights: Pick<ProxyInsights, 'of'>; readonly zone: string };

/** The broken ways from the zone, by service. Rejects as the store does. @param services of the index */
export async function unreachableWays(
  index: MeshIndex,
  services: readonly Resource[],
  { insights, zone }: Sources,
): Promise<UnreachableWay[]> {
  const found: UnreachableWay[] = [];
  for (const service of services) {
    const { rowOf } = await insights.of(proxiesOnWays(index, service, [zone]).map(({ resource }) => resource));
    const facts = {
      ...{ zones: [zone], asked: zone, unknown: () => '', unheard: () => '' },
      isOnline: (name: string) => {
        const insight = rowOf({ mesh: service.mesh, name });
        return insight && isOnline(insight.spec);
      },
    };
    const ways = waysTo(index, service, facts).filter(({ state, callers }) => callers > 0 && state === 'broken');
    found.push(...ways.map((way) => ({ service, way })));
  }
  return found;
}

/**
 * The reason why no proxy of a MeshService serves it, as its own zone counts them; null while one does, and without any proxy.
 */
export function whyFailing({ status }: Pick<Resource, 'status'>): string | null {
  const { total, connected, healthy } = objectOf(status['dataplaneProxies']);
  const all = numberOf(total);
  if (all === 0) return null;
  const proxies = all === 1 ? 'its proxy' : `each of its ${String(all)} proxies`;
  if (numberOf(connected) === 0) return `${proxies} is not connected`;
  return numberOf(healthy) === 0 ? `${proxies} has no ready inbound for its ports` : null;
}
