// A gRPC server as each port of this product runs it: bounded messages and streams, pings that find dead peers, an end in bounded time.
import { Server } from '@grpc/grpc-js';
import type { Clock } from '../base/clock.ts';
import type { ConnectionLimits } from './connections.ts';

/** Milliseconds that open connections have to end once the server closes. */
const MAX_CLOSE_MS = 1_000;

export type GrpcServerOptions = {
  /** Bytes of one message, in either direction. */
  readonly maxMessageBytes: number;
  /** Milliseconds between two pings, which find dead peers. */
  readonly pingInterval: number;
  readonly limits: Pick<ConnectionLimits, 'streams' | 'idleTimeout'>;
};

export function createGrpcServer({ maxMessageBytes, pingInterval, limits }: GrpcServerOptions): Server {
  return new Server({
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_send_message_length': maxMessageBytes,
    'grpc.keepalive_time_ms': pingInterval,
    'grpc.keepalive_timeout_ms': 15_000,
    'grpc.max_concurrent_streams': limits.streams,
    'grpc.max_connection_idle_ms': limits.idleTimeout,
    // It is not read here, and it counts every message and keeps an entry for every connection.
    'grpc.enable_channelz': 0,
  });
}

/** Ends the connections when their streams have ended, and after a second in any case. */
export async function closeGrpcServer(server: Server, clock: Clock): Promise<void> {
  const closed = new AbortController();
  server.tryShutdown(() => closed.abort());
  // gRPC may miss the end of a session that its peer closes, and then never calls back.
  await clock.sleep(MAX_CLOSE_MS, closed.signal);
  if (!closed.signal.aborted) server.forceShutdown();
}
