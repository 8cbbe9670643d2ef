// The one gRPC service of the port, for grpc-js (xds 1). Messages stay bytes here. Other services are UNIMPLEMENTED.
import type { MethodDefinition } from '@grpc/grpc-js';

const SERVICE = '/envoy.service.discovery.v3.AggregatedDiscoveryService';

function stream(path: string): MethodDefinition<Buffer, Buffer> {
  const same = (bytes: Buffer): Buffer => bytes;
  return {
    path: `${SERVICE}/${path}`,
    requestStream: true,
    responseStream: true,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  };
}

export const adsService = {
  deltaAggregatedResources: stream('DeltaAggregatedResources'),
  streamAggregatedResources: stream('StreamAggregatedResources'),
} as const;
