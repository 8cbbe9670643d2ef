// Queries that resolvers of this machine answer, as bytes in both directions. Invariant: their number at one time is limited.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { RateLimitedLogger } from '../base/rate-limited-logger.ts';
import { askInTurn } from './ask-in-turn.ts';
import { openExchange } from './exchanges.ts';
import { OwnPorts, type Transport } from './own-ports.ts';
import type { Resolvers, Server } from './resolv-conf.ts';
import { ServerOrder } from './server-order.ts';

type ForwarderOptions = {
  readonly resolvers: { readonly current: () => Promise<Resolvers> };
  readonly clock: Clock;
  readonly log: Logger;
};

/** `looped`: the query was sent by this server. `full`: too many others wait. `silent`: no resolver answered. */
type Forwarded = Buffer | 'looped' | 'full' | 'silent';

/** Queries on their way. Each has a socket for each server that it was sent to. */
const MAX_WAITING = 256;

export class Forwarder {
  readonly #options: ForwarderOptions;
  readonly #log: RateLimitedLogger;
  readonly #order: ServerOrder;
  readonly #own = new OwnPorts();
  readonly #over = new AbortController();
  #waiting = 0;

  constructor(options: ForwarderOptions) {
    this.#options = options;
    this.#log = new RateLimitedLogger(options.log, () => options.clock.elapsed());
    this.#order = new ServerOrder(options.clock);
  }

  /** Queries on their way now. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Asks the resolvers. Never rejects.
   * @param port the port of the client
   */
  async forward(query: Buffer, transport: Transport, port: number): Promise<Forwarded> {
    if (this.#own.has(transport, port, query)) {
      this.#log.warn('looped', {}, 'queries to resolvers come back to this DNS server: exclude its user from the redirection');
      return 'looped';
    }
    if (this.#waiting >= MAX_WAITING) {
      this.#log.warn('full', { waiting: MAX_WAITING }, 'too many DNS queries wait for resolvers: more are refused');
      return 'full';
    }
    this.#waiting += 1;
    try {
      return await this.#ask(query, transport);
    } finally {
      this.#waiting -= 1;
    }
  }

  /** Ends the queries that wait. */
  close(): void {
    this.#over.abort();
  }

  async #ask(query: Buffer, transport: Transport): Promise<Buffer | 'silent'> {
    const resolvers = await this.#options.resolvers.current();
    const servers = this.#order.of(resolvers);
    const answer = await askInTurn(Array.from({ length: resolvers.attempts }, () => servers).flat(), {
      clock: this.#options.clock,
      // The client asks again after the whole time. By then each server was asked.
      turnMs: resolvers.timeoutMs / servers.length,
      open: (server, events) => openExchange[transport](server, query, this.#own, events),
      note: (server, hasAnswered) => this.#order.note(server, hasAnswered),
      signal: this.#over.signal,
    });
    if (answer !== null) return answer;
    if (!this.#over.signal.aborted) this.#log.warn('silent', { servers: servers.map(addressOf) }, 'no resolver answers');
    return 'silent';
  }
}

function addressOf({ address }: Server): string {
  return address;
}
