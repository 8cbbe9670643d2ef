// The places at which redirected proxies call services: each reachable port at the virtual address of its service (xds 3.5). Pure. Proxies with
// equal reach have one list.
import { isIP } from 'node:net';
import { perObject } from '../base/per-object.ts';
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import type { Outbound } from '../policy/outbounds.ts';
import { reachableFrom, type Reachable } from '../policy/proxy-outbounds.ts';
import { transparentProxying } from '../policy/transparent-proxying.ts';
import { virtualAddress } from '../resource/virtual-address.ts';
import type { ConfigProblem } from './config-problem.ts';
import { placeName } from './listener-place.ts';

/** @property address IPv4 or IPv6 */
export type VirtualOutbound = { readonly outbound: Outbound; readonly address: string; readonly port: number };

export type VirtualOutbounds = {
  /** By KRI of the port, in the order of KRIs. Each has a place of its own. */
  readonly byKri: ReadonlyMap<string, VirtualOutbound>;
  /** By `placeName`. */
  readonly byPlace: ReadonlyMap<string, VirtualOutbound>;
  /** References that mean nothing, and services that have no place. */
  readonly problems: readonly ConfigProblem[];
};

const FIELD = 'networking.transparentProxying';

/**
 * The ports that a proxy reaches at virtual addresses. Until a service changes, proxies with equal reach get the same object.
 * @returns null for a proxy to which no connections of its application are redirected
 */
export function virtualOutbounds(index: MeshIndex, proxy: DataplaneProxy): VirtualOutbounds | null {
  const redirected = transparentProxying(proxy.resource);
  if ((redirected?.outboundPort ?? null) === null) return null;
  const { families } = redirected ?? { families: null };
  const hasIpv6 = families === null || families.includes(6);
  return (hasIpv6 ? ofBothFamilies : ofIpv4)(reachableFrom(index, proxy));
}

const ofBothFamilies = perObject((reachable: Reachable) => placesOf(reachable, true));
const ofIpv4 = perObject((reachable: Reachable) => placesOf(reachable, false));

function placesOf({ outbounds, unmeant }: Reachable, hasIpv6: boolean): VirtualOutbounds {
  const problems = unmeant.map(({ at, reason }) =>
    problemOf(`${FIELD}.reachableBackends.refs[${String(at)}]`, `${reason}: it adds no outbound`),
  );
  const byPlace = new Map<string, VirtualOutbound>();
  // Of two services with one address the older keeps it.
  const byAge = outbounds.toSorted((a, b) => a.resource.creationTime.getTime() - b.resource.creationTime.getTime());
  for (const outbound of byAge) {
    const address = virtualAddress(outbound.resource);
    // The address comes a moment after the service. A zone that has no free one says so in its log.
    if (address === '') continue;
    const version = isIP(address);
    if (version === 0 || (version === 6 && !hasIpv6)) {
      const reason = version === 0 ? 'is no IP address' : 'needs IPv6, which ipFamilyMode leaves out';
      problems.push(unlisted(outbound, `its virtual address ${address} ${reason}`));
      continue;
    }
    const place = placeName(address, outbound.port);
    const user = byPlace.get(place);
    if (user === undefined) byPlace.set(place, { outbound, address, port: outbound.port });
    else problems.push(unlisted(outbound, `${user.outbound.kri} has ${place} already`));
  }
  const byKri = new Map([...byPlace.values()].map((found) => [found.outbound.kri, found]));
  return { byKri, byPlace, problems };
}

function unlisted({ kri }: Outbound, why: string): ConfigProblem {
  return { ...problemOf(FIELD, `${kri} has no listener: ${why}`), unlisted: kri };
}

function problemOf(field: string, reason: string): ConfigProblem {
  return { policy: null, field, reason };
}
