// Reading of a connection that nothing serves yet: its end only shows after what the peer has sent was read.
import type { Socket } from 'node:net';

/** The largest number of bytes that are read of a connection. */
const MAX_READ = 16_384;

/**
 * Reads what the peer sends, up to a limit, so that the socket closes when the peer has ended it.
 * @returns a function that stops, and puts back the bytes for the server of the connection
 */
export function readAhead(socket: Socket): () => void {
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
  // The server of the connection has a listener of its own.
  socket.on('error', () => undefined);
  return () => {
    socket.off('readable', take);
    if (bytes > 0) socket.unshift(Buffer.concat(read));
  };
}
