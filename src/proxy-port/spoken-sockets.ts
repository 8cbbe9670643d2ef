// A socket is handed on when its first bytes are there, which TLS then takes from it. Node sizes the buffer into which TLS reads by
// what it gets first, and keeps it for as long as the connection lasts: from a silent socket that is as much as one read may bring, 64 kB.
import type { Socket } from 'node:net';
import type { Clock } from '../base/clock.ts';

/**
 * Hands a new socket on, once, with unread bytes in it. One that says nothing in time or ends is closed.
 * @param silenceMs milliseconds until its first bytes
 */
export function whenSpoken(socket: Socket, silenceMs: number, clock: Pick<Clock, 'after'>, take: (socket: Socket) => void): void {
  const stop = clock.after(silenceMs, () => socket.destroy());
  socket.on('error', ignore);
  socket.once('close', stop);
  socket.once('readable', () => {
    stop();
    socket.off('close', stop);
    if (socket.readableLength > 0) take(socket);
    else socket.destroy();
  });
}

/** It stays with the socket after the call of `whenSpoken`, so it must refer to nothing of that call. The taker adds a listener of its own. */
function ignore(): void {}
