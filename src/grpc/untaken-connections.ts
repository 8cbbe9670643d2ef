// Connections that wait to be taken. The oldest is next; once it has waited for long, the newest: the peers of the older ones soon give up,
// and a connection that is taken after that costs a handshake for nothing.
import type { Socket } from 'node:net';
import { LRUCache } from 'lru-cache';

/** Milliseconds that the oldest waits until the newest is taken instead. A zone gives up after ten seconds. */
const PATIENCE_MS = 5_000;
/** Bytes that are read of a waiting connection. */
const MAX_READ = 16_384;

type Untaken = {
  readonly socket: Socket;
  /** In milliseconds of the clock. */
  readonly since: number;
  /** Stops reading, and puts back what was read. */
  readonly release: () => void;
};

export class UntakenConnections {
  readonly #now: () => number;
  /** By peer. Nothing is read from it, so that the order of use is the order in which they came. */
  readonly #untaken: LRUCache<string, Untaken>;

  /** @param now milliseconds, of a clock that never goes back @param max connections that there may be */
  constructor(now: () => number, max: number) {
    this.#now = now;
    this.#untaken = new LRUCache({ max });
  }

  /** @param peer `address:port` */
  add(peer: string, socket: Socket): void {
    this.#untaken.set(peer, { socket, since: this.#now(), release: readAhead(socket) });
  }

  /** The connection is closed. */
  delete(peer: string): void {
    this.#untaken.delete(peer);
  }

  /** The connection to take, which waits no longer; null if none waits. */
  next(): { readonly peer: string; readonly socket: Socket } | null {
    const [oldest, newest] = [this.#untaken.rkeys(), this.#untaken.keys()].map((keys) => keys.next().value);
    const peer = oldest !== undefined && this.#waitedOf(oldest) > PATIENCE_MS ? newest : oldest;
    const untaken = peer === undefined ? undefined : this.#untaken.peek(peer);
    if (peer === undefined || untaken === undefined) return null;
    this.#untaken.delete(peer);
    untaken.release();
    return { peer, socket: untaken.socket };
  }

  #waitedOf(peer: string): number {
    return this.#now() - (this.#untaken.peek(peer)?.since ?? this.#now());
  }
}

/** Reads what the peer sends: the end of a connection only shows after it. @returns puts it back */
function readAhead(socket: Socket): () => void {
  const read: Buffer[] = [];
  let bytes = 0;
  const take = (): void => {
    while (bytes < MAX_READ) {
      const chunk = socket.read() as Buffer | null;
      if (chunk === null) return;
      read.push(chunk);
      bytes += chunk.length;
    }
  };
  socket.on('readable', take);
  return () => {
    socket.off('readable', take);
    if (bytes > 0) socket.unshift(Buffer.concat(read));
  };
}
