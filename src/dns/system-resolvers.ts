// The resolvers of this machine now. Their file may change at any time: a query looks whether it did, at most once a second.
import { readFile, stat } from 'node:fs/promises';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { localResolvers, parseResolvConf, type Resolvers } from './resolv-conf.ts';

const LOOK_MS = 1_000;

export class SystemResolvers {
  readonly #file: string;
  readonly #clock: Clock;
  readonly #log: Logger;
  #resolvers = localResolvers();
  #lookedAt = -Infinity;
  #looking: Promise<void> | null = null;
  /** Of the file that was read last. */
  #version = '';

  /** @param file the path of a resolv.conf */
  constructor(file: string, { clock, log }: { readonly clock: Clock; readonly log: Logger }) {
    this.#file = file;
    this.#clock = clock;
    this.#log = log;
  }

  /** Never rejects. A file that is gone or names no server changes nothing: it may be half written. */
  async current(): Promise<Resolvers> {
    if (this.#clock.elapsed() - this.#lookedAt >= LOOK_MS) {
      this.#lookedAt = this.#clock.elapsed();
      this.#looking = this.#look().catch(() => undefined);
    }
    await this.#looking;
    return this.#resolvers;
  }

  async #look(): Promise<void> {
    const { ino, size, mtimeNs } = await stat(this.#file, { bigint: true });
    const version = [ino, size, mtimeNs].join(' ');
    if (version === this.#version) return;
    const read = parseResolvConf(await readFile(this.#file, 'utf8'));
    this.#version = version;
    if (read === null) return;
    this.#resolvers = read;
    this.#log.info({ servers: read.servers.map(({ address }) => address) }, `resolvers of ${this.#file}`);
  }
}
