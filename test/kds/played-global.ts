// A simulated global over gRPC: it answers health checks, and sends on streams only what a test tells it to send.
import { Metadata, Server, ServerCredentials, type ServiceError } from '@grpc/grpc-js';
import type { ServerDuplexStream, ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import { globalService, syncService } from '../../src/kds/protocol/services.ts';
import { encodeHealthCheckResponse } from '../../src/wire/global-service-messages.ts';

export type GlobalCall = ServerDuplexStream<Buffer, Buffer>;

export type GlobalManners = {
  /** Called with every stream; unread messages are dropped. */
  readonly onStream?: (call: GlobalCall, name: string) => void;
  /** The interval in milliseconds in its answers, or its error. */
  readonly healthCheck?: () => number | Pick<ServiceError, 'code' | 'details'>;
  /** The features in its answer header; none by default, as in Kuma. */
  readonly features?: readonly string[];
  /** Errors have the header too, as in Meridian. */
  readonly saysFeaturesWithErrors?: boolean;
  readonly maxMessageBytes?: number;
};

/** Listens until the signal; resolves to the port. */
export async function playGlobal(manners: GlobalManners, signal: AbortSignal): Promise<number> {
  const { onStream = () => undefined, healthCheck = () => 0, features = [], maxMessageBytes = 4 * 1024 * 1024 } = manners;
  const server = new Server({ 'grpc.max_receive_message_length': maxMessageBytes });
  const header = new Metadata();
  for (const feature of features) header.add('features', feature);
  const stream = (name: string) => (call: GlobalCall) => {
    call.on('error', () => undefined);
    onStream(call, name);
    call.resume();
  };
  server.addService(syncService, {
    globalToZoneSync: stream('globalToZoneSync'),
    zoneToGlobalSync: stream('zoneToGlobalSync'),
  });
  server.addService(globalService, {
    streamXDSConfigs: stream('streamXDSConfigs'),
    streamStats: stream('streamStats'),
    streamClusters: stream('streamClusters'),
    healthCheck: (call: ServerUnaryCall<Buffer, Buffer>, reply: sendUnaryData<Buffer>) => {
      const answer = healthCheck();
      if (typeof answer === 'number' || manners.saysFeaturesWithErrors === true) call.sendMetadata(header);
      if (typeof answer === 'number') reply(null, encodeHealthCheckResponse({ intervalMs: answer }));
      else reply(answer);
    },
  });
  signal.addEventListener('abort', () => server.forceShutdown());
  return await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
}
