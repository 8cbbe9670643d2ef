// Requests that go on while something happens, each counted, on connections of several ages.
import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { connect as connectHttp2, type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, vi } from 'vitest';

/** One client, which asks again and again. */
export type SteadyClient = {
  readonly port: number;
  /** Requests until it opens a new connection; `Infinity`: it keeps its first one. */
  readonly perConnection: number;
  /** Left out: HTTP/1.1. Of TCP each connection is a request: it is answered when all that it said has come back. */
  readonly speaks?: 'http2' | 'tcp';
};

/** A connection, or one after the other. */
type Caller = { readonly ask: () => Promise<string>; readonly close: () => void };

/** Milliseconds between two requests of a client: load that leaves the machine time for others. */
export const PACE_MS = 5;

export class SteadyRequests {
  /** Answer → how many. The body of one with status 200; `failed: `, the status and the words for others. */
  readonly answers = new Map<string, number>();
  #count = 0;
  #isOver = false;

  /** The answers that are failures. */
  get failures(): ReadonlyMap<string, number> {
    return new Map([...this.answers].filter(([answer]) => answer.startsWith('failed: ')));
  }

  /** Asks as long as the work goes on. It may look at them. */
  static async during(
    clients: readonly SteadyClient[],
    work: (requests: SteadyRequests) => Promise<void>,
    paceMs = PACE_MS,
  ): Promise<SteadyRequests> {
    const requests = new SteadyRequests();
    const asking = Promise.all(clients.map((client) => requests.#ask(client, paceMs)));
    await work(requests).finally(() => (requests.#isOver = true));
    await asking;
    return requests;
  }

  /** Waits until so many more were answered, or failed. */
  async more(count: number): Promise<void> {
    const before = this.#count;
    await vi.waitFor(() => expect(this.#count).toBeGreaterThanOrEqual(before + count));
  }

  async #ask({ port, perConnection, speaks }: SteadyClient, paceMs: number): Promise<void> {
    const open = (): Caller => (speaks === 'http2' ? http2Caller(port) : speaks === 'tcp' ? tcpCaller(port) : httpCaller(port));
    let caller = open();
    for (let asked = 1; !this.#isOver; asked += 1) {
      const answer = await caller.ask().catch((error: unknown) => `failed: ${(error as Error).message}`);
      this.answers.set(answer, (this.answers.get(answer) ?? 0) + 1);
      this.#count += 1;
      if (asked % perConnection === 0) {
        caller.close();
        caller = open();
      }
      await delay(paceMs);
    }
    caller.close();
  }
}

function httpCaller(port: number): Caller {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = async (): Promise<string> => {
    const calling = request({ host: '127.0.0.1', port, agent });
    calling.end();
    const [answer] = (await once(calling, 'response')) as [IncomingMessage];
    return answerOf(answer.statusCode, await text(answer));
  };
  return { ask, close: () => agent.destroy() };
}

function http2Caller(port: number): Caller {
  let session: ClientHttp2Session | undefined;
  const opened = (): ClientHttp2Session => {
    if (session !== undefined && !session.closed && !session.destroyed) return session;
    session = connectHttp2(`http://127.0.0.1:${String(port)}`);
    // The request that goes with it says so.
    return session.on('error', () => undefined);
  };
  const ask = async (): Promise<string> => {
    const stream = opened().request({ ':path': '/' });
    const headers = await new Promise<IncomingHttpHeaders>((resolve, reject) => {
      stream.once('response', resolve).once('error', reject);
      stream.once('close', () => reject(new Error(`the stream was closed with code ${String(stream.rstCode)}`)));
    });
    return answerOf(Number(headers[':status']), await text(stream));
  };
  return { ask, close: () => session?.destroy() };
}

function tcpCaller(port: number): Caller {
  const ask = async (): Promise<string> => {
    const socket = connect(port, '127.0.0.1');
    socket.end('words');
    const heard = await text(socket);
    return heard.endsWith('words') ? heard : `failed: heard "${heard}"`;
  };
  return { ask, close: () => undefined };
}

const answerOf = (status: number | undefined, body: string): string =>
  status === 200 ? body : `failed: ${String(status)} ${body}`;
