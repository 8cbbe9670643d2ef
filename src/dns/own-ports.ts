// The ports from which this server asks resolvers. A query that comes from one of them was sent by this server itself: something on the
// way to a resolver leads back here.

export type Transport = 'udp' | 'tcp';

export class OwnPorts {
  readonly #queries = new Set<string>();

  /** @returns what removes it again */
  add(transport: Transport, port: number, query: Buffer): () => void {
    const key = keyOf(transport, port, query);
    this.#queries.add(key);
    return () => void this.#queries.delete(key);
  }

  has(transport: Transport, port: number, query: Buffer): boolean {
    return this.#queries.has(keyOf(transport, port, query));
  }
}

/** @param query begins with its ID */
function keyOf(transport: Transport, port: number, query: Buffer): string {
  return `${transport} ${String(port)} ${String(query.readUInt16BE(0))}`;
}
