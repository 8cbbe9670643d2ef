// The ways in which the proxies of each zone reach a service: from a caller, through zone proxies, to a server, with the state of
// each part. Pure. It is computed with the code that configures the proxies. A zone knows its own Dataplanes alone, a global
// those of all zones.
import type { Answer } from '../answers/answers.ts';
import { runSteps } from '../base/steps.ts';
import { compareText } from '../base/compare-text.ts';
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import { perObject } from '../base/per-object.ts';
import { outboundsTo, type Outbound } from '../policy/outbounds.ts';
import { reachableFrom, type Reachable } from '../policy/proxy-outbounds.ts';
import { redirectsOutbounds } from '../policy/transparent-proxying.ts';
import { virtualAddress } from '../resource/virtual-address.ts';
import { isCalled, tlsToServers } from '../policy/demanded-tls.ts';
import { serviceRefOf, targetRefOf } from '../policy/target-ref.ts';
import { displayNameOf, label } from '../resource/labels.ts';
import { parseMeshIdentity, selectsProxy } from '../resource/mesh-identity.ts';
import { homeZoneOf } from '../resource/ownership.ts';
import { numberOf, objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import { BackendResolver } from '../xds/backends.ts';
import { certifiedIdentity } from '../xds/proxy-tls.ts';
import { sharedSnis, type SharedSni } from '../xds/zone-ports.ts';
import { whyDenied } from './denied-client.ts';
import { idleParts } from './idle-parts.ts';
import { silentApplications } from './silent-applications.ts';
import { egressOf, membersOf, otherZones, serversOf, sniOf, whyNotServing, type Server } from '../xds/servers.ts';

export type Way = Answer<'Ways'>['items'][number];
type Part = Way['parts'][number];

export type WayFacts = {
  /** The only proxy that calls; left out: all proxies of the zones. */
  readonly caller?: DataplaneProxy;
  /** The zones whose proxies call. */
  readonly zones: readonly string[];
  /** The name of the asked zone; null on global. */
  readonly asked: string | null;
  /** Whether a proxy is online, by stored name of its Dataplane; undefined where nothing is known. */
  readonly isOnline: (name: string) => boolean | undefined;
  /** The reason why the state of proxies of a zone that have no insight is not known here; `''` if they have never connected. */
  readonly unknown: (zone: string) => string;
  /** The reason why the known state of a zone may be old: it is not connected, or behind; `''` if it is current. */
  readonly unheard: (zone: string) => string;
};

const NO_IDENTITY = 'it has no identity, and clients of this service use TLS alone: select its Dataplane with a MeshIdentity';
/** The largest number of shown callers, zone proxies and servers each; those with a problem come first. */
const MAX_SHOWN = 5;

/** One way for each port, zone of callers and zone of servers, in this order. */
export function waysTo(index: MeshIndex, service: Resource, facts: WayFacts): Way[] {
  return outboundsTo(index, service).flatMap((outbound) =>
    facts.zones.flatMap((from) =>
      service.type === 'MeshExternalService'
        ? [externalWay(index, outbound, from, facts)]
        : homesOf(index, service, from).map((to) => meshWay(index, outbound, { from, to }, facts)),
    ),
  );
}

/** The Dataplanes whose insights tell about the parts of ways to a service. */
export function proxiesOnWays(
  index: MeshIndex,
  service: Resource,
  zones: readonly string[],
  only: DataplaneProxy | null = null,
): DataplaneProxy[] {
  const ports = outboundsTo(index, service);
  const { local, remote } = membersOf(index, service, '');
  const found = [
    ...zones.flatMap((zone) => ports.flatMap((port) => callersOf(index, port, zone, only).map(({ proxy }) => proxy))),
    ...[...local, ...remote].flatMap((member) =>
      ports.flatMap(({ port }) => serversOf(index, member, port).map(({ proxy }) => proxy)),
    ),
    ...[...index.proxies()].filter(({ sections }) => sections.some(({ kind }) => kind !== 'Inbound')),
  ];
  return [...new Set(found)];
}

/** The zones with servers, that of the caller first. */
function homesOf(index: MeshIndex, service: Resource, from: string): string[] {
  const { local, remote } = membersOf(index, service, from);
  const others = [...new Set(remote.map((member) => homeZoneOf(member, from)))].sort(compareText);
  return [...(local.length > 0 ? [from] : []), ...others];
}

function meshWay(index: MeshIndex, outbound: Outbound, { from, to }: { from: string; to: string }, facts: WayFacts): Way {
  const { local, remote } = membersOf(index, outbound.resource, from);
  const members = [...local, ...remote].filter((member) => homeZoneOf(member, from) === to);
  const [all, callers] = callerParts(index, outbound, from, { isCrossing: from !== to, facts });
  // In plain text nothing says who a client is.
  const clients =
    from !== to || tlsToServers(index, members).servers === 'all' ? clientIds(index, outbound, from, facts.caller ?? null) : [];
  const stages = [
    callers,
    ...(from === to ? [] : [ingressParts(index, outbound, { from, to, members }, facts)]),
    serverParts(index, members, outbound.port, { zone: to, clients }, facts),
  ];
  const shared = from === to ? [] : sharedSnis(index, outbound, to);
  return wayOf({ outbound, from, to, callers: all, shared }, stages, facts);
}

function externalWay(index: MeshIndex, outbound: Outbound, from: string, facts: WayFacts): Way {
  const [all, callers] = callerParts(index, outbound, from, { isCrossing: true, facts });
  const servers = objectsOf(outbound.resource.spec['endpoints']).map(({ address, port }): Part => {
    const place = placeText(textOf(address), numberOf(port) || outbound.port);
    return { part: 'server', zone: '', name: '', address: place, state: 'unknown', why: 'it is outside of the mesh' };
  });
  const stages = [callers, [egressPart(index, outbound, from, facts)], servers];
  return wayOf({ outbound, from, to: '', callers: all, shared: sharedSnis(index, outbound, from) }, stages, facts);
}

/** @property to `''` for a service outside of the mesh @property shared server names that another service has too */
type WayHead = {
  readonly outbound: Outbound;
  readonly from: string;
  readonly to: string;
  readonly callers: number;
  readonly shared: readonly SharedSni[];
};

function wayOf(head: WayHead, given: readonly (readonly Part[])[], facts: WayFacts): Way {
  const { outbound, from, to, callers, shared } = head;
  const { resource, port } = outbound;
  const stages = given.map((stage) => stage.map((part) => withoutTaken(part, shared)));
  const unheard = (part: Part): Part => {
    const why = facts.unheard(part.zone);
    return part.state === 'ok' && why !== '' ? { ...part, state: 'unknown', why: `${why}: this was its last state` } : part;
  };
  const parts = stages.flat();
  const isBroken = stages.some((stage) => stage.length > 0 && stage.every((part) => part.state === 'broken'));
  const isOld = parts.some(({ zone }) => facts.unheard(zone) !== '' || facts.unknown(zone) !== '');
  const state = isBroken ? 'broken' : isOld ? 'unknown' : parts.some((part) => part.state === 'broken') ? 'degraded' : 'ok';
  return {
    ...{ type: resource.type, service: displayNameOf(resource), port, from, to, state, callers },
    sharedSnis: shared.map(({ sni, other, isOwn }) => ({ sni, other: other.kri, isOwn })),
    parts: stages.flatMap((stage) => shown(stage.map(unheard))),
  };
}

/** A zone proxy leads to another service by the server name of an older one. */
function withoutTaken(part: Part, shared: readonly SharedSni[]): Part {
  const taken = shared.find(({ sni, isOwn }) => sni === part.sni && !isOwn);
  if (taken === undefined || part.state === 'broken') return part;
  const why = `its SNI leads to the older ${taken.other.kri}: give one of them another name`;
  return { ...part, state: 'broken', why };
}

type Caller = { readonly proxy: DataplaneProxy; readonly address: string };

/** The proxies of a zone that declare the port as an outbound. */
function callersOf(index: MeshIndex, outbound: Outbound, zone: string, only: DataplaneProxy | null = null): Caller[] {
  const resolver = new BackendResolver(index, zone);
  const name = displayNameOf(outbound.resource);
  return [...(only === null ? index.proxies() : [only])].flatMap((proxy) => {
    if (proxy.zone !== zone) return [];
    const declared = objectsOf(objectOf(proxy.resource.spec['networking'])['outbound']).find(({ backendRef }) => {
      const ref = targetRefOf(backendRef);
      // Most references name another service, and a lookup costs more than this check.
      if (ref.kind !== outbound.resource.type || (ref.labels === null && ref.name !== name)) return false;
      return resolver.find(serviceRefOf(backendRef), proxy)?.kri === outbound.kri;
    });
    if (declared !== undefined)
      return [{ proxy, address: placeText(textOf(declared['address']) || '127.0.0.1', numberOf(declared['port'])) }];
    if (!redirectsOutbounds(proxy.resource) || !portsOf(reachableFrom(index, proxy)).has(outbound.kri)) return [];
    // A global has no virtual addresses.
    const address = virtualAddress(outbound.resource);
    return [{ proxy, address: address === '' ? '' : placeText(address, outbound.port) }];
  });
}

/** The KRIs of the reachable ports. */
const portsOf = perObject(({ outbounds }: Reachable): ReadonlySet<string> => new Set(outbounds.map(({ kri }) => kri)));

function callerParts(
  index: MeshIndex,
  outbound: Outbound,
  zone: string,
  { isCrossing, facts }: { readonly isCrossing: boolean; readonly facts: WayFacts },
): [all: number, parts: Part[]] {
  const callers = callersOf(index, outbound, zone, facts.caller ?? null);
  if (callers.length === 0) {
    const why = 'no proxy of the zone declares it as an outbound, or reaches it with redirected connections';
    return [0, [{ part: 'caller', zone, name: '', address: '', state: 'unknown', why }]];
  }
  const parts = callers.map(({ proxy, address }): Part => {
    const name = proxy.displayName;
    const place = { part: 'caller', zone, name, address } as const;
    const found = connected(place, proxy, facts);
    if (!isCrossing || found.state === 'broken' || certifiedIdentity(index, proxy) !== null) return found;
    // Whether a MeshIdentity is ready is known in the zone alone.
    if (facts.asked === null && isNamedByIdentity(index, proxy))
      return { ...place, state: 'unknown', why: `ask the control plane of ${zone} whether its identity is ready` };
    const why = 'it has no identity, which a zone proxy needs: a MeshIdentity must select it';
    return { ...place, state: 'broken', why };
  });
  return [callers.length, parts];
}

function isNamedByIdentity(index: MeshIndex, { labels, zone }: DataplaneProxy): boolean {
  return [...index.resources('MeshIdentity')].some(
    (row) => homeZoneOf(row, zone) === zone && selectsProxy(parseMeshIdentity(asReady(row)), labels),
  );
}

function asReady(identity: Resource): Resource {
  return { ...identity, status: { conditions: [{ type: 'Ready', status: 'True' }] } };
}

function ingressParts(
  index: MeshIndex,
  outbound: Outbound,
  { from, to, members }: { from: string; to: string; members: readonly Resource[] },
  facts: WayFacts,
): Part[] {
  const problems: string[] = [];
  const sni = sniOf(outbound) ?? '';
  const part = { part: 'ingress', zone: to, sni } as const;
  const broken = (why: string): Part[] => [{ ...part, name: '', address: '', state: 'broken', why }];
  if (index.isDisabled(to)) return broken(`zone ${to} is disabled, and so its services are taken out of the others`);
  if (members.every(({ labels }) => labels[label.kdsSync] === 'disabled'))
    return broken(`it stays in zone ${to}: its label ${label.kdsSync} is disabled`);
  const reasons = members.map((member) => whyNotServing(index, member, outbound.port));
  const [reason] = reasons;
  if (reason !== undefined && reason !== null && !reasons.includes(null)) return broken(reason);
  const zones = otherZones(index, outbound, from, ({ reason: problem }) => problems.push(problem));
  const endpoints = zones.find(({ zone }) => zone === to)?.endpoints ?? [];
  if (endpoints.length === 0) return broken(problems[0] ?? withoutZoneProxy(index, to, 'ingress'));
  return endpoints.map(({ address, port }) => {
    const proxy = [...index.proxies()].find((one) => one.zone === to && isIngressAt(one, address, port));
    const place = { ...part, name: proxy?.displayName ?? '', address: placeText(address, port) };
    return proxy === undefined ? { ...place, state: 'ok', why: '' } : connected(place, proxy, facts);
  });
}

function isIngressAt({ resource }: DataplaneProxy, address: string, port: number): boolean {
  const networking = objectOf(resource.spec['networking']);
  const { advertisedAddress, advertisedPort } = objectOf(networking['zoneIngress']);
  if (advertisedAddress === address && advertisedPort === port) return true;
  return objectsOf(networking['listeners']).some((one) => one['type'] === 'ZoneIngress' && isAt(one, networking, address, port));
}

function isAt(listener: JsonObject, networking: JsonObject, address: string, port: number): boolean {
  return (textOf(listener['address']) || textOf(networking['address'])) === address && listener['port'] === port;
}

function egressPart(index: MeshIndex, outbound: Outbound, zone: string, { asked }: WayFacts): Part {
  const part = { part: 'egress', zone, name: '' } as const;
  const [idle] = runSteps(idleParts(index, outbound.resource));
  if (idle !== undefined) return { ...part, address: '', state: 'broken', why: `${idle.field} ${idle.reason}` };
  if (asked === null) {
    const why = `a zone does not publish its egress: ask the control plane of ${zone}`;
    return { ...part, address: '', state: 'unknown', why };
  }
  const problems: string[] = [];
  const found = egressOf(index, outbound, zone, ({ reason }) => problems.push(reason));
  if (found !== null) {
    const { endpoint, sni } = found;
    return { ...part, address: placeText(endpoint.address, endpoint.port), sni, state: 'ok', why: '' };
  }
  const hasPlace = outbound.resource.status['zoneEgress'] !== undefined;
  const why = hasPlace ? 'the egress has no identity: a MeshIdentity must select it' : withoutZoneProxy(index, zone, 'egress');
  return { ...part, address: '', state: 'broken', why: problems[0] ?? why };
}

/** The reason why a zone publishes no proxy of a kind. */
function withoutZoneProxy(index: MeshIndex, zone: string, kind: 'ingress' | 'egress'): string {
  const [section, field] = kind === 'ingress' ? ['ZoneIngress', 'zoneIngress'] : ['ZoneEgress', 'zoneEgress'];
  const proxies = [...index.proxies()].filter((one) => one.zone === zone && one.sections.some((own) => own.kind === section));
  const none = `zone ${zone} has no ready ${kind}`;
  const [first] = proxies;
  if (first === undefined) return `${none}: give a Dataplane of its mesh there networking.${field}`;
  if (kind === 'egress' && proxies.every((proxy) => certifiedIdentity(index, proxy) === null))
    return 'the egress has no identity: a MeshIdentity must select it';
  return `${none}: ${first.displayName} is not connected, or its Envoy has not accepted its listener`;
}

/** The SPIFFE IDs of the proxies of a zone that declare the port, as far as they are known. */
function clientIds(index: MeshIndex, outbound: Outbound, zone: string, only: DataplaneProxy | null): string[] {
  const ids = callersOf(index, outbound, zone, only).flatMap(({ proxy }) => certifiedIdentity(index, proxy)?.spiffeId ?? []);
  return [...new Set(ids)].slice(0, MAX_SHOWN);
}

/** @property clients SPIFFE IDs */
type Served = { readonly zone: string; readonly clients: readonly string[] };

function serverParts(
  index: MeshIndex,
  members: readonly Resource[],
  port: number,
  { zone, clients }: Served,
  facts: WayFacts,
): Part[] {
  const part = { part: 'server', zone } as const;
  if (facts.asked !== null && facts.asked !== zone) {
    const isAvailable = members.some(({ spec }) => spec['state'] !== 'Unavailable');
    const why = isAvailable ? `ask the control plane of ${zone} for its servers` : `zone ${zone} says that none is available`;
    return [{ ...part, name: '', address: '', state: isAvailable ? 'unknown' : 'broken', why }];
  }
  const servers = members.flatMap((member) => serversOf(index, member, port).map((server) => ({ ...server, member })));
  if (servers.length === 0)
    return [{ ...part, name: '', address: '', state: 'broken', why: 'its selector finds no Dataplane with inbounds' }];
  return servers.map((server): Part => {
    const { proxy, ready, silent, member } = server;
    const [first] = ready.length > 0 ? ready : silent;
    const place = { ...part, name: proxy.displayName, address: first === undefined ? '' : placeText(first.address, first.port) };
    if (ready.length === 0) return { ...place, state: 'broken', why: whyUnready(server, port) };
    // The identities of other zones are theirs.
    if (facts.asked === zone && !isCalled(index, member, proxy)) return { ...place, state: 'broken', why: NO_IDENTITY };
    const why = clients.length === 0 ? null : deniedAll(index, { proxy, members, port }, clients);
    return why === null ? connected(place, proxy, facts) : { ...place, state: 'broken', why };
  });
}

function whyUnready({ proxy, target }: Server, port: number): string {
  const inbounds = objectsOf(objectOf(proxy.resource.spec['networking'])['inbound']);
  const silent = silentApplications(proxy.resource).find(({ inbound }) => {
    const { port: ownPort, name } = inbounds[inbound] ?? {};
    return typeof target === 'number' ? ownPort === target : name === target;
  });
  return silent?.reason ?? `it has no ready inbound for port ${String(port)}`;
}

type Serving = { readonly proxy: DataplaneProxy; readonly members: readonly Resource[]; readonly port: number };

/** The reason why a server denies each client; null while it may permit one. */
function deniedAll(index: MeshIndex, { proxy, members, port }: Serving, clients: readonly string[]): string | null {
  const given = members.flatMap(({ spec }) => objectsOf(spec['ports'])).find((one) => one['port'] === port);
  const reasons = clients.map((client) => whyDenied(index, proxy, given?.['targetPort'] ?? port, client));
  return reasons.includes(null) ? null : (reasons[0] ?? null);
}

/** A Dataplane without an insight was written by a person, and its proxy may be one of another program. */
function connected(place: Omit<Part, 'state' | 'why'>, { resource }: DataplaneProxy, { isOnline, unknown }: WayFacts): Part {
  const isConnected = isOnline(resource.name);
  if (isConnected === true) return { ...place, state: 'ok', why: '' };
  if (isConnected === false) return { ...place, state: 'broken', why: 'its proxy is not connected' };
  return { ...place, state: 'unknown', why: unknown(place.zone) || 'its proxy has never connected' };
}

/** The parts that are shown, those with a problem first. */
function shown(parts: readonly Part[]): Part[] {
  const order = { broken: 0, unknown: 1, ok: 2 };
  return parts.toSorted((a, b) => order[a.state] - order[b.state] || compareText(a.name, b.name)).slice(0, MAX_SHOWN);
}

function placeText(address: string, port: number): string {
  return `${address.includes(':') ? `[${address}]` : address}:${String(port)}`;
}
