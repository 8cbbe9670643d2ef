// Small applications behind proxies. They count what they get, and answer as a test says.
import { once } from 'node:events';
import { createServer as createHttp, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttp2, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { createServer as createTcp, type AddressInfo, type Server, type Socket } from 'node:net';

export type Seen = {
  readonly method: string;
  readonly path: string;
  readonly host: string;
  readonly headers: IncomingHttpHeaders;
};

/** `hang`: no answer ever. The body is the name of the application. */
export type Answer = { readonly status?: number; readonly headers?: Record<string, string> } | 'hang';

/** `both`: HTTP/1.1, and HTTP/2 without TLS, as an inbound of a proxy takes them. Such an application is an endpoint without a proxy. */
export type Speech = 'http' | 'both' | 'tcp';
/** How a connection of HTTP/2 begins. */
const PREFACE = 'PRI';

export class Application {
  readonly name: string;
  /** Requests in the order in which they came; connections of TCP are requests without anything. */
  readonly seen: Seen[] = [];
  /** @param count of this request, from 1 */
  answer: (request: Seen, count: number) => Answer = () => ({});
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(name: string, speech: Speech) {
    this.name = name;
    this.#server = this.#serverOf(speech);
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket)).on('error', () => undefined);
    });
  }

  /** @param port left out: any free one */
  static async listen(name: string, speech: Speech, port = 0): Promise<Application> {
    const application = new Application(name, speech);
    application.#server.listen(port, '127.0.0.1');
    await once(application.#server, 'listening');
    return application;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #serverOf(speech: Speech): Server {
    if (speech === 'tcp')
      return createTcp((socket) => {
        this.#note({ method: '', path: '', host: '', headers: {} });
        socket.end(this.name);
      });
    const take = (request: IncomingMessage | Http2ServerRequest, response: ServerResponse | Http2ServerResponse): void => {
      const { method = '', url = '', headers } = request;
      const host = String(headers[':authority'] ?? headers.host ?? '');
      const answer = this.#note({ method, path: url, host, headers });
      request.resume();
      if (answer === 'hang') return;
      response.statusCode = answer.status ?? 200;
      for (const [key, value] of Object.entries({ 'x-application': this.name, ...answer.headers }))
        response.setHeader(key, value);
      response.end(this.name);
    };
    // An idle connection stays: a client that is slow, as on a busy machine, would find it closed.
    const http = createHttp({ keepAliveTimeout: 0 }, take);
    if (speech === 'http') return http;
    const http2 = createHttp2(take);
    return createTcp((socket) => {
      const choose = (): void => {
        const bytes = socket.read(PREFACE.length) as Buffer | null;
        if (bytes === null) return void socket.once('readable', choose);
        socket.unshift(bytes);
        (bytes.toString() === PREFACE ? http2 : http).emit('connection', socket);
      };
      choose();
    });
  }

  #note(request: Seen): Answer {
    this.seen.push(request);
    return this.answer(request, this.seen.length);
  }
}
