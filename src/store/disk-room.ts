// The room on the disk of the embedded store. PGlite blocks the process for ever when it cannot extend its log, so a statement that may
// write begins only while there is room.
import { statfs } from 'node:fs/promises';
import type { PGlite } from 'kysely';
import type { Clock } from '../base/clock.ts';

/**
 * The least room in bytes. A statement writes at most the largest body of the REST API a few times over, in segments of 16 MB.
 */
const LEAST = 128 * 1024 * 1024;
/** The milliseconds for which an answer of the disk holds. */
const FRESH_MS = 250;
const MB = 1024 * 1024;

/** Matches a statement that only reads. */
const READS = /^\s*(?:select|show)\b/i;

export class DiskRoom {
  readonly #clock: Pick<Clock, 'elapsed'>;
  readonly #free: () => Promise<number>;
  #freshUntil = -Infinity;

  /** @param free asks for the bytes that are free on the disk */
  constructor(clock: Pick<Clock, 'elapsed'>, free: () => Promise<number>) {
    this.#clock = clock;
    this.#free = free;
  }

  /** Requires room for a statement. @throws Error with the SQLSTATE of a full disk */
  async require(): Promise<void> {
    if (this.#clock.elapsed() < this.#freshUntil) return;
    const problem = await this.problem();
    if (problem !== null) throw Object.assign(new Error(problem), { code: '53100' });
    this.#freshUntil = this.#clock.elapsed() + FRESH_MS;
  }

  /** The problem that a person should know; null while there is room. */
  async problem(): Promise<string | null> {
    const free = await this.#free();
    if (free >= LEAST) return null;
    return `the disk of the embedded store has ${String(Math.floor(free / MB))} MB free, and a write needs ${String(LEAST / MB)} MB`;
  }

  /** Guards a database: checks the room before each statement that may write. */
  guard(pglite: PGlite): PGlite {
    return {
      get closed() {
        return pglite.closed;
      },
      get ready() {
        return pglite.ready;
      },
      get waitReady() {
        return pglite.waitReady;
      },
      close: () => pglite.close(),
      query: this.#guarded(pglite),
      transaction: (run) => pglite.transaction((tx) => run({ query: this.#guarded(tx), rollback: () => tx.rollback() })),
    };
  }

  #guarded(statements: Pick<PGlite, 'query'>): PGlite['query'] {
    return async (text, ...options) => {
      if (!READS.test(text)) await this.require();
      return await statements.query(text, ...options);
    };
  }
}

/** The room on the disk that has this path. */
export function diskRoomAt(path: string, clock: Pick<Clock, 'elapsed'>): DiskRoom {
  return new DiskRoom(clock, async () => {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  });
}
