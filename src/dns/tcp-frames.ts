// DNS messages on a TCP connection: each has its length before it, in two bytes (RFC 1035 4.2.2).

const LENGTH_BYTES = 2;

/** A message with its length before it. @param message at most 65,535 bytes */
export function framed(message: Buffer): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
}

/** Puts the messages of a connection together again. It keeps one incomplete message at most. */
export class TcpFrames {
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** Bytes until the next message, or its length, is complete. */
  #wanted = LENGTH_BYTES;

  /** Takes the next bytes. @returns the messages that are complete with them */
  push(chunk: Buffer): readonly Buffer[] {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    // Joined only when a message is complete: a peer may send it byte by byte.
    if (this.#bytes < this.#wanted) return [];
    const messages: Buffer[] = [];
    let rest = Buffer.concat(this.#chunks);
    for (;;) {
      this.#wanted = rest.length < LENGTH_BYTES ? LENGTH_BYTES : LENGTH_BYTES + rest.readUInt16BE(0);
      if (rest.length < this.#wanted) break;
      messages.push(rest.subarray(LENGTH_BYTES, this.#wanted));
      rest = rest.subarray(this.#wanted);
    }
    this.#chunks = [rest];
    this.#bytes = rest.length;
    return messages;
  }
}
