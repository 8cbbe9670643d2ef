// Connections that stay open: one of TCP whose server speaks first, and one stream of HTTP/2, as gRPC has them. Each answers what it is
// sent, so a test sees whether it is the same connection still.
import { once } from 'node:events';
import { connect as connectHttp2, createServer as createHttp2, type ClientHttp2Stream, type Http2Server } from 'node:http2';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** What a server of TCP says to a new connection. */
export const GREETING = 'hello ';

/** The half of a connection that a test holds. */
export type LongConnection = {
  /** Whether the connection has ended. */
  readonly hasEnded: () => boolean;
  /** All that came until now. */
  readonly heard: () => string;
  readonly say: (words: string) => void;
  readonly close: () => void;
};

/** A server that answers what it is sent. */
export class EchoServer {
  readonly #server: Server | Http2Server;
  readonly #close: () => void;

  private constructor(server: Server | Http2Server, close: () => void) {
    this.#server = server;
    this.#close = close;
  }

  /** @param greeting what it says first */
  static async tcp(greeting = GREETING): Promise<EchoServer> {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined).write(greeting);
      socket.pipe(socket);
    });
    return await EchoServer.#listen(server, () => sockets.forEach((socket) => socket.destroy()));
  }

  /** @param greeting what it says first on each stream */
  static async http2(greeting = ''): Promise<EchoServer> {
    const server = createHttp2();
    const sessions = new Set<{ destroy: () => void }>();
    server.on('session', (session) => sessions.add(session));
    server.on('stream', (stream) => {
      stream.on('error', () => undefined).respond({ ':status': 200, 'content-type': 'application/grpc' });
      stream.write(greeting);
      stream.pipe(stream);
    });
    return await EchoServer.#listen(server, () => sessions.forEach((session) => session.destroy()));
  }

  static async #listen(server: Server | Http2Server, close: () => void): Promise<EchoServer> {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new EchoServer(server, close);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
    this.#close();
  }
}

export function openTcp(port: number): LongConnection {
  const socket = connect(port, '127.0.0.1');
  return kept(socket, () => socket.destroy());
}

export function openStream(port: number): LongConnection {
  const session = connectHttp2(`http://127.0.0.1:${String(port)}`);
  session.on('error', () => undefined);
  const stream = session.request({
    ':method': 'POST',
    ':path': '/test.Test/Talk',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  return kept(stream, () => session.destroy());
}

function kept(connection: Socket | ClientHttp2Stream, close: () => void): LongConnection {
  let heard = '';
  let hasEnded = false;
  const end = (): void => void (hasEnded = true);
  connection.on('data', (bytes: Buffer) => (heard += bytes.toString()));
  connection.on('error', end).on('end', end).on('close', end);
  return { hasEnded: () => hasEnded, heard: () => heard, say: (words) => void connection.write(words), close };
}
