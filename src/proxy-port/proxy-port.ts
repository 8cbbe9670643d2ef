// The port that proxies connect to: TLS, then gRPC for Envoy and HTTP/1.1 for the program that starts it. ALPN tells them apart: a
// client that takes HTTP/1.1 gets it, and a client of gRPC asks for HTTP/2 alone.
import type { Server as HttpServer } from 'node:http';
import type { Socket } from 'node:net';
import { createServer as createTlsServer, type SecureContextOptions, type Server as TlsServer, type TLSSocket } from 'node:tls';
import { ServerCredentials } from '@grpc/grpc-js';
import type { FastifyInstance } from 'fastify';
import { refuseClient } from '../http/client-errors.ts';
import { MAX_HEADER_BYTES } from '../http/http-server.ts';
import { http } from '../base/node-http.ts';
import { MeridianError } from '../base/errors.ts';
import type { TlsMaterial } from '../base/tls-material.ts';
import { Connections, type ConnectionLimits } from '../grpc/connections.ts';
import { GrpcServer } from '../grpc/grpc-server.ts';
import { adsService, healthService, namesService } from './grpc-services.ts';
import type { BootstrapSources } from './bootstrap-answer.ts';
import type { LeaveSources } from './leave-answer.ts';
import { createBootstrapApp } from './bootstrap-app.ts';
import { chunkStreams } from './chunked-writes.ts';
import type { ServeProxy } from './proxy-stream.ts';
import { notingRefusals, type RefusedProxies } from '../token/refused-proxies.ts';
import { whenSpoken } from './spoken-sockets.ts';
import { ProxyStreams, type ProxyStreamsOptions } from './proxy-streams.ts';

/** Bytes of one message. The first of an Envoy has 59 kB: its node names every extension (xds 1). */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
/**
 * Milliseconds between two pings of a proxy. They find a program that hangs; the kernel finds a machine that is gone, in 40 s. Pings of
 * thousands of proxies each half a minute were a third of what a zone spends when nothing happens.
 */
const PING_MS = 120_000;

type ProxyPortOptions = Pick<ProxyStreamsOptions, 'authenticator' | 'watch' | 'serve' | 'clock' | 'log'> & {
  readonly refused: RefusedProxies;
  /** An address; `''` for all addresses of the machine, `localhost` for both that it stands for. */
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly material: TlsMaterial; readonly minVersion: 'TLSv1.2' | 'TLSv1.3' };
  /** `idleTimeout` is also the time for a TLS handshake, and for a stream to name its Dataplane. */
  readonly limits: ConnectionLimits;
  /** Milliseconds for the headers of a request of HTTP/1.1. */
  readonly readHeaderTimeout: number;
  /** Takes the health that proxies report; null: they are not asked. */
  readonly serveHealth: ServeProxy | null;
  /** Serves the names of proxies to their launchers. */
  readonly serveNames: ServeProxy;
  readonly launcher: Omit<BootstrapSources & LeaveSources, 'certificate' | 'authenticator' | 'reportsHealth'>;
};

export class ProxyPort {
  readonly #options: ProxyPortOptions;
  readonly #connections: Connections;
  readonly #streams: ProxyStreams;
  readonly #healthStreams: ProxyStreams | null = null;
  readonly #nameStreams: ProxyStreams;
  readonly #grpc: GrpcServer;
  readonly #tls: TlsServer;
  readonly #http: HttpServer;
  readonly #app: FastifyInstance;
  #material: TlsMaterial;

