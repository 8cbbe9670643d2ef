// A link between two control planes that a test can break. It buffers at most one chunk for each direction, so that both ends get the
// back-pressure of a real link.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A slow link forwards pieces for this fraction of a second. */
const PIECES_A_SECOND = 10;

type Connection = {
  readonly near: Socket;
  far: Socket | null;
  readonly gone: AbortController;
  /** Settles when data in transit may arrive. */
  held: Promise<undefined> | null;
};

export class TcpProxy {
  /** The port of 127.0.0.1 for new connections. */
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
    // An end of file is queued like data, so the far end must not close automatically.
    const server = createServer({ allowHalfOpen: true, noDelay: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TcpProxy(server, target);
  }

  /** `127.0.0.1:port`. */
  get address(): string {
    return `127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  /** The number of connections to the target. */
  get connected(): number {
    return [...this.#connections].filter(({ far }) => far !== null).length;
  }

  /** Bytes that were forwarded from the target. */
  get delivered(): number {
    return this.#delivered;
  }

  /** Bytes that were forwarded to the target. */
  get sent(): number {
    return this.#sent;
  }

  /** Bytes that wait in the proxy because the link drops or delays data. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Resets every connection; new ones are accepted at once. */
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
   * Delays all data on the current connections until the returned function is called; new connections are not delayed. So an
   * abandoned connection delivers data after the one that replaced it.
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

  /** Resolves when the link neither drops nor delays data, or the connection is cut. */
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
