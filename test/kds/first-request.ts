// The first request of a peer on a stream.
import type { DeltaRequest } from '../../src/wire/kds-messages.ts';
import { encodeStruct } from '../../src/wire/struct.ts';

/** Requests all resources of a type, and reports none (kds-wire 2.2). */
export function firstRequest(typeUrl: string, peer: { node?: string; features?: string[] } = {}): DeltaRequest {
  const { node = 'east', features = ['hash-suffix'] } = peer;
  return {
    node: { id: node, metadata: encodeStruct({ features }) },
    typeUrl,
    subscribe: ['*'],
    unsubscribe: [],
    initialResourceVersions: new Map(),
    responseNonce: '',
    errorDetail: null,
  };
}
