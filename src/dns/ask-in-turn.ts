// A query at several resolvers: one after the other, until one answers. A late answer of an earlier one counts too.
import type { Clock } from '../base/clock.ts';
import type { Exchange } from './exchanges.ts';
import type { Server } from './resolv-conf.ts';

type Context = {
  readonly clock: Pick<Clock, 'after'>;
  /** Milliseconds of one turn. */
  readonly turnMs: number;
  /** Asks one server, at once. */
  readonly open: (
    server: Server,
    events: { readonly answered: (message: Buffer) => void; readonly failed: () => void },
  ) => Exchange;
  /** A server answered, or did not in its turn. */
  readonly note: (server: Server, hasAnswered: boolean) => void;
  readonly signal: AbortSignal;
};

/** Answers after which another server is asked: SERVFAIL, NOTIMP and REFUSED. */
const FAILURES: ReadonlySet<number> = new Set([2, 4, 5]);

/**
 * Asks a server in each turn. One that failed is not asked again.
 * @param turns servers, also the same ones again
 * @returns the first answer; else one that says that its server failed; null without any, and when the signal aborts
 */
export async function askInTurn(turns: readonly Server[], context: Context): Promise<Buffer | null> {
  return await new Asking(turns, context).run();
}

class Asking {
  readonly #turns: readonly Server[];
  readonly #context: Context;
  readonly #result = Promise.withResolvers<Buffer | null>();
  /** Null: the server failed, and is not asked again. */
  readonly #exchanges = new Map<Server, Exchange | null>();
  #failure: Buffer | null = null;
  #at = -1;
  #isOver = false;
  #cancel = (): void => undefined;

  constructor(turns: readonly Server[], context: Context) {
    this.#turns = turns;
    this.#context = context;
  }

  async run(): Promise<Buffer | null> {
    const { signal } = this.#context;
    const stop = (): void => this.#result.resolve(null);
    signal.addEventListener('abort', stop);
    try {
      this.#next();
      return await this.#result.promise;
    } finally {
      this.#isOver = true;
      signal.removeEventListener('abort', stop);
      this.#cancel();
      for (const exchange of this.#exchanges.values()) exchange?.close();
    }
  }

  #next(): void {
    this.#cancel();
    this.#at = this.#turns.findIndex((server, at) => at > this.#at && this.#exchanges.get(server) !== null);
    const server = this.#turns[this.#at];
    if (server === undefined) {
      this.#result.resolve(this.#failure);
      return;
    }
    this.#cancel = this.#context.clock.after(this.#context.turnMs, () => {
      this.#context.note(server, false);
      this.#next();
    });
    this.#ask(server);
  }

  #ask(server: Server): void {
    const known = this.#exchanges.get(server);
    if (known !== undefined) {
      known?.repeat();
      return;
    }
    const exchange = this.#context.open(server, {
      answered: (message) => this.#answered(server, message),
      failed: () => this.#failed(server),
    });
    this.#exchanges.set(server, exchange);
  }

  #answered(server: Server, message: Buffer): void {
    if (this.#isOver) return;
    this.#context.note(server, true);
    if (!FAILURES.has((message[3] ?? 0) & 0xf)) {
      this.#result.resolve(message);
      return;
    }
    this.#failure = message;
    this.#end(server);
  }

  #failed(server: Server): void {
    if (this.#isOver) return;
    this.#context.note(server, false);
    this.#end(server);
  }

  #end(server: Server): void {
    this.#exchanges.get(server)?.close();
    this.#exchanges.set(server, null);
    if (this.#turns[this.#at] === server) this.#next();
  }
}
