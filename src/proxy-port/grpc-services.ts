// The gRPC services of the port, for grpc-js (xds 1). Messages stay bytes here. Other services are UNIMPLEMENTED.
import type { MethodDefinition } from '@grpc/grpc-js';
import { NAMES_METHOD } from '../wire/name-messages.ts';

const ADS = '/envoy.service.discovery.v3.AggregatedDiscoveryService';
const HDS = '/envoy.service.health.v3.HealthDiscoveryService';

/** A message to a proxy, as it is or in parts: what proxies share is not copied for each of them. */
export type SentMessage = Buffer | readonly Buffer[];

export function partsOf(message: SentMessage): readonly Buffer[] {
  return Buffer.isBuffer(message) ? [message] : message;
}

function stream(path: string): MethodDefinition<Buffer, SentMessage> {
  const same = (bytes: Buffer): Buffer => bytes;
  return {
    path,
    requestStream: true,
    responseStream: true,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: (message) => Buffer.concat(partsOf(message)),
    responseDeserialize: same,
  };
}

export const adsService = {
  deltaAggregatedResources: stream(`${ADS}/DeltaAggregatedResources`),
  streamAggregatedResources: stream(`${ADS}/StreamAggregatedResources`),
} as const;

export const healthService = { streamHealthCheck: stream(`${HDS}/StreamHealthCheck`) } as const;

/** For the launcher, not for Envoy. */
export const namesService = { deltaNames: stream(NAMES_METHOD) } as const;
