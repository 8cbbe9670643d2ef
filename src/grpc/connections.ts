// The TCP connections to a port: how many an address may have, and how many there may be at all. A call that would be refused costs
// a token and the store work: calls take permits of their address, on connections that have no stream yet. A new connection of an address
// whose permits are spent waits for one before it is served.
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { readFileSync } from 'node:fs';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { AddressLimiter } from './address-limiter.ts';
import { callingConnection, callPermit, endWaits, type CallingConnection, type CallPermit } from './call-permit.ts';
import { readAhead } from './read-ahead.ts';
import { RateLimitedLogger } from '../base/rate-limited-logger.ts';

export type ConnectionLimits = {
  readonly perAddress: number;
  readonly total: number;
  /** Open streams of one connection. The peer queues more streams on its side until one ends. */
  readonly streams: number;
  /** Milliseconds after which a connection without a stream is closed. */
  readonly idleTimeout: number;
};

export const DEFAULT_CONNECTION_LIMITS: ConnectionLimits = {
  perAddress: 1_000,
  total: 10_000,
  streams: 100,
  idleTimeout: 10_000,
};

/** Milliseconds of silence after which the kernel probes a connection. It gives up on a dead peer ten seconds later. */
const PROBE_MS = 30_000;
/**
 * The number of sockets that listen to the port. Node accepts one connection of each in a turn of its event loop: while many
 * zones connect, a turn takes several milliseconds. Only some systems let sockets share a port.
 */
const LISTENERS = process.platform === 'linux' ? 8 : 1;
/** Milliseconds until a connection without a call lets another one be taken. */
const GREETING_MS = 500;
/** The number of addresses without a connection whose permits are remembered. */
const MAX_ADDRESSES = 10_000;

type Connection = CallingConnection & { readonly socket: Socket; hasWaited: boolean };

/** A connection that waits. @property release call it before the socket is taken */
type Untaken = { readonly socket: Socket; readonly release: () => void };

/** An address that has connections. */
type Address = { open: number; readonly limiter: AddressLimiter };

