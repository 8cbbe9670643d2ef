// Connections that a machine redirects to a proxy, without its firewall: they come to a socket file in place of the port, and begin
// with a line of the PROXY protocol that says where they were going. A MeshProxyPatch makes the listeners so.
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import type { JsonObject } from '../../src/resource/types.ts';

type Direction = 'inbound' | 'outbound';
/** Where a connection was going. */
export type Destination = { readonly address: string; readonly port: number };

/** Puts the listener of a direction on a socket file. It must stay there: Envoy may remove the file of a listener that moves away later. */
export function onSocketFile(folder: string, direction: Direction): JsonObject {
  return patchOf(direction, { op: 'replace', path: '/address', value: { pipe: { path: socketFile(folder, direction) } } });
}

/** Reads the line that says where a connection was going. @param isRead whether the listener has filters of its own */
export function withProxyLine(direction: Direction, isRead: boolean): JsonObject {
  const type = 'type.googleapis.com/envoy.extensions.filters.listener.proxy_protocol.v3.ProxyProtocol';
  const filter = { name: 'envoy.filters.listener.proxy_protocol', typedConfig: { '@type': type } };
  // The filters behind it see where the connection was going.
  return patchOf(
    direction,
    isRead ? { op: 'add', path: '/listenerFilters/1', value: filter } : { op: 'add', path: '/listenerFilters', value: [filter] },
  );
}

function patchOf(direction: Direction, jsonPatch: JsonObject): JsonObject {
  const match = { name: `self_transparentproxy_passthrough_${direction}_ipv4` };
  return { listener: { operation: 'Patch', match, jsonPatches: [jsonPatch] } };
}

export class Redirected {
  readonly #folder: string;
  readonly #direction: Direction;

  /** @param folder of the proxy */
  constructor(folder: string, direction: Direction) {
    this.#folder = folder;
    this.#direction = direction;
  }

  /** The answer to a request in HTTP/1.1, as `status body`; `''` where the connection is closed. */
  async get(to: Destination, host: string): Promise<string> {
    const createConnection = (): Socket => this.#open(to);
    const calling = request({ createConnection, headers: { host }, path: '/' });
    try {
      calling.end();
      const [answer] = (await once(calling, 'response')) as [IncomingMessage];
      return `${String(answer.statusCode)} ${await text(answer)}`;
    } catch {
      return '';
    }
  }

  /** As `get`, in HTTP/2 without TLS. */
  async get2(to: Destination, host: string): Promise<string> {
    const session = connectHttp2(`http://${host}`, { createConnection: () => this.#open(to) });
    const failed = once(session, 'error');
    const calling = session.request({ ':path': '/' });
    try {
      const answered = once(calling, 'response') as Promise<[{ ':status'?: number }]>;
      const first = await Promise.race([answered, failed.then(() => null)]);
      return first === null ? '' : `${String(first[0][':status'])} ${await text(calling)}`;
    } catch {
      return '';
    } finally {
      failed.catch(() => undefined);
      session.destroy();
    }
  }

  /** What a server with TLS says to a client that asks for a name; `''` where the connection is closed. */
  async sayTls(to: Destination, servername: string): Promise<string> {
    const socket = connectTls({ socket: this.#open(to), servername, rejectUnauthorized: false });
    return await text(socket).catch(() => '');
  }

  /** What a server says to bytes; `''` where the connection is closed. @param bytes left out: the server speaks first */
  async say(to: Destination, bytes = ''): Promise<string> {
    const socket = this.#open(to);
    socket.write(bytes);
    return await text(socket).catch(() => '');
  }

  #open({ address, port }: Destination): Socket {
    const socket = connect(socketFile(this.#folder, this.#direction));
    socket.on('error', () => undefined);
    socket.write(`PROXY TCP4 127.0.0.1 ${address} 40000 ${String(port)}\r\n`);
    return socket;
  }
}

function socketFile(folder: string, direction: Direction): string {
  return join(folder, `${direction}.sock`);
}
