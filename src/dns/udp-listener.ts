// Takes DNS queries by UDP.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import type { DnsHandler } from './dns-handler.ts';

export type Listener = { readonly port: number; readonly close: () => Promise<void> };

/** Bytes of queries that wait in the kernel while this process does something else. */
const RECEIVE_BYTES = 1024 * 1024;
/** Bytes of answers that wait for the kernel. More are lost, as UDP may lose them. */
const MAX_WAITING_BYTES = 1024 * 1024;

/** @param port 0 is any free one @throws the error of the system for an address or port that cannot be had */
export async function listenUdp(address: string, port: number, handler: Pick<DnsHandler, 'answer'>): Promise<Listener> {
  const socket = createSocket({ type: isIPv6(address) ? 'udp6' : 'udp4', recvBufferSize: RECEIVE_BYTES });
  let isOpen = true;
  const send = (answer: Buffer, to: { readonly port: number; readonly address: string }): void => {
    if (isOpen && socket.getSendQueueSize() < MAX_WAITING_BYTES) socket.send(answer, to.port, to.address, () => undefined);
  };
  socket.on('message', (message, from) => {
    // A message without a source port wants no answer (RFC 768), and none can be sent.
    if (from.port === 0) return;
    const answer = handler.answer(message, 'udp', from.port);
    if (answer instanceof Promise) void answer.then((bytes) => send(bytes, from));
    else if (answer !== null) send(answer, from);
  });
  socket.bind(port, address);
  await once(socket, 'listening').catch((error: unknown) => {
    socket.close();
    throw error;
  });
  // A client that is gone is no error of this server.
  socket.on('error', () => undefined);
  const close = async (): Promise<void> => {
    isOpen = false;
    socket.close();
    await once(socket, 'close');
  };
  return { port: socket.address().port, close };
}
