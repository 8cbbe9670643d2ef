// One query at one resolver, by UDP or by TCP.
import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';
import type { OwnPorts, Transport } from './own-ports.ts';
import { HEADER_BYTES } from './question.ts';
import type { Server } from './resolv-conf.ts';
import { framed, TcpFrames } from './tcp-frames.ts';

export type Exchange = {
  /** Sends the query again, where the transport loses messages. */
  readonly repeat: () => void;
  readonly close: () => void;
};

/** Each may be called several times, until the exchange is closed. */
type Events = {
  readonly answered: (message: Buffer) => void;
  /** The server cannot be asked. */
  readonly failed: () => void;
};

type Open = (server: Server, query: Buffer, own: OwnPorts, events: Events) => Exchange;

/** Sends the query at once. */
export const openExchange: Readonly<Record<Transport, Open>> = { udp: askByUdp, tcp: askByTcp };

const IS_ANSWER = 0x80;

/** The kernel passes on only what comes from the server to this socket. */
function askByUdp(server: Server, query: Buffer, own: OwnPorts, { answered, failed }: Events): Exchange {
  const socket = createSocket({ type: isIPv6(server.address) ? 'udp6' : 'udp4' });
  let forget: (() => void) | null = null;
  const repeat = (): void => {
    if (forget !== null) socket.send(query, (error) => error !== null && failed());
  };
  socket.on('error', failed);
  socket.on('message', (message) => {
    if (isAnswerTo(query, message)) answered(message);
  });
  socket.once('connect', () => {
    forget = own.add('udp', socket.address().port, query);
    repeat();
  });
  // With a callback it would get the error of a server to which no route leads.
  socket.connect(server.port, server.address);
  const close = (): void => {
    forget?.();
    socket.close();
  };
  return { repeat, close };
}

function askByTcp(server: Server, query: Buffer, own: OwnPorts, { answered, failed }: Events): Exchange {
  const socket = connect({ host: server.address, port: server.port });
  const frames = new TcpFrames();
  let forget: (() => void) | null = null;
  socket.once('connect', () => {
    forget = own.add('tcp', socket.localPort ?? 0, query);
    socket.write(framed(query));
  });
  socket.on('data', (chunk) => {
    for (const message of frames.push(chunk)) if (isAnswerTo(query, message)) answered(message);
  });
  socket.on('error', failed);
  socket.on('end', failed);
  const close = (): void => {
    forget?.();
    socket.destroy();
  };
  return { repeat: () => undefined, close };
}

/** The client itself compares the questions. */
function isAnswerTo(query: Buffer, message: Buffer): boolean {
  return (
    message.length >= HEADER_BYTES && message.readUInt16BE(0) === query.readUInt16BE(0) && ((message[2] ?? 0) & IS_ANSWER) !== 0
  );
}
