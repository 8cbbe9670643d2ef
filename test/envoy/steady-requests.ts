// Requests that go on while something happens, each counted, on connections of several ages.
import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, vi } from 'vitest';

/** One client, which asks again and again. */
export type SteadyClient = {
  readonly port: number;
  /** Requests until it opens a new connection; `Infinity`: it keeps its first one. */
  readonly perConnection: number;
};

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

  async #ask({ port, perConnection }: SteadyClient, paceMs: number): Promise<void> {
    let agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let asked = 1; !this.#isOver; asked += 1) {
      const answer = await answerOf(port, agent);
      this.answers.set(answer, (this.answers.get(answer) ?? 0) + 1);
      this.#count += 1;
      if (asked % perConnection === 0) {
        agent.destroy();
        agent = new Agent({ keepAlive: true, maxSockets: 1 });
      }
      await delay(paceMs);
    }
    agent.destroy();
  }
}

async function answerOf(port: number, agent: Agent): Promise<string> {
  const calling = request({ host: '127.0.0.1', port, agent });
  try {
    calling.end();
    const [answer] = (await once(calling, 'response')) as [IncomingMessage];
    const body = await text(answer);
    return answer.statusCode === 200 ? body : `failed: ${String(answer.statusCode)} ${body}`;
  } catch (error) {
    return `failed: ${(error as Error).message}`;
  }
}
