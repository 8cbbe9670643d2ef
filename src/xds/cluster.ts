// A Cluster: how a proxy connects to one port of a service, or to its own application (xds 3.1, 3.2).
import type { EffectivePolicy } from '../policy/effective-conf.ts';
import { objectOf } from '../resource/read-json.ts';
import type { Conf } from '../policies/confs.ts';
import type { JsonObject } from '../resource/types.ts';
import { connectionLimits, outlierDetection } from '../policies/mesh-circuit-breaker/envoy.ts';
import { healthChecks } from '../policies/mesh-health-check/envoy.ts';
import { loadBalancer } from '../policies/mesh-load-balancing-strategy/envoy.ts';
import type { Client } from './client.ts';
import type { Protocol } from '../envoy/protocol.ts';
import { duration, FROM_ADS, given, socketAddress, typed } from '../envoy/proto-json.ts';
import { confOf } from './conf-of.ts';

/** The confs in force on a cluster, by policy type; `{}` where none is. */
export type ClusterConf = {
  readonly timeout: Conf<'MeshTimeout'>;
  readonly circuitBreaker: Conf<'MeshCircuitBreaker'>;
  readonly healthCheck: Conf<'MeshHealthCheck'>;
  readonly loadBalancing: Conf<'MeshLoadBalancingStrategy'>;
};

/** The confs of the policies in force on a service. */
export function clusterConf(policies: readonly Pick<EffectivePolicy, 'type' | 'conf'>[]): ClusterConf {
  return {
    timeout: confOf(policies, 'MeshTimeout'),
    circuitBreaker: confOf(policies, 'MeshCircuitBreaker'),
    healthCheck: confOf(policies, 'MeshHealthCheck'),
    loadBalancing: confOf(policies, 'MeshLoadBalancingStrategy'),
  };
}

/** A gRPC stream may be silent for long: MeshTimeout does not shorten this. */
const GRPC_IDLE = '7200s';

const HTTP_OPTIONS = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';
const HTTP_OPTIONS_TYPE = 'extensions.upstreams.http.v3.HttpProtocolOptions';

/**
 * A cluster of a service: its endpoints come by EDS. Proxies of the mesh speak HTTP/2 to each other; an egress passes on the protocol
 * of the external service.
 * @param to `client`: the proxy that sends requests; health checks carry its labels
 */
export function serviceCluster(
  name: string,
  protocol: Protocol,
  conf: ClusterConf,
  { client, isExternal }: { readonly client: Client; readonly isExternal: boolean },
): JsonObject {
  const { healthCheck, loadBalancing, circuitBreaker } = conf;
  return merged([
    {
      name,
      type: 'EDS',
      edsClusterConfig: { edsConfig: FROM_ADS },
      ...common(protocol, conf, isExternal ? httpOptions(protocol) : { http2ProtocolOptions: {} }),
    },
    healthChecks(healthCheck, protocol, client),
    outlierDetection(circuitBreaker),
    loadBalancer(loadBalancing),
  ]);
}

/** The cluster of an inbound: the application behind the proxy. */
export function applicationCluster(
  name: string,
  protocol: Protocol,
  at: { readonly address: string; readonly port: number },
  conf: Pick<ClusterConf, 'timeout' | 'circuitBreaker'>,
): JsonObject {
  const lbEndpoints = [{ endpoint: { address: socketAddress(at.address, at.port) } }];
  return merged([
    {
      name,
      type: 'STATIC',
      loadAssignment: { clusterName: name, endpoints: [{ lbEndpoints }] },
      ...common(protocol, conf, httpOptions(protocol), protocol === 'grpc' ? { idleTimeout: GRPC_IDLE } : undefined),
    },
    outlierDetection(conf.circuitBreaker),
  ]);
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
  return common(protocol, { timeout: {}, circuitBreaker: {} }, httpOptions(protocol));
}

/** The settings of the cluster of an external service at an egress. @param client the egress: health checks carry its labels */
export function externalSettings(protocol: Protocol, conf: ClusterConf, client: Client): JsonObject {
  return merged([
    common(protocol, conf, httpOptions(protocol)),
    healthChecks(conf.healthCheck, protocol, client),
    outlierDetection(conf.circuitBreaker),
    loadBalancer(conf.loadBalancing),
  ]);
}

function common(
  protocol: Protocol,
  { timeout, circuitBreaker }: Pick<ClusterConf, 'timeout' | 'circuitBreaker'>,
  explicitHttpConfig: JsonObject | null,
  grpcOptions?: JsonObject,
): JsonObject {
  const commonHttpProtocolOptions =
    protocol === 'http' || protocol === 'http2'
      ? {
          idleTimeout: duration(timeout.idleTimeout, '3600s'),
          maxConnectionDuration: duration(timeout.http?.maxConnectionDuration, '0s'),
          maxStreamDuration: duration(timeout.http?.maxStreamDuration, '0s'),
        }
      : grpcOptions;
  return given({
    connectTimeout: duration(timeout.connectionTimeout, '5s'),
    circuitBreakers: { thresholds: [{ ...connectionLimits(circuitBreaker), trackRemaining: true }] },
    typedExtensionProtocolOptions:
      explicitHttpConfig === null
        ? undefined
        : {
            [HTTP_OPTIONS]: typed(HTTP_OPTIONS_TYPE, given({ commonHttpProtocolOptions, explicitHttpConfig })),
          },
  });
}

/** Parts of one message; `commonLbConfig` is a message that several policies write into. */
function merged(parts: readonly JsonObject[]): JsonObject {
  const shared = parts.map(({ commonLbConfig }) => objectOf(commonLbConfig));
  const commonLbConfig = Object.assign({}, ...shared) as JsonObject;
  return {
    ...(Object.assign({}, ...parts) as JsonObject),
    ...(Object.keys(commonLbConfig).length > 0 && { commonLbConfig }),
  };
}
