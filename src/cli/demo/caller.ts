// A client of the demo: it sends requests through an Envoy of this machine, and counts failures.
import { Agent, request, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { MeridianError } from '../../base/errors.ts';
import { STEP_LIMIT, STEP_MS } from './step-limit.ts';

/** The number of requests that are under way at any time. */
export const AT_ONCE = 8;

export type Answer = { readonly status: number; readonly body: string };
type Question = { readonly path: string; readonly cart?: string };
/** A request without an answer. */
export const NOTHING: Answer = { status: 0, body: '' };

/** A client that keeps its connections, and counts those that the other side closes. */
export class Caller {
  requests = 0;
  closed = 0;
  readonly #port: number;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  readonly #known = new WeakSet<object>();
  #ending = false;

  constructor(port: number) {
    this.#port = port;
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    const calling = request({ host: '127.0.0.1', port: this.#port, path, headers, agent: this.#agent });
    calling.once('socket', (socket) => {
      if (this.#known.has(socket)) return;
      this.#known.add(socket);
      socket.once('connect', () => socket.once('close', () => (this.closed += this.#ending ? 0 : 1)));
    });
    calling.end();
    const [answer] = (await once(calling, 'response')) as [IncomingMessage];
    this.requests += 1;
    return { status: answer.statusCode ?? 0, body: await text(answer) };
  }

  /** Bodies in the order of the questions. @throws MeridianError for an answer that is no success */
  async many(count: number, make: (at: number) => Question): Promise<string[]> {
    const bodies: string[] = [];
    let next = 0;
    const work = async (): Promise<void> => {
      while (next < count) {
        const at = next++;
        const { path, cart } = make(at);
        const { status, body } = await this.get(path, cart === undefined ? {} : { 'x-cart-id': cart });
        if (status !== 200) throw new MeridianError('unavailable', `a request for ${path} was answered ${String(status)}`);
        bodies[at] = body;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return bodies;
  }

  end(): void {
    this.#ending = true;
    this.#agent.destroy();
  }
}

/** Asks again and again. @throws MeridianError `unavailable` after `STEP_MS` */
export async function until(isTrue: () => Promise<boolean>, what: string, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + STEP_MS;
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new MeridianError('unavailable', `timed out after ${STEP_LIMIT} waiting for ${what}`);
    await delay(20, undefined, { signal });
  }
}
