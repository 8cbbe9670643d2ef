// A Cluster: how a proxy connects to one port of a service, or to its own application (xds 3.1, 3.2).
import { FROM_ADS, given, socketAddress, typed } from '../envoy/proto-json.ts';
import type { Protocol } from '../envoy/protocol.ts';
import { clusterFields, clusterHttpFields, NO_CONFS, type ConfsInForce } from '../policies/parts.ts';
import type { ClusterPlace } from '../policies/policy-definition.ts';
import type { JsonObject } from '../resource/types.ts';

const HTTP_OPTIONS = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';
const HTTP_OPTIONS_TYPE = 'extensions.upstreams.http.v3.HttpProtocolOptions';

/**
 * A cluster of a service: its endpoints come by EDS. Proxies of the mesh speak HTTP/2 to each other; an egress passes on the protocol
 * of the external service.
 * @param place `client`: the proxy that sends requests; health checks carry its labels
 */
export function serviceCluster(
  name: string,
  confOf: ConfsInForce,
  place: Omit<ClusterPlace, 'direction'>,
  { isExternal }: { readonly isExternal: boolean },
): JsonObject {
  const http = isExternal ? httpOptions(place.protocol) : { http2ProtocolOptions: {} };
  return {
    name,
    type: 'EDS',
    edsClusterConfig: { edsConfig: FROM_ADS },
    ...settings(confOf, { ...place, direction: 'outbound' }, http),
  };
}

/** The cluster of an inbound: the application behind the proxy. */
export function applicationCluster(
  name: string,
  confOf: ConfsInForce,
  place: Omit<ClusterPlace, 'direction'>,
  at: { readonly address: string; readonly port: number },
): JsonObject {
  const lbEndpoints = [{ endpoint: { address: socketAddress(at.address, at.port) } }];
  return {
    name,
    type: 'STATIC',
    loadAssignment: { clusterName: name, endpoints: [{ lbEndpoints }] },
    ...settings(confOf, { ...place, direction: 'inbound' }, httpOptions(place.protocol)),
  };
}

/** The version of HTTP that a server speaks; null for TCP. */
function httpOptions(protocol: Protocol): JsonObject | null {
  if (protocol === 'tcp') return null;
  return protocol === 'http' ? { httpProtocolOptions: {} } : { http2ProtocolOptions: {} };
}

/**
 * A cluster that connects to the address that the client meant.
 * @param http the version of HTTP: that of the client, or HTTP/2; null for bytes
 */
export function originalDestination(name: string, http: 'http' | 'http2' | null = null): JsonObject {
  const both = { httpProtocolOptions: {}, http2ProtocolOptions: {} };
  const options: JsonObject =
    http === 'http' ? { useDownstreamProtocolConfig: both } : { explicitHttpConfig: { http2ProtocolOptions: {} } };
  return {
    name,
    type: 'ORIGINAL_DST',
    lbPolicy: 'CLUSTER_PROVIDED',
    ...outsideCluster('tcp'),
    ...(http !== null && { typedExtensionProtocolOptions: { [HTTP_OPTIONS]: typed(HTTP_OPTIONS_TYPE, options) } }),
  };
}

/** A cluster without any server. */
export function emptyCluster(name: string): JsonObject {
  return { name, type: 'STATIC', ...outsideCluster('tcp') };
}

/** The settings of a cluster outside of the mesh that has no policies. */
export function outsideCluster(protocol: Protocol): JsonObject {
  return externalSettings(NO_CONFS, { protocol, client: { labels: {} } });
}

/** The settings of the cluster of an external service at an egress. @param place `client`: the egress */
export function externalSettings(confOf: ConfsInForce, place: Omit<ClusterPlace, 'direction'>): JsonObject {
  return settings(confOf, { ...place, direction: 'egress' }, httpOptions(place.protocol));
}

/** What policies write, and the protocol. @param explicitHttpConfig null: bytes */
function settings(confOf: ConfsInForce, place: ClusterPlace, explicitHttpConfig: JsonObject | null): JsonObject {
  const common = place.protocol === 'tcp' ? {} : clusterHttpFields(confOf, place);
  const commonHttpProtocolOptions = Object.keys(common).length === 0 ? undefined : common;
  return given({
    ...clusterFields(confOf, place),
    typedExtensionProtocolOptions:
      explicitHttpConfig === null
        ? undefined
        : { [HTTP_OPTIONS]: typed(HTTP_OPTIONS_TYPE, given({ commonHttpProtocolOptions, explicitHttpConfig })) },
  });
}
