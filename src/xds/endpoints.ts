// The endpoints of one port of a service, as load assignments (xds 3.2). In one zone: endpoints of other zones have no place yet.
import type { MeshIndex } from '../policy/mesh-index.ts';
import { memberServices, selectedDataplanes } from '../policy/services.ts';
import type { Outbound } from '../policy/outbounds.ts';
import type { Client } from './client.ts';
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import { isObject, numberOf, objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import type { Json, JsonObject, Labels, Resource } from '../resource/types.ts';
import { decimal, socketAddress } from './proto-json.ts';
import { inboundAddressProblem } from './socket-address.ts';

type Endpoint = { readonly address: string; readonly port: number; readonly labels: Labels };
type AffinityTag = { readonly key: string; readonly value: string; readonly weight: number };

/**
 * The load assignment of a port of a service, for one client.
 * @param client the proxy that sends requests
 * @param balancing MeshLoadBalancingStrategy in force
 */
export function loadAssignment(index: MeshIndex, client: Client, outbound: Outbound, balancing: JsonObject): JsonObject {
  const endpoints = endpointsOf(index, outbound);
  const locality = objectOf(balancing['localityAwareness']);
  const groups = localitiesOf(endpoints, client, locality);
  const factor = overprovisioning(locality);
  return {
    clusterName: outbound.kri,
    ...(groups.length > 0 && { endpoints: groups }),
    ...(factor !== null && { policy: { overprovisioningFactor: factor } }),
  };
}

/** `{commonLbConfig}` of a cluster whose endpoints have weights by locality. */
export function localityWeights(client: Client, balancing: JsonObject): JsonObject {
  const isWeighted = affinityTags(client, objectOf(balancing['localityAwareness'])).length > 0;
  return isWeighted ? { localityWeightedLbConfig: {} } : {};
}

function localitiesOf(endpoints: readonly Endpoint[], client: Client, locality: JsonObject): JsonObject[] {
  const { zone } = client;
  const tags = affinityTags(client, locality);
  const lbEndpoints = (some: readonly Endpoint[]): JsonObject[] => some.map(lbEndpoint);
  if (tags.length === 0) return endpoints.length === 0 ? [] : [{ locality: { zone }, lbEndpoints: lbEndpoints(endpoints) }];
  const groups = Map.groupBy(endpoints, ({ labels }) => tags.find(({ key, value }) => labels[key] === value) ?? null);
  return [...tags, null].flatMap((tag) => {
    const found = groups.get(tag) ?? [];
    if (found.length === 0) return [];
    const subZone = tag === null ? {} : { subZone: `${tag.key}=${tag.value}` };
    return [
      { locality: { zone, ...subZone }, lbEndpoints: lbEndpoints(found), loadBalancingWeight: tag === null ? 1 : tag.weight },
    ];
  });
}

/** The affinity tags that the client has, with their weights; without written weights 90, 9, 1 … (policies 5). */
function affinityTags(client: Client, { disabled, localZone }: JsonObject): AffinityTag[] {
  const given = disabled === true ? [] : objectsOf(objectOf(localZone)['affinityTags']);
  if (given.length === 0) return [];
  const { labels } = client;
  return given.flatMap((tag, at) => {
    const key = textOf(tag['key']);
    const value = labels[key];
    const weight = typeof tag['weight'] === 'number' ? tag['weight'] : Math.max(1, Math.floor(90 / 10 ** at));
    return value === undefined ? [] : [{ key, value, weight }];
  });
}

/** 100 / threshold: Envoy leaves a priority when fewer endpoints than this are healthy. */
function overprovisioning({ disabled, localZone, crossZone }: JsonObject): number | null {
  if (disabled === true || (!isObject(localZone) && !isObject(crossZone))) return null;
  const threshold = decimal(objectOf(objectOf(crossZone)['failoverThreshold'])['percentage']);
  return threshold === undefined ? 200 : Math.floor(100 / threshold) * 100;
}

function lbEndpoint({ address, port, labels }: Endpoint): JsonObject {
  return {
    endpoint: { address: socketAddress(address, port) },
    metadata: { filterMetadata: { 'envoy.lb': labels, 'envoy.transport_socket_match': labels } },
    loadBalancingWeight: 1,
  };
}

function endpointsOf(index: MeshIndex, { resource, port }: Outbound): Endpoint[] {
  if (resource.type === 'MeshService') return endpointsOfService(index, resource, port);
  if (resource.type === 'MeshMultiZoneService')
    return memberServices(index, resource).flatMap((service) => endpointsOfService(index, service, port));
  // An external service is reached through a zone egress.
  return [];
}

function endpointsOfService(index: MeshIndex, service: Resource, port: number): Endpoint[] {
  const found = objectsOf(service.spec['ports']).find((candidate) => candidate['port'] === port);
  if (found === undefined) return [];
  const target = found['targetPort'] ?? port;
  const protocol = textOf(found['appProtocol']) || 'tcp';
  return selectedDataplanes(index, service).flatMap((proxy) => inboundEndpoints(proxy, target, protocol));
}

/** The ready inbounds that a target port means, by name or by number. */
function inboundEndpoints(proxy: DataplaneProxy, target: Json, protocol: string): Endpoint[] {
  const networking = objectOf(proxy.resource.spec['networking']);
  const address = textOf(networking['advertisedAddress']) || textOf(networking['address']);
  return objectsOf(networking['inbound']).flatMap((inbound) => {
    const isTarget = typeof target === 'number' ? inbound['port'] === target : inbound['name'] === target;
    if (!isTarget || !isReady(inbound)) return [];
    const at = textOf(inbound['address']) || address;
    const port = numberOf(inbound['port']);
    if (inboundAddressProblem(at, port) !== null) return [];
    const labels = { ...proxy.labels, 'kuma.io/protocol': textOf(inbound['protocol']) || protocol };
    return [{ address: at, port, labels }];
  });
}

/** `state`, and the older `health`: a field that exists without `ready: true` means not ready (kds-wire 4.2). */
function isReady({ state, health }: JsonObject): boolean {
  if (state === 'Ignored' || state === 'NotReady') return false;
  return health === undefined || objectOf(health)['ready'] === true;
}
