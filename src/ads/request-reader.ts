// Requests of proxies from their bytes. Thousands of proxies answer a change with the same bytes: the last short request is kept, and one
// with the same bytes is the same object.
import { status } from '@grpc/grpc-js';
import { messageOf } from '../base/errors.ts';
import { StatusError } from '../grpc/status.ts';
import { decodeDeltaRequest, type DeltaRequest } from '../wire/kds-messages.ts';

/** Bytes of a request that is kept. An acknowledgement has about 80. The first request of a stream names the proxy, and is longer. */
const MAX_KEPT = 256;

export class RequestReader {
  #last: { readonly bytes: Buffer; readonly request: DeltaRequest } | null = null;

  /** @throws StatusError INVALID_ARGUMENT on bytes that are no DeltaDiscoveryRequest */
  read(bytes: Buffer): DeltaRequest {
    const last = this.#last;
    if (last !== null && bytes.equals(last.bytes)) return last.request;
    if (bytes.length > MAX_KEPT) return decoded(bytes);
    // A copy: the message may be a part of a larger buffer.
    const kept = Buffer.from(bytes);
    const request = decoded(kept);
    this.#last = { bytes: kept, request };
    return request;
  }
}

function decoded(bytes: Buffer): DeltaRequest {
  try {
    return decodeDeltaRequest(bytes);
  } catch (error) {
    throw new StatusError(status.INVALID_ARGUMENT, messageOf(error));
  }
}