  constructor(options: ProxyPortOptions) {
    const { limits, tls, launcher, authenticator, refused, serveHealth, serveNames, clock, log } = options;
    this.#options = options;
    this.#material = tls.material;
    this.#connections = new Connections({
      ...{ limits, peers: 'proxy', section: 'dpServer.connections', log, clock },
      take: (socket: Socket) => whenSpoken(socket, limits.idleTimeout, clock, (spoken) => this.#tls.emit('connection', spoken)),
    });
    const admission = { connections: this.#connections, admissionTimeout: limits.idleTimeout };
    this.#streams = new ProxyStreams({ ...options, ...admission });
    const credentials = ServerCredentials.createInsecure();
    this.#grpc = new GrpcServer({ maxMessageBytes: MAX_MESSAGE_BYTES, pingInterval: PING_MS, limits, credentials });
    this.#grpc.addService(
      { ...adsService, deltaAggregatedResources: chunkStreams(MAX_MESSAGE_BYTES) },
      {
        deltaAggregatedResources: this.#streams.open,
        streamAggregatedResources: this.#streams.refuse,
      },
    );
    if (serveHealth !== null) {
      const health = { serve: serveHealth, log: log.child({ service: 'health' }) };
      this.#healthStreams = new ProxyStreams({ ...options, ...admission, ...health });
      this.#grpc.addService(healthService, { streamHealthCheck: this.#healthStreams.open });
    }
    const names = { serve: serveNames, log: log.child({ service: 'names' }) };
    this.#nameStreams = new ProxyStreams({ ...options, ...admission, ...names });
    this.#grpc.addService(namesService, { deltaNames: this.#nameStreams.open });
    const certificate = (): string => this.#material.cert.toString();
    const noting = notingRefusals(authenticator, refused);
    const sources = { ...launcher, certificate, authenticator: noting, reportsHealth: serveHealth !== null };
    this.#app = createBootstrapApp({ connections: this.#connections, sources, clock, log });
    this.#http = this.#createHttp();
    this.#tls = this.#createTls();
  }

  /** Binds; resolves to the port in use. Rejects with code `config` when the address cannot be bound. */
  async listen(): Promise<number> {
    const { host, port } = this.#options;
    await this.#app.ready();
    return await this.#connections.listen(host, port).catch((cause: unknown) => {
      const where = `${host || 'any address'}, port ${String(port)}`;
      throw new MeridianError('config', `dpServer.port: cannot listen on ${where}; free it or choose another port`, { cause });
    });
  }

  /** Another certificate, for connections from now on. */
  replaceTls(material: TlsMaterial): void {
    this.#material = material;
    this.#tls.setSecureContext(this.#secureContext());
  }

  /** Ends every stream with Unavailable, so that proxies try another replica, and closes the port. */
  async close(): Promise<void> {
    this.#connections.close();
    for (const streams of [this.#streams, this.#healthStreams, this.#nameStreams])
      streams?.close(new MeridianError('unavailable', 'stream unavailable: this control plane stops'));
    await Promise.all([this.#grpc.close(this.#options.clock), this.#app.close()]);
    this.#http.close();
    this.#connections.endAll();
  }

  #secureContext(): SecureContextOptions {
    const { cert, key } = this.#material;
    return { cert, key, minVersion: this.#options.tls.minVersion };
  }

  #createTls(): TlsServer {
    const server = createTlsServer({
      ...this.#secureContext(),
      handshakeTimeout: this.#options.limits.idleTimeout,
      ALPNCallback: ({ protocols }) => ['http/1.1', 'h2'].find((protocol) => protocols.includes(protocol)),
    });
    server.on('secureConnection', (socket: TLSSocket) => {
      if (socket.alpnProtocol === 'h2') this.#grpc.take(socket, this.#connections.hasWaited(socket));
      else this.#http.emit('connection', socket);
    });
    // A failed handshake is an error of the client.
    server.on('tlsClientError', (_error, socket) => socket.destroy());
    return server;
  }

  #createHttp(): HttpServer {
    const { limits, readHeaderTimeout } = this.#options;
    const options = {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: readHeaderTimeout,
      requestTimeout: Math.max(readHeaderTimeout, limits.idleTimeout),
      keepAliveTimeout: limits.idleTimeout,
      connectionsCheckingInterval: Math.min(2_000, readHeaderTimeout),
    };
    const server = http.createServer(options, (request, response) => this.#app.routing(request, response));
    server.setTimeout(limits.idleTimeout);
    server.on('clientError', refuseClient);
    // It never listens, and its limits on time are kept from this event on.
    server.emit('listening');
    return server;
  }
}
