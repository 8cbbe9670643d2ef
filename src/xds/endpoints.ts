// The endpoints of one port of a service, as load assignments: by locality and priority (policies 5, xds 3.2, 3.3).
import { perObject } from '../base/per-object.ts';
import type { Client } from './client.ts';
import type { Endpoint, OtherZone } from './servers.ts';
import type { Conf } from '../policies/confs.ts';
import type { JsonObject } from '../resource/types.ts';
import { decimal, socketAddress } from '../envoy/proto-json.ts';

/** The servers of a port, as a client may reach them. @property silent they have requests where there is no other server */
export type Servers = {
  readonly local: readonly Endpoint[];
  readonly silent?: readonly Endpoint[];
  readonly others: readonly OtherZone[];
};

/** Envoy sums weights up to 32 bits. */
const MAX_EXPONENT = 7;

type Strategy = Conf<'MeshLoadBalancingStrategy'>;
type Locality = NonNullable<Strategy['localityAwareness']>;
type AffinityTag = { readonly key: string; readonly value: string; readonly weight: number };

/**
 * The load assignment of a port of a service, for one client.
 * @param client the proxy that sends requests
 * @param balancing MeshLoadBalancingStrategy in force
 * @param isChoice the service is in several zones: the strategy says which of them serve
 */
export function loadAssignment(
  name: string,
  { local, silent = [], others }: Servers,
  client: Client,
  { balancing, isChoice }: { readonly balancing: Strategy; readonly isChoice: boolean },
): JsonObject {
  const locality = balancing.localityAwareness ?? {};
  const weight = isWeighted(locality) ? { loadBalancingWeight: 1 } : {};
  const failover = others.flatMap(({ zone, endpoints }) => {
    const priority = priorityOf(zone, client.zone, locality, isChoice);
    if (priority === null) return [];
    return [{ locality: { zone }, lbEndpoints: endpoints.map(lbEndpoint), ...weight, ...(priority > 0 && { priority }) }];
  });
  const serving = [...localitiesOf(local, client, locality), ...failover];
  const groups = serving.length > 0 ? serving : localitiesOf(silent, client, locality);
  const factor = overprovisioning(locality);
  return {
    clusterName: name,
    ...(groups.length > 0 && { endpoints: groups }),
    ...(factor !== null && { policy: { overprovisioningFactor: factor } }),
  };
}

/** The load assignment of a service behind one endpoint. */
export function singleAssignment(name: string, endpoint: Endpoint | null): JsonObject {
  return { clusterName: name, ...(endpoint !== null && { endpoints: [{ lbEndpoints: [lbEndpoint(endpoint)] }] }) };
}

/** `{commonLbConfig}` of a cluster whose endpoints have weights by locality. */
export function localityWeights({ localityAwareness }: Strategy): JsonObject {
  return isWeighted(localityAwareness ?? {}) ? { localityWeightedLbConfig: {} } : {};
}

function localitiesOf(endpoints: readonly Endpoint[], client: Client, locality: Locality): JsonObject[] {
  const { zone } = client;
  if (!isWeighted(locality))
    return endpoints.length === 0 ? [] : [{ locality: { zone }, lbEndpoints: endpoints.map(lbEndpoint) }];
  const tags = affinityTags(client, locality);
  const groups = Map.groupBy(endpoints, ({ labels }) => tags.find(({ key, value }) => labels[key] === value) ?? null);
  return [...tags, null].flatMap((tag) => {
    const found = groups.get(tag) ?? [];
    if (found.length === 0) return [];
    const subZone = tag === null ? {} : { subZone: `${tag.key}=${tag.value}` };
    return [
      { locality: { zone, ...subZone }, lbEndpoints: found.map(lbEndpoint), loadBalancingWeight: tag === null ? 1 : tag.weight },
    ];
  });
}

/**
 * The priority of another zone; null where no request goes there. By default it takes over when the own zone fails.
 * @param from zone of the client
 */
function priorityOf(zone: string, from: string, locality: Locality, isChoice: boolean): number | null {
  const { disabled, localZone, crossZone } = locality;
  if (disabled === true) return 0;
  // A service of one other zone has no other way.
  if (!isChoice || (localZone === undefined && crossZone === undefined)) return 1;
  const rules = crossZone?.failover ?? [];
  for (const [at, { from: given, to }] of rules.entries()) {
    if (given !== undefined && !given.zones.includes(from)) continue;
    const { type, zones = [] } = to;
    if (type === 'None') return null;
    if (type === 'Any' || zones.includes(zone) === (type === 'Only')) return at + 1;
  }
  return null;
}

function isWeighted({ disabled, localZone }: Locality): boolean {
  return disabled !== true && (localZone?.affinityTags ?? []).length > 0;
}

/** The affinity tags that the client has, with their weights; without written weights … 900, 90, 9 (policies 5). */
function affinityTags({ labels }: Client, { localZone }: Locality): AffinityTag[] {
  return (localZone?.affinityTags ?? []).flatMap(({ key, weight: written }, at, { length }) => {
    const value = labels[key];
    const weight = written ?? 9 * 10 ** Math.min(length - 1 - at, MAX_EXPONENT);
    return value === undefined ? [] : [{ key, value, weight }];
  });
}

/** 100 / threshold: Envoy leaves a priority when fewer endpoints than this are healthy. */
function overprovisioning({ disabled, localZone, crossZone }: Locality): number | null {
  if (disabled === true || (localZone === undefined && crossZone === undefined)) return null;
  const threshold = decimal(crossZone?.failoverThreshold?.percentage);
  return threshold === undefined ? 200 : Math.floor(100 / threshold) * 100;
}

/** The load assignment of a zone ingress: the ready instances of its zone. */
export function zoneAssignment(name: string, zone: string, endpoints: readonly Endpoint[]): JsonObject {
  const groups = [{ locality: { zone }, lbEndpoints: endpoints.map(lbEndpoint) }];
  return { clusterName: name, ...(endpoints.length > 0 && { endpoints: groups }) };
}

/** Matches the endpoints that are marked for TLS. No label has a space. */
export const TLS_MARK: JsonObject = { 'accepts TLS': 'true' };

/** The same object for the same endpoint: it is encoded once. */
const lbEndpoint = perObject(({ address, port, labels, isTls }: Endpoint): JsonObject => {
  const matched = isTls === true ? { ...labels, ...TLS_MARK } : labels;
  return {
    endpoint: { address: socketAddress(address, port) },
    metadata: { filterMetadata: { 'envoy.lb': labels, 'envoy.transport_socket_match': matched } },
    loadBalancingWeight: 1,
  };
});
