// A resolver of a machine, as a test wants it: what it answers to each query, by UDP and TCP on one port.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, isIPv6 } from 'node:net';
import { decode, encode, type Answer, type DecodedPacket, type Packet } from 'dns-packet';
import { onTestFinished } from 'vitest';
import type { Transport } from '../../src/dns/own-ports.ts';
import type { Server } from '../../src/dns/resolv-conf.ts';
import { framed, TcpFrames } from '../../src/dns/tcp-frames.ts';
import { freePort } from '../support/free-port.ts';

/** The answer to a query; null for none. */
export type Reply = (query: DecodedPacket, transport: Transport) => Buffer | null;

export class FakeResolver {
  readonly server: Server;
  /** The queries that came, as bytes. */
  readonly asked: Buffer[] = [];
  reply: Reply;

  private constructor(server: Server, reply: Reply) {
    this.server = server;
    this.reply = reply;
  }

  /** @param server its place; left out: a free port of this machine */
  static async start(reply: Reply, server?: Server): Promise<FakeResolver> {
    const resolver = new FakeResolver(server ?? { address: '127.0.0.1', port: await freePort() }, reply);
    await resolver.#listen();
    return resolver;
  }

  async #listen(): Promise<void> {
    const { address, port } = this.server;
    const udp = createSocket(isIPv6(address) ? 'udp6' : 'udp4', (message, from) => {
      const answer = this.#answer(message, 'udp');
      if (answer !== null) udp.send(answer, from.port, from.address);
    }).bind(port, address);
    const tcp = createServer((socket) => {
      const frames = new TcpFrames();
      socket.on('error', () => undefined);
      socket.on('data', (chunk) => {
        for (const message of frames.push(chunk)) {
          const answer = this.#answer(message, 'tcp');
          if (answer === null) socket.destroy();
          else socket.write(framed(answer));
        }
      });
    }).listen(port, address);
    await Promise.all([once(udp, 'listening'), once(tcp, 'listening')]);
    onTestFinished(() => {
      udp.close();
      tcp.close();
    });
  }

  #answer(message: Buffer, transport: Transport): Buffer | null {
    this.asked.push(Buffer.from(message));
    return this.reply(decode(message), transport);
  }
}

/** An answer to a query. */
export function answerTo({ id, questions }: Packet, answers: Answer[], flags = 0): Buffer {
  return encode({ type: 'response', id: id ?? 0, flags, questions: questions ?? [], answers });
}

/** The answer of a resolver that knows each name by these addresses. */
export function addressesAre(...addresses: readonly string[]): Reply {
  return (query) => {
    const [question] = query.questions ?? [];
    const name = question?.name ?? '';
    return answerTo(
      query,
      addresses.map((data) => ({ type: 'A', class: 'IN', ttl: 5, name, data })),
    );
  };
}
