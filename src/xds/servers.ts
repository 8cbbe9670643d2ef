// The servers of one port of a service, as a proxy of one zone reaches them: proxies of its own zone directly, those of another zone
// through the ingresses there, an external service through the egress of its own zone (xds 5). Pure.
import { perObject } from '../base/per-object.ts';
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import type { Outbound } from '../policy/outbounds.ts';
import { proxyIdentity } from '../policy/proxy-identity.ts';
import { isCalled, publishedIds, takesTls, tlsToServers } from '../policy/demanded-tls.ts';
import { selectedDataplanes, servicesBehind } from '../policy/services.ts';
import { label } from '../resource/labels.ts';
import { homeZoneOf } from '../resource/ownership.ts';
import { isObject, objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import { inboundPlaces, openedIn, reachOf } from '../resource/section-places.ts';
import { ingressesOf, placeOf, sniAcrossZones } from '../resource/service-reach.ts';
import { kumaSni } from '../resource/sni.ts';
import type { Json, JsonObject, Labels, Resource } from '../resource/types.ts';
import { compareText } from '../base/compare-text.ts';
import { isTrusted } from './proxy-tls.ts';
import { endpointAddressProblem, inboundAddressProblem } from './socket-address.ts';
import { isMadeUnready } from './service-probe.ts';
import type { Report } from './usable-policies.ts';

/** @property isTls its cluster has TLS to it, and plain text to others */
export type Endpoint = { readonly address: string; readonly port: number; readonly labels: Labels; readonly isTls?: boolean };

/** The ingresses of another zone, as endpoints. */
export type OtherZone = { readonly zone: string; readonly endpoints: readonly Endpoint[] };

/** The MeshServices behind a service, by where they are. */
export type Members = { readonly local: readonly Resource[]; readonly remote: readonly Resource[] };

/** @param zone of the client */
export function membersOf(index: MeshIndex, service: Resource, zone: string): Members {
  const members = servicesBehind(index, service);
  return {
    local: members.filter((member) => homeZoneOf(member, zone) === zone),
    remote: members.filter((member) => homeZoneOf(member, zone) !== zone),
  };
}

/** KRIs of the MeshServices of a zone behind a service. */
export function localServers(index: MeshIndex, service: Resource, zone: string): string[] {
  return membersOf(index, service, zone).local.map((member) => index.kriOf(member));
}

/** The SPIFFE IDs that MeshServices publish, sorted. */
export function serverIds(members: readonly Resource[]): string[] {
  return [...new Set(members.flatMap(publishedIds))].sort();
}

/** The SNI by which another zone knows the port. A MeshMultiZoneService has one for all zones. */
export function sniOf({ resource, port, section }: Outbound): string | null {
  return resource.type === 'MeshService' ? sniAcrossZones(resource, { port, section }) : kumaSni(resource, section);
}

/**
 * The inbounds of a port in the zone of the client. Those that accept TLS are marked where others do not.
 * @returns silent: for a service without any other server, because an application may be back before its next probe
 */
export function localEndpoints(index: MeshIndex, { resource, port }: Outbound, zone: string): Inbounds {
  const { local } = membersOf(index, resource, zone);
  const isMixed = tlsToServers(index, local).servers === 'some';
  const [ready, silent]: [Endpoint[], Endpoint[]] = [[], []];
  for (const service of local)
    for (const server of serversOf(index, service, port)) {
      if (!isCalled(index, service, server.proxy)) continue;
      const isMarked = isMixed && takesTls(index, service, server.proxy);
      for (const endpoint of server.ready) ready.push(isMarked ? marked(endpoint) : endpoint);
      for (const endpoint of server.silent) silent.push(isMarked ? marked(endpoint) : endpoint);
    }
  return { ready, silent };
}

/** The inbounds of a port to which an ingress leads. Clients of other zones use TLS: servers without an identity get none of them. */
export function ingressServers(index: MeshIndex, { resource, port }: Outbound, zone: string): Inbounds {
  const servers = membersOf(index, resource, zone).local.flatMap((service) => serversOf(index, service, port));
  const identified = servers.filter(({ proxy }) => proxyIdentity(index, proxy) !== null);
  const serving = identified.length > 0 ? identified : servers;
  return { ready: serving.flatMap(({ ready }) => ready), silent: serving.flatMap(({ silent }) => silent) };
}

/** The same object for the same endpoint: it is encoded once. */
const marked = perObject((endpoint: Endpoint): Endpoint => ({ ...endpoint, isTls: true }));

/**
 * The zones from which a port can be served, sorted, but for that of the client. A zone counts when it says that a server is
 * available, and when one has a SPIFFE ID that the mesh trusts.
 */
export function otherZones(index: MeshIndex, { resource, port }: Outbound, zone: string, report: Report): OtherZone[] {
  const serving = membersOf(index, resource, zone).remote.filter(
    (service) => whyNotServing(index, service, port) === null && !index.isDisabled(homeZoneOf(service, zone)),
  );
  return [...Map.groupBy(serving, (service) => homeZoneOf(service, zone))]
    .toSorted(([a], [b]) => compareText(a, b))
    .flatMap(([other, services]) => {
      const endpoints = ingressEndpoints(index, services, other, report);
      return endpoints.length === 0 ? [] : [{ zone: other, endpoints }];
    });
}

/** The egress of the zone of the client, with the SNI of an external service there and the SPIFFE IDs of its proxies. */
export type Egress = { readonly endpoint: Endpoint; readonly sni: string; readonly ids: readonly string[] };

/** Null without an egress, or if it has no identity that the mesh trusts. */
export function egressOf(index: MeshIndex, { resource, section }: Outbound, zone: string, report: Report): Egress | null {
  const published = objectOf(resource.status['zoneEgress']);
  const place = placeOf(published);
  const sni = textOf(published['sni']) || kumaSni(resource, section);
  if (place === null || sni === null) return null;
  const problem = endpointAddressProblem(place.address, `the egress of zone ${zone}`);
  if (problem !== null) report(problem);
  const current = [...index.proxies()].flatMap((proxy) =>
    proxy.zone === zone && isEgressAt(proxy, place) ? (proxyIdentity(index, proxy)?.spiffeId ?? []) : [],
  );
  // An egress that moves, or whose Dataplane is gone, serves until clients have another address.
  const ids = [...current, ...publishedIds({ spec: published })].filter((id) => isTrusted(index, id));
  if (problem !== null || ids.length === 0) return null;
  return { endpoint: { ...place, labels: resource.labels }, sni, ids: [...new Set(ids)].sort() };
}

/** Why no server of a MeshService of another zone can serve a port; null where one may. */
export function whyNotServing(index: MeshIndex, { spec }: Pick<Resource, 'spec'>, port: number): string | null {
  if (!objectsOf(spec['ports']).some((given) => given['port'] === port)) return `it has no port ${String(port)} there`;
  if (spec['state'] === 'Unavailable') return 'no server there is available';
  const ids = publishedIds({ spec });
  if (ids.length === 0) return 'its servers have no identity: a MeshIdentity must select them';
  return ids.some((id) => isTrusted(index, id)) ? null : 'no MeshTrust here has the trust domain of its servers';
}

/** @property silent those whose application does not answer its default probe (decision 58) */
export type Inbounds = { readonly ready: readonly Endpoint[]; readonly silent: readonly Endpoint[] };
/** @property target the port or the name of the inbounds */
export type Server = Inbounds & { readonly proxy: DataplaneProxy; readonly target: Json };

/** The proxies of a MeshService in its zone, with their inbounds for a port. */
export function serversOf(index: MeshIndex, service: Resource, port: number): Server[] {
  const found = objectsOf(service.spec['ports']).find((candidate) => candidate['port'] === port);
  if (found === undefined) return [];
  const target = found['targetPort'] ?? port;
  const protocol = textOf(found['appProtocol']) || 'tcp';
  const key = JSON.stringify([target, protocol]);
  return selectedDataplanes(index, service).map((proxy) => {
    const known = endpointsOf(proxy);
    let inbounds = known.get(key);
    if (inbounds === undefined) known.set(key, (inbounds = findInbounds(proxy, target, protocol)));
    return { proxy, target, ready: inbounds.ready, silent: inbounds.silent };
  });
}

function ingressEndpoints(index: MeshIndex, services: readonly Resource[], zone: string, report: Report): Endpoint[] {
  const addresses = [...index.resources('MeshZoneAddress')];
  const places = services.flatMap((service) => ingressesOf(service, addresses));
  const unique = new Map(places.map((place) => [`${place.address} ${String(place.port)}`, place]));
  return [...unique.values()].flatMap(({ address, port }) => {
    const problem = endpointAddressProblem(address, `the ingress of zone ${zone}`);
    if (problem !== null) report(problem);
    return problem === null ? [{ address, port, labels: { [label.zone]: zone } }] : [];
  });
}

/** By target port and protocol, while the Dataplane does not change: a change of one server makes one endpoint. */
const endpointsOf = perObject<DataplaneProxy, Map<string, Inbounds>>(() => new Map<string, Inbounds>());

/** The inbounds that a target port means, by name or by number. */
function findInbounds(proxy: DataplaneProxy, target: Json, protocol: string): Inbounds {
  const networking = objectOf(proxy.resource.spec['networking']);
  const places = inboundPlaces(proxy.resource);
  const opened = openedIn(proxy.resource.status);
  const [ready, silent]: [Endpoint[], Endpoint[]] = [[], []];
  for (const [index, inbound] of objectsOf(networking['inbound']).entries()) {
    const isTarget = typeof target === 'number' ? inbound['port'] === target : inbound['name'] === target;
    const list = isReady(inbound) ? ready : isSilent(inbound) ? silent : null;
    const place = places[index];
    // Before its Envoy has opened it, requests would fail there.
    const reach = place === undefined ? null : reachOf(place, opened);
    if (!isTarget || list === null || reach === null || inboundAddressProblem(reach.address, reach.port) !== null) continue;
    list.push({ ...reach, labels: { ...proxy.labels, 'kuma.io/protocol': textOf(inbound['protocol']) || protocol } });
  }
  return { ready, silent };
}

/** `state`, and the older `health`: a field that exists without `ready: true` means not ready (kds-wire 4.2). */
function isReady({ state, health }: JsonObject): boolean {
  if (state === 'Ignored' || state === 'NotReady') return false;
  return health === undefined || objectOf(health)['ready'] === true;
}

/** An inbound with a written `serviceProbe` gets no requests while the probe fails. */
function isSilent(inbound: JsonObject): boolean {
  return isMadeUnready(inbound) && !isObject(inbound['serviceProbe']);
}

/** Whether a proxy has its egress at this place, in the form of Kuma or in that of MADR 095. */
function isEgressAt({ resource }: DataplaneProxy, { address, port }: { address: string; port: number }): boolean {
  const networking = objectOf(resource.spec['networking']);
  const listeners = objectsOf(networking['listeners']).filter(({ type }) => type === 'ZoneEgress');
  return [objectOf(networking['zoneEgress']), ...listeners].some(
    (listener) => (textOf(listener['address']) || textOf(networking['address'])) === address && listener['port'] === port,
  );
}
