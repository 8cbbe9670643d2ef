// A stream of an Envoy proxy as the port hands it to the protocol, which alone reads its messages.
import type { ServerDuplexStream } from '@grpc/grpc-js';
import type { Logger } from '../base/log.ts';
import type { SentMessage } from './grpc-services.ts';
import type { ProxyDataplane, ProxyPermit } from '../resource/proxy-permit.ts';

export type ProxyStream = {
  readonly id: string;
  /** `address:port` of the proxy, as gRPC names it. */
  readonly peer: string;
  /** Messages are bytes: a DeltaDiscoveryRequest in, a DeltaDiscoveryResponse out. Read it with `messagesOf`. */
  readonly call: ServerDuplexStream<Buffer, SentMessage>;
  readonly log: Logger;
  /**
   * Checks the token before the stream reads the Dataplane: only a proxy with a good token learns that there is none.
   * @throws StatusError UNAUTHENTICATED or PERMISSION_DENIED
   */
  readonly identify: (dataplane: Pick<ProxyDataplane, 'mesh' | 'name'>) => Promise<void>;
  /**
   * Authenticates the proxy as the Dataplane that it names. Call it once, before anything is sent. A stream that is not admitted in
   * time is ended, and so is one whose token expires or is revoked.
   * @param dataplanes the Dataplane that the proxy brings, the stored one, or both: the token must fit each
   * @returns what the token permits while the stream is open
   * @throws StatusError UNAUTHENTICATED, PERMISSION_DENIED, or RESOURCE_EXHAUSTED for one that comes too often
   */
  readonly admit: (...dataplanes: [ProxyDataplane, ...ProxyDataplane[]]) => Promise<ProxyPermit>;
  /** Ends it with the status of the error, which is also the reason that is logged; the first counts. */
  readonly end: (error: unknown) => void;
};

/** Serves one stream: it ends when this resolves, and with the status of the error when this rejects. */
export type ServeProxy = (stream: ProxyStream) => Promise<void>;
