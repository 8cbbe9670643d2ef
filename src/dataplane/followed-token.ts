// The token of a proxy in the file of its user, which may change at any time. Invariant: Envoy has the token that was read last, because
// one reading ends before the next one begins.
import { watch } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { every, type Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { KeyedMutex } from '../base/keyed-mutex.ts';
import type { Logger } from '../base/log.ts';

type TokenOptions = {
  readonly file: string;
  /** @throws MeridianError for a file without a token */
  readonly read: () => Promise<string>;
  /** Gives a token to Envoy, the first one too. */
  readonly give: (token: string) => Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
};

/** A link into another folder may lead to another file without a change in its own folder, and a folder may be made again. */
const LOOK_MS = 60_000;

export class FollowedToken {
  readonly #options: TokenOptions;
  readonly #readings = new KeyedMutex();
  #last: string | null = null;
  #said = '';

  constructor(options: TokenOptions) {
    this.#options = options;
  }

  /** The token that is in the file now. A new one is given to Envoy. @throws MeridianError for a file without a token */
  async read(): Promise<string> {
    const { file, read, give, log } = this.#options;
    return await this.#readings.run(file, async () => {
      const token = await read();
      if (token === this.#last) return token;
      await give(token);
      if (this.#last !== null) log.info('there is a new token; the next stream shows it');
      this.#last = token;
      return token;
    });
  }

  /** Reads it when its folder changes, and each minute, until the signal aborts. A file without a token changes nothing. Never rejects. */
  async follow(signal: AbortSignal): Promise<void> {
    const look = async (): Promise<void> => await this.#look();
    await Promise.all([this.#watch(look, signal), every(this.#options.clock, LOOK_MS, signal, look)]);
  }

  async #look(): Promise<void> {
    try {
      await this.read();
      this.#said = '';
    } catch (error) {
      const reason = messageOf(error);
      if (reason !== this.#said) this.#options.log.warn(`${reason}; Envoy keeps its present token`);
      this.#said = reason;
    }
  }

  async #watch(look: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const { file, log } = this.#options;
    try {
      // The folder: a file that is replaced by a rename is another file, and a mounted secret is a link that changes.
      const events = watch(dirname(resolve(file)), { signal })[Symbol.asyncIterator]();
      while ((await events.next()).done !== true) await look();
    } catch (error) {
      if (!signal.aborted)
        log.warn({ reason: messageOf(error) }, `${file} cannot be watched: a new token is seen after a minute at the latest`);
    }
  }
}
