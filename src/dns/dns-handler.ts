// A message of a client becomes an answer, or none: mesh names at once, all others by resolvers. It counts what became of each.
import { decide, failure, type Outcome } from './answer.ts';
import type { Forwarder } from './forwarder.ts';
import type { MeshNames } from './mesh-names.ts';
import type { Transport } from './own-ports.ts';

/**
 * Messages by what became of them, since the start. `answered`, `missing` and `notKnownYet` (SERVFAIL) are of mesh names; `malformed` ones
 * got FORMERR; `forwarded` ones an answer of a resolver, and `silent`, `full` and `looped` ones SERVFAIL (src/dns/forwarder.ts).
 */
export type DnsCounters = Readonly<Record<keyof ReturnType<typeof noCounts>, number>>;

const noCounts = (): Record<Outcome | 'forwarded' | 'silent' | 'full' | 'looped', number> => ({
  answered: 0,
  missing: 0,
  notKnownYet: 0,
  malformed: 0,
  forwarded: 0,
  silent: 0,
  full: 0,
  looped: 0,
});

export class DnsHandler {
  readonly #names: MeshNames;
  readonly #forwarder: Forwarder;
  readonly #counters = noCounts();

  constructor(names: MeshNames, forwarder: Forwarder) {
    this.#names = names;
    this.#forwarder = forwarder;
  }

  get counters(): DnsCounters {
    return { ...this.#counters };
  }

  /**
   * The answer to a message; null where it wants none. Never throws, and never rejects.
   * @param port the port of the client
   */
  answer(message: Buffer, transport: Transport, port: number): Buffer | null | Promise<Buffer> {
    const decision = decide(message, this.#names, transport);
    if (decision.kind === 'none') return null;
    if (decision.kind === 'forward') return this.#forward(message, decision.end, transport, port);
    this.#counters[decision.outcome] += 1;
    return decision.bytes;
  }

  async #forward(message: Buffer, end: number, transport: Transport, port: number): Promise<Buffer> {
    const forwarded = await this.#forwarder.forward(message, transport, port);
    this.#counters[typeof forwarded === 'string' ? forwarded : 'forwarded'] += 1;
    return typeof forwarded === 'string' ? failure(message, end) : forwarded;
  }
}
