// A gRPC server as each port of this product runs it: bounded messages and streams, pings that find dead peers, an end in bounded time.
// Invariant: a connection that waited because calls of its address were refused has few streams. The library makes the whole call of each
// stream before the call can be refused.
import type { Socket } from 'node:net';
import { Server, type ServerCredentials, type ServiceDefinition, type UntypedServiceImplementation } from '@grpc/grpc-js';
import type { Clock } from '../base/clock.ts';
import type { ConnectionLimits } from './connections.ts';

/** A zone of Kuma has five streams and a health check. What comes on top waits in the zone. */
const STREAMS_AFTER_WAIT = 8;
/** Milliseconds that open connections have to end once the server closes. */
const MAX_CLOSE_MS = 1_000;

type GrpcServerOptions = {
  /** The limit of one message in bytes, in either direction. */
  readonly maxMessageBytes: number;
  /** The milliseconds between two pings, which find dead peers. */
  readonly pingInterval: number;
  readonly limits: Pick<ConnectionLimits, 'streams' | 'idleTimeout'>;
  /** The credentials of the connections, without TLS if a socket has its own. */
  readonly credentials: ServerCredentials;
};

type Served = { readonly server: Server; readonly inject: (socket: Socket) => void };

/** The library has one limit of streams for all connections of a server: there are two. */
export class GrpcServer {
  readonly #usual: Served;
  readonly #waited: Served;

  constructor(options: GrpcServerOptions) {
    const { limits } = options;
    this.#usual = serve(options);
    this.#waited = serve({ ...options, limits: { ...limits, streams: Math.min(limits.streams, STREAMS_AFTER_WAIT) } });
  }

  addService(service: ServiceDefinition, implementation: UntypedServiceImplementation): void {
    for (const { server } of [this.#usual, this.#waited]) server.addService(service, implementation);
  }

  /** Serves a connection. @param hasWaited whether it waited for a permit of its address */
  take(socket: Socket, hasWaited: boolean): void {
    (hasWaited ? this.#waited : this.#usual).inject(socket);
  }

  /** Ends the connections when their streams have ended, and after a second in any case. */
  async close(clock: Clock): Promise<void> {
    await Promise.all([this.#usual, this.#waited].map(({ server }) => closeGrpcServer(server, clock)));
  }
}

function serve(options: GrpcServerOptions): Served {
  const server = createServer(options);
  const injector = server.createConnectionInjector(options.credentials);
  return { server, inject: (socket) => injector.injectConnection(socket) };
}

function createServer({ maxMessageBytes, pingInterval, limits }: GrpcServerOptions): Server {
  return new Server({
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_send_message_length': maxMessageBytes,
    'grpc.keepalive_time_ms': pingInterval,
    'grpc.keepalive_timeout_ms': 15_000,
    'grpc.max_concurrent_streams': limits.streams,
    'grpc.max_connection_idle_ms': limits.idleTimeout,
    // Nothing reads channelz here. It counts every message and keeps an entry for every connection.
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
