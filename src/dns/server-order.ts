// Which resolver is asked first. Those that did not answer lately come last, so that one that is down costs one query its time.
import type { Clock } from '../base/clock.ts';
import type { Resolvers, Server } from './resolv-conf.ts';

const LATELY_MS = 30_000;

export class ServerOrder {
  readonly #clock: Pick<Clock, 'elapsed'>;
  /** Servers, as address and port, and when they did not answer. */
  readonly #silentAt = new Map<string, number>();
  #queries = 0;

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock;
  }

  /** The servers for one query, each once. */
  of({ servers, rotates }: Resolvers): readonly Server[] {
    for (const [key, at] of this.#silentAt) if (this.#clock.elapsed() - at >= LATELY_MS) this.#silentAt.delete(key);
    const first = rotates ? this.#queries++ % servers.length : 0;
    const turned = [...servers.slice(first), ...servers.slice(0, first)];
    const isSilent = (server: Server): boolean => this.#silentAt.has(keyOf(server));
    return [...turned.filter((server) => !isSilent(server)), ...turned.filter(isSilent)];
  }

  /** A server answered, or did not. */
  note(server: Server, hasAnswered: boolean): void {
    if (hasAnswered) this.#silentAt.delete(keyOf(server));
    else this.#silentAt.set(keyOf(server), this.#clock.elapsed());
  }
}

function keyOf({ address, port }: Server): string {
  return `${address} ${String(port)}`;
}
