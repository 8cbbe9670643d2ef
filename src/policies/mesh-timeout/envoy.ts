// MeshTimeout in Envoy: timeouts of connections on clusters and TCP proxies, of requests on routes and listeners (policies 2.1, xds 3.1, 3.2, 3.3, 5).
import { duration, given, optionalDuration } from '../../envoy/proto-json.ts';
import type { JsonObject } from '../../resource/types.ts';
import type { Conf } from '../confs.ts';
import type { ClusterPlace, Direction, RoutePlace } from '../policy-definition.ts';

type Timeout = Conf<'MeshTimeout'>;

/** A gRPC stream may be silent for long: MeshTimeout does not shorten this. */
const GRPC_IDLE = '7200s';

export function connectTimeout({ connectionTimeout }: Timeout): JsonObject {
  return { connectTimeout: duration(connectionTimeout, '5s') };
}

export function connectionTimeouts({ idleTimeout, http }: Timeout, { protocol, direction }: ClusterPlace): JsonObject {
  if (protocol === 'grpc') return direction === 'inbound' ? { idleTimeout: GRPC_IDLE } : {};
  return {
    idleTimeout: duration(idleTimeout, '3600s'),
    maxConnectionDuration: duration(http?.maxConnectionDuration, '0s'),
    maxStreamDuration: duration(http?.maxStreamDuration, '0s'),
  };
}

/** An egress is between two proxies that have timeouts of their own: it has those alone that are written. */
export function routeTimeouts({ http }: Timeout, { direction }: RoutePlace): JsonObject {
  const isBetween = direction === 'egress';
  return given({
    timeout: duration(http?.requestTimeout, isBetween ? '0s' : '15s'),
    idleTimeout: isBetween ? optionalDuration(http?.streamIdleTimeout) : duration(http?.streamIdleTimeout, '1800s'),
  });
}

export function headersTimeout({ http }: Timeout): JsonObject {
  return { requestHeadersTimeout: duration(http?.requestHeadersTimeout, '0s') };
}

/** A zone proxy is between two, as above. */
export function tcpIdleTimeout({ idleTimeout }: Timeout, direction: Direction): JsonObject {
  const isOfZone = direction === 'ingress' || direction === 'egress';
  return given({ idleTimeout: isOfZone ? optionalDuration(idleTimeout) : duration(idleTimeout, '3600s') });
}