type ConnectionsOptions = {
  readonly limits: ConnectionLimits;
  /** The name of the peers in the log: `zone`. */
  readonly peers: string;
  /** The path of the limits in the configuration, for the log. */
  readonly section: string;
  /**
   * The number of connections that are taken at the same time until their first call. The others wait, the oldest first. Without
   * it, all are taken.
   */
  readonly greetings?: number;
  /** Serves a connection. */
  readonly take: (socket: Socket) => void;
  readonly log: Logger;
  readonly clock: Clock;
};

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #limits: ConnectionLimits;
  readonly #servers: Server[] = [];
  readonly #warnings: RateLimitedLogger;
  readonly #clock: Clock;
  /** The open connections by `address:port` of the peer, as gRPC names it. */
  readonly #open = new Map<string, Connection>();
  readonly #perAddress = new Map<string, Address>();
  /** Taken connections without a call, by peer, with a function that stops their time limit. */
  readonly #greeted = new Map<string, () => void>();
  /** Connections that wait to be taken, by peer, in the order in which they came. */
  readonly #untaken = new Map<string, Untaken>();
  readonly #remembered = new LRUCache<string, AddressLimiter>({ max: MAX_ADDRESSES });

  constructor(options: ConnectionsOptions) {
    const { limits, log, clock } = options;
    this.#options = options;
    this.#limits = { ...limits, total: Math.min(limits.total, descriptorsForPeers()) };
    this.#warnings = new RateLimitedLogger(log, () => clock.elapsed());
    this.#clock = clock;
  }

  /**
   * Call it once.
   * @param host an address; `''` for all addresses of the machine, `localhost` for both that it stands for
   * @returns the port in use. Rejects when the address cannot be bound
   */
  async listen(host: string, port: number): Promise<number> {
    if (host !== 'localhost') return await this.#listen(host, port);
    const bound = await this.#listen('127.0.0.1', port);
    await this.#listen('::1', bound).catch((error: unknown) => {
      // The machine has no IPv6.
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'EADDRNOTAVAIL' && code !== 'EAFNOSUPPORT') throw error;
    });
    return bound;
  }

  /** Refuses new connections. Open connections stay. */
  close(): void {
    for (const server of this.#servers) server.close();
  }

  /** Ends the open connections. */
  endAll(): void {
    for (const { socket } of this.#open.values()) socket.destroy();
  }

  /** The number of open connections. */
  get size(): number {
    return this.#open.size;
  }

  /** Whether a connection waited for a permit before it was taken. @param socket the connection, or its TLS socket */
  hasWaited(socket: Socket): boolean {
    return this.#open.get(peerOf(socket))?.hasWaited === true;
  }

  /** The permit of a call that has just come. @param peer `address:port`, as gRPC names it */
  permitOf(peer: string): CallPermit {
    this.#takeNext(peer);
    return callPermit(this.#open.get(peer) ?? null);
  }

  /** @returns the port in use */
  async #listen(host: string, port: number): Promise<number> {
    // Sockets that share a port would also share it with those of another control plane.
    if (port !== 0 && LISTENERS > 1) await this.#requireFree(host, port);
    let bound = port;
    for (let count = 0; count < LISTENERS; count += 1) {
      const server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: PROBE_MS }, (socket) => {
        const connection = this.#admit(socket);
        if (connection !== null) this.#enter(connection);
      });
      bound = await bind(server, { host, port: bound, reusePort: LISTENERS > 1 });
      // A failed accept affects only that peer: the server continues.
      server.on('error', (error) => this.#warnings.warn('accept', { reason: error.message }, 'a connection failed'));
      this.#servers.push(server);
    }
    return bound;
  }

  /** Rejects when the address cannot be bound. */
  async #requireFree(host: string, port: number): Promise<void> {
    const server = createServer();
    await bind(server, { host, port, reusePort: false });
    await new Promise((resolve) => server.close(resolve));
  }

  /** Takes a connection. That of an address whose permits are spent waits for one. */
  #enter(connection: Connection): void {
    const { socket, limiter, hangUp } = connection;
    const peer = peerOf(socket);
    if (!limiter.areSpent) return this.#take(peer, socket);
    const release = readAhead(socket);
    const begin = (): void => {
      release();
      connection.hasPermit = true;
      connection.hasWaited = true;
      this.#take(peer, socket);
    };
    const first = { begin, refuse: hangUp, mayGiveBack: false };
    socket.once('close', () => limiter.leave(first));
    limiter.take(first);
  }

  #take(peer: string, socket: Socket): void {
    const { greetings = Infinity, take } = this.#options;
    if (this.#greeted.size >= greetings) {
      this.#untaken.set(peer, { socket, release: readAhead(socket) });
      return;
    }
    if (greetings !== Infinity)
      this.#greeted.set(
        peer,
        this.#clock.after(GREETING_MS, () => this.#takeNext(peer)),
      );
    take(socket);
  }

  /** A connection has its first call, says nothing, or is closed: the next is taken. */
  #takeNext(peer: string): void {
    const stop = this.#greeted.get(peer);
    if (stop === undefined) return;
    stop();
    this.#greeted.delete(peer);
    const [next] = this.#untaken;
    if (next === undefined) return;
    const [nextPeer, { socket, release }] = next;
    this.#untaken.delete(nextPeer);
    release();
    this.#take(nextPeer, socket);
  }

  /** Returns null for one that is refused, and closed. */
  #admit(socket: Socket): Connection | null {
    const { remoteAddress: address = '' } = socket;
    const ofAddress = this.#perAddress.get(address) ?? { open: 0, limiter: this.#limiterOf(address) };
    const { perAddress, total } = this.#limits;
    if (ofAddress.open >= perAddress || this.#open.size >= total) {
      const key = ofAddress.open >= perAddress ? 'perAddress' : 'total';
      const limit = key === 'total' ? total : perAddress;
      const { peers, section } = this.#options;
      const about = { address, limit, key: `${section}.${key}` };
      this.#warnings.warn(key, about, `a connection of a ${peers} was refused: too many are open`);
      socket.destroy();
      return null;
    }
    const peer = peerOf(socket);
    const hangUp = (): void => {
      this.#warnings.warn(address, { address }, 'too many refused calls; the connection is closed');
      socket.destroy();
      endWaits(connection);
    };
    const { limiter } = ofAddress;
    const connection: Connection = { ...callingConnection(limiter, hangUp), socket, hasWaited: false };
    this.#open.set(peer, connection);
    this.#perAddress.set(address, ofAddress);
    ofAddress.open += 1;
    socket.once('close', () => {
      endWaits(connection);
      this.#untaken.delete(peer);
      this.#takeNext(peer);
      this.#open.delete(peer);
      ofAddress.open -= 1;
      if (ofAddress.open > 0) return;
      this.#perAddress.delete(address);
      this.#remembered.set(address, limiter);
    });
    return connection;
  }

  #limiterOf(address: string): AddressLimiter {
    return this.#remembered.get(address) ?? new AddressLimiter(this.#clock);
  }
}

/** @param host `''` for all addresses @returns the port in use */
async function bind(server: Server, { host, ...options }: { host: string; port: number; reusePort: boolean }): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ ...(host !== '' && { host }), ...options }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return (server.address() as AddressInfo).port;
}

/** `address:port`, as gRPC names a peer. */
function peerOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress}:${String(remotePort)}`;
}

/** Half of the file descriptors of this process. No limit if the number is unknown. */
function descriptorsForPeers(): number {
  try {
    return halfOfDescriptors(readFileSync('/proc/self/limits', 'utf8'));
  } catch {
    return Infinity;
  }
}

/**
 * Half of the limit of file descriptors. The other half is for REST, diagnostics and the database.
 * @param limits as Linux prints them
 */
export function halfOfDescriptors(limits: string): number {
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  return soft === undefined ? Infinity : Math.floor(Number(soft) / 2);
}
