// The two gRPC services of kds-wire 1 for grpc-js, and the service of Meridian. Messages stay bytes here: responses are concatenations of
// shared buffers, and each end decodes its messages.
import type { MethodDefinition } from '@grpc/grpc-js';

const PACKAGE = '/kuma.mesh.v1alpha1.';
const OWN_PACKAGE = '/meridian.kds.v1.';

type Method = MethodDefinition<Buffer, Buffer>;

function method(path: string, stream: boolean, inPackage = PACKAGE): Method {
  const same = (bytes: Buffer): Buffer => bytes;
  return {
    path: `${inPackage}${path}`,
    requestStream: stream,
    responseStream: stream,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  };
}

export const syncService = {
  globalToZoneSync: method('KDSSyncService/GlobalToZoneSync', true),
  zoneToGlobalSync: method('KDSSyncService/ZoneToGlobalSync', true),
} as const;

export const globalService = {
  streamXDSConfigs: method('GlobalKDSService/StreamXDSConfigs', true),
  streamStats: method('GlobalKDSService/StreamStats', true),
  streamClusters: method('GlobalKDSService/StreamClusters', true),
  healthCheck: method('GlobalKDSService/HealthCheck', false),
} as const;

/** Questions of a zone to a Meridian global, in JSON. Another global answers UNIMPLEMENTED. */
export const questionService = { ask: method('Questions/Ask', false, OWN_PACKAGE) } as const;
