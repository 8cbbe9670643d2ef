// A link between two control planes that a test can break. It buffers at most one chunk for each direction, so that both ends get the
// back-pressure of a real link.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A slow link hands on pieces of this part of a second. */
const PIECES_A_SECOND = 10;

type Connection = {
  readonly near: Socket;
  far: Socket | null;
  readonly gone: AbortController;
  /** Settles when what is under way on it may arrive. */
  held: Promise<undefined> | null;
};

export class TcpProxy {
  /** Port of 127.0.0.1 that new connections are handed on to. */
  target: number;
  readonly #server: Server;
  readonly #connections = new Set<Connection>();
  #open = Promise.withResolvers<undefined>();
  #isHole = false;
  #waiting = 0;
  #delivered = 0;
  #sent = 0;
  #bytesPerSecond = Number.POSITIVE_INFINITY;

  private constructor(server: Server, target: number) {
    this.#server = server;
    this.target = target;
    this.#open.resolve(undefined);
    server.on('connection', (near) => void this.#carry(near));
  }

  static async start(target = 0): Promise<TcpProxy> {
    // An end of file waits its turn like data, so the far end must not be closed by itself.
    const server = createServer({ allowHalfOpen: true, noDelay: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TcpProxy(server, target);
  }

  /** `127.0.0.1:port`. */
  get address(): string {
    return `127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  /** How many connections reach the target now. */
  get connected(): number {
    return [...this.#connections].filter(({ far }) => far !== null).length;
  }

  /** Bytes that came from the target and were handed on. */
  get delivered(): number {
    return this.#delivered;
  }

  /** Bytes that came for the target and were handed on. */
  get sent(): number {
    return this.#sent;
  }

  /** Bytes that wait in the proxy because the link is a black hole or held back. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Resets every connection; new ones are taken at once. */
  cut(): void {
    for (const connection of this.#connections) this.#end(connection);
  }

  /** Drops everything silently: no data, no end, no reset, and new connections hang. */
  blackHole(): void {
    if (this.#isHole) return;
    this.#isHole = true;
    this.#open = Promise.withResolvers<undefined>();
  }

  /** Continues the paused connections. */
  resume(): void {
    this.#isHole = false;
    this.#open.resolve(undefined);
  }

  /**
   * What is under way on the connections of now, and what still comes on them, waits until the returned function is called; new
   * connections pass. So a connection that was given up delivers after the one that replaced it.
   */
  holdBack(): () => void {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    for (const connection of this.#connections) connection.held = promise;
    return () => resolve(undefined);
  }

  /** Bytes per second of each direction of each connection; infinity lifts the limit. */
  throttle(bytesPerSecond: number): void {
    this.#bytesPerSecond = bytesPerSecond;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.cut();
    this.resume();
    await closed;
  }

  async #carry(near: Socket): Promise<void> {
    const connection: Connection = { near, far: null, gone: new AbortController(), held: null };
    this.#connections.add(connection);
    const end = (): void => void this.#passed(connection).then(() => this.#end(connection));
    near.on('error', end);
    await this.#passed(connection);
    if (connection.gone.signal.aborted) return;
    const far = connect({ host: '127.0.0.1', port: this.target, allowHalfOpen: true, noDelay: true });
    far.on('error', end);
    far.once('connect', () => (connection.far = far));
    connection.gone.signal.addEventListener('abort', () => far.destroy(), { once: true });
    try {
      await Promise.all([this.#pump(near, far, connection), this.#pump(far, near, connection)]);
    } catch {
      end();
      return;
    }
    this.#end(connection);
  }

  async #pump(from: Socket, to: Socket, connection: Connection): Promise<void> {
    const { signal } = connection.gone;
    for await (const chunk of from as AsyncIterable<Buffer>) {
      for (let rest = chunk; rest.length > 0;) {
        const size = Math.min(rest.length, Math.max(1, this.#bytesPerSecond / PIECES_A_SECOND));
        const piece = rest.subarray(0, size);
        rest = rest.subarray(piece.length);
        if (Number.isFinite(this.#bytesPerSecond))
          await delay((piece.length / this.#bytesPerSecond) * 1000, undefined, { signal });
        this.#waiting += piece.length;
        await this.#passed(connection);
        this.#waiting -= piece.length;
        if (to === connection.near) this.#delivered += piece.length;
        else this.#sent += piece.length;
        if (!to.write(piece)) await once(to, 'drain', { signal });
      }
    }
    await this.#passed(connection);
    to.end();
  }

  /** Resolves when the link is no black hole and the connection is not held back, or it has been cut. */
  async #passed({ gone, held }: Connection): Promise<void> {
    if ((!this.#isHole && held === null) || gone.signal.aborted) return;
    const cut = once(gone.signal, 'abort');
    await Promise.race([Promise.all([this.#isHole ? this.#open.promise : undefined, held]), cut]);
  }

  #end(connection: Connection): void {
    const { near, gone } = connection;
    if (!this.#connections.delete(connection)) return;
    connection.far?.resetAndDestroy();
    near.resetAndDestroy();
    gone.abort();
  }
}
