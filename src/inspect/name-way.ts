// The way of a name that an application calls: the name, its address, the listener there, its routes, and the ways to the servers, each with
// its state. Pure. It is computed with the code that configures the proxy.
import type { Answer } from '../answers/answers.ts';
import { buildRules, type ProxyRules } from '../policy/build-rules.ts';
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import { effectiveOutbound } from '../policy/effective-conf.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import { outboundsTo, type Outbound } from '../policy/outbounds.ts';
import { outboundsOf } from '../policy/proxy-outbounds.ts';
import { redirectsOutbounds } from '../policy/transparent-proxying.ts';
import { displayNameOf } from '../resource/labels.ts';
import { objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import { SERVICE_TYPES } from '../resource/type-registry.ts';
import type { Resource } from '../resource/types.ts';
import { virtualAddress } from '../resource/virtual-address.ts';
import { BackendResolver } from '../xds/backends.ts';
import { placeName } from '../xds/listener-place.ts';
import { destinationsOf } from '../xds/route-config.ts';
import { listedOutbounds, type ListedOutbounds } from '../xds/listed-outbounds.ts';
import { byPrecedence, hostnamesOf } from '../xds/name-table.ts';
import { virtualOutbounds } from '../xds/virtual-outbounds.ts';
import { usableOutbound, type UsableOutbound } from '../xds/usable-routes.ts';
import type { ProxyProblem } from './proxy-problems.ts';
import { proxiesOnWays, waysTo, type Way, type WayFacts } from './service-ways.ts';

type NameWay = Answer<'NameWay'>;
type Part = NameWay['parts'][number];

export type NameFacts = WayFacts & {
  /** Those of the proxy. */
  readonly problems: readonly ProxyProblem[];
};

/** Names that are shown where the asked one does not exist. */
const MAX_SIMILAR = 3;

/** @param hostname in lower case, without the dot at its end */
export function nameWay(index: MeshIndex, proxy: DataplaneProxy, hostname: string, facts: NameFacts): NameWay {
  const head = { hostname, dataplane: proxy.displayName, zone: proxy.zone };
  const [service, ...others] = servicesNamed(index, proxy, hostname);
  if (service === undefined) {
    const parts: Part[] = [{ part: 'name', value: hostname, state: 'broken', why: whyNoName(index, proxy, hostname) }];
    return { ...head, state: 'broken', parts, ways: [] };
  }
  const named: Part = {
    part: 'name',
    value: `${service.type} ${displayNameOf(service)}`,
    state: 'ok',
    why: others.length === 0 ? '' : `${others.map(serviceText).join(', ')} has this name too, and is not called by it`,
  };
  const rules = buildRules(index, proxy);
  const resolver = new BackendResolver(index, proxy.zone);
  const listed = listedOutbounds(index, proxy, resolver);
  const found = outboundsTo(index, service).map((outbound) => wayOfPort({ index, rules, resolver, listed }, outbound, facts));
  const parts = [named, addressPart(service, proxy, facts), ...found.flatMap((port) => port.parts)];
  const services = [...new Set(found.flatMap(({ destinations }) => destinations.map(({ resource }) => resource)))];
  const ways = services
    .flatMap((resource) => waysTo(index, resource, { ...facts, zones: [proxy.zone], caller: proxy }))
    .filter((way) => found.some(({ destinations }) => destinations.some((one) => isWayTo(way, one))));
  return { ...head, state: stateOf(parts, ways), parts, ways };
}

/** The Dataplanes whose insights tell about the parts of the way: the proxy itself, and those behind the services with the name. */
export function proxiesOnNameWay(index: MeshIndex, proxy: DataplaneProxy, hostname: string): DataplaneProxy[] {
  const rules = buildRules(index, proxy);
  const resolver = new BackendResolver(index, proxy.zone);
  const destinations = servicesNamed(index, proxy, hostname)
    .flatMap((service) => outboundsTo(index, service))
    .flatMap((outbound) => routed(index, rules, resolver, outbound).destinations);
  const services = [...new Set(destinations.map(({ resource }) => resource))];
  return [...new Set([proxy, ...services.flatMap((service) => proxiesOnWays(index, service, [proxy.zone], proxy))])];
}

function stateOf(parts: readonly Part[], ways: readonly Way[]): NameWay['state'] {
  if (parts.some(({ part, state }) => state === 'broken' && (part === 'name' || part === 'address'))) return 'broken';
  const listeners = parts.filter(({ part }) => part === 'listener');
  if (listeners.every(({ state }) => state === 'broken') || (ways.length > 0 && ways.every(({ state }) => state === 'broken')))
    return 'broken';
  const isPartly =
    parts.some(({ state }) => state === 'broken') || ways.some(({ state }) => state === 'broken' || state === 'degraded');
  if (isPartly) return 'degraded';
  return [...parts, ...ways].some(({ state }) => state === 'unknown') ? 'unknown' : 'ok';
}

function isWayTo(way: Way, { resource, port }: Outbound): boolean {
  return way.type === resource.type && way.service === displayNameOf(resource) && way.port === port;
}

/** The services that have the name. The first is called by it. */
function servicesNamed(index: MeshIndex, proxy: DataplaneProxy, hostname: string): Resource[] {
  const named = servicesOf(index, proxy).filter((service) => hostnamesOf(service).includes(hostname));
  const reached = new Set([...(virtualOutbounds(index, proxy)?.byKri.values() ?? [])].map(({ outbound }) => outbound.resource));
  // A service that the proxy does not reach takes no name from another one.
  return named.sort((a, b) => Number(reached.has(b)) - Number(reached.has(a)) || byPrecedence(a, b));
}

function servicesOf(index: MeshIndex, { zone }: DataplaneProxy): Resource[] {
  return SERVICE_TYPES.flatMap((type) => [...index.visible(type, zone)]);
}

function serviceText(service: Resource): string {
  return `${service.type} ${displayNameOf(service)}`;
}

function whyNoName(index: MeshIndex, proxy: DataplaneProxy, hostname: string): string {
  const services = servicesOf(index, proxy);
  for (const service of services)
    for (const generator of objectsOf(service.status['hostnameGenerators']))
      for (const { status, message } of objectsOf(generator['conditions']))
        if (status === 'False' && textOf(message).includes(hostname)) {
          const by = textOf(objectOf(generator['hostnameGeneratorRef'])['coreName']);
          return `HostnameGenerator ${by} does not give it to ${serviceText(service)}: ${textOf(message)}`;
        }
  const [first = ''] = hostname.split('.');
  const names = services.flatMap(hostnamesOf);
  const similar = names.filter((name) => name.split('.')[0] === first).slice(0, MAX_SIMILAR);
  const none = `no service of mesh ${index.mesh} has this name in zone ${proxy.zone}`;
  if (similar.length > 0) return `${none}; there is ${similar.join(', ')}`;
  return names.length === 0
    ? `${none}, and none has any: a HostnameGenerator gives names`
    : `${none}: HostnameGenerators give names, and \`meridian get meshservices --mesh ${index.mesh}\` lists the services`;
}

function addressPart(service: Resource, proxy: DataplaneProxy, { asked }: NameFacts): Part {
  const value = virtualAddress(service);
  const part = { part: 'address', value } as const;
  if (!redirectsOutbounds(proxy.resource)) {
    const why =
      'the connections of its machine are not redirected: set networking.transparentProxying, or list the service in networking.outbound';
    return { ...part, state: 'broken', why };
  }
  if (value !== '') return { ...part, state: 'ok', why: '' };
  if (asked === null)
    return { ...part, state: 'unknown', why: `addresses are those of a zone: ask the control plane of ${proxy.zone}` };
  return { ...part, state: 'broken', why: 'the zone has no free address for it: make the network of its type larger (ipam)' };
}

type PortWay = { readonly parts: readonly Part[]; readonly destinations: readonly Outbound[] };

type Called = {
  readonly index: MeshIndex;
  readonly rules: ProxyRules;
  readonly resolver: BackendResolver;
  readonly listed: ListedOutbounds;
};

function wayOfPort(called: Called, outbound: Outbound, facts: NameFacts): PortWay {
  const { index, rules, resolver } = called;
  const listener = listenerPart(called, outbound, facts);
  if (listener.state === 'broken') return { parts: [listener], destinations: [] };
  const { usable, destinations, problems } = routed(index, rules, resolver, outbound);
  const route: Part = {
    part: 'route',
    value: `${routesText(usable)} → ${destinations.map(portText).join(', ') || 'nothing'}`,
    state: destinations.length === 0 || problems.length > 0 ? 'broken' : 'ok',
    why: problems[0] ?? '',
  };
  return { parts: [listener, route], destinations };
}

type Routed = {
  readonly usable: UsableOutbound;
  readonly destinations: readonly Outbound[];
  readonly problems: readonly string[];
};

function routed(index: MeshIndex, rules: ProxyRules, resolver: BackendResolver, outbound: Outbound): Routed {
  const problems: string[] = [];
  const usable = usableOutbound(effectiveOutbound(index, rules, outbound), resolver, ({ policy, field, reason }) => {
    problems.push(`${policy ?? ''} ${field} ${reason}`.trim());
  });
  const isTcp = usable.routes.some(({ kind }) => kind === 'MeshTCPRoute');
  return { usable, problems, destinations: destinationsOf(usable, isTcp ? 'MeshTCPRoute' : 'MeshHTTPRoute', resolver) };
}

function listenerPart({ index, rules: { proxy }, listed }: Called, outbound: Outbound, facts: NameFacts): Part {
  const { asked, problems, isOnline } = facts;
  const address = virtualAddress(outbound.resource);
  const part = { part: 'listener', value: address === '' ? portText(outbound) : placeName(address, outbound.port) } as const;
  // A global has no virtual addresses.
  const isReached =
    asked === null
      ? outboundsOf(index, proxy).some(({ kri }) => kri === outbound.kri)
      : listed.byKri.get(outbound.kri)?.places.some(({ isBound }) => !isBound) === true;
  if (!isReached) return { ...part, state: 'broken', why: whyUnreached(listed, outbound) };
  const refused = problems.find(({ kind, at }) => kind === 'refused' && at.includes(outbound.kri));
  if (refused !== undefined) return { ...part, state: 'broken', why: `its Envoy refuses it: ${refused.reason}` };
  const connected = isOnline(proxy.resource.name);
  if (connected === false) return { ...part, state: 'broken', why: 'its proxy is not connected' };
  if (connected === undefined) return { ...part, state: 'unknown', why: 'its proxy has never connected' };
  return { ...part, state: 'ok', why: '' };
}

/** The reason why a port has no listener at its virtual address. */
function whyUnreached({ problems }: ListedOutbounds, { kri }: Outbound): string {
  const known = problems.find(({ unlisted }) => unlisted === kri);
  return known?.reason ?? 'the reachableBackends of its Dataplane do not name it';
}

/** `kri_mhttpr_…, kri_mhttpr_…`, or `no route`. */
function routesText({ routes }: UsableOutbound): string {
  return [...new Set(routes.map(({ route }) => route.kri))].join(', ') || 'no route';
}

function portText({ resource, port }: Outbound): string {
  return `${resource.type} ${displayNameOf(resource)}:${String(port)}`;
}
