// Takes DNS queries by TCP: several on one connection, which are answered as their answers come (RFC 7766). Invariant: a client that does
// not read its answers, or that asks faster than resolvers answer, waits.
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { DnsHandler } from './dns-handler.ts';
import { framed, TcpFrames } from './tcp-frames.ts';
import type { Listener } from './udp-listener.ts';

const MAX_CONNECTIONS = 64;
/** Queries of one connection that are read before the first of them is answered. */
const MAX_WAITING = 16;
const IDLE_MS = 10_000;

/** @throws the error of the system for an address or port that cannot be had */
export async function listenTcp(address: string, port: number, handler: DnsHandler): Promise<Listener> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    serve(socket, handler).catch(() => socket.destroy());
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.listen(port, address);
  await once(server, 'listening');
  const close = async (): Promise<void> => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  const bound = server.address();
  return { port: bound !== null && typeof bound === 'object' ? bound.port : port, close };
}

async function serve(socket: Socket, handler: DnsHandler): Promise<void> {
  const frames = new TcpFrames();
  const waiting = new Set<Promise<void>>();
  const answer = async (message: Buffer): Promise<void> => {
    const bytes = await handler.answer(message, 'tcp', socket.remotePort ?? 0);
    if (bytes !== null && socket.writable) socket.write(framed(bytes));
  };
  // Without more, the end of what it reads would end the socket before its answers.
  for await (const chunk of socket.iterator({ destroyOnReturn: false }))
    for (const message of frames.push(chunk as Buffer)) {
      const answering: Promise<void> = answer(message).finally(() => waiting.delete(answering));
      waiting.add(answering);
      if (waiting.size >= MAX_WAITING) await Promise.race(waiting);
      if (socket.writableNeedDrain) await once(socket, 'drain');
    }
  await Promise.all(waiting);
  socket.end();
}
