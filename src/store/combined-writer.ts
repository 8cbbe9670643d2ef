// Single writes, combined: while one transaction is in flight the writes that arrive wait and go together in the next, as
// one statement with a result for each. NOTIFY serialises commits, so a transaction per write would top out early (design 3).
import { MeridianError } from '../base/errors.ts';
import type { Write, WriteOutcome } from './resource-store.ts';

const MOST_AT_ONCE = 1_000;
/** From here on a transaction takes half of what waits: while the database has the one half, this process works on the other. */
const HALVED_FROM = 32;

type Waiting = {
  readonly write: Write;
  readonly key: string;
  readonly resolve: (outcome: WriteOutcome) => void;
  readonly reject: (error: unknown) => void;
};

export class CombinedWriter {
  readonly #run: (writes: readonly Write[]) => Promise<WriteOutcome[]>;
  #queue: Waiting[] = [];
  #working = false;

  constructor(run: (writes: readonly Write[]) => Promise<WriteOutcome[]>) {
    this.#run = run;
  }

  /** Resolves when the write is committed, or was not possible. */
  async write(write: Write): Promise<WriteOutcome> {
    const { type, mesh, name } = write.key;
    const { promise, resolve, reject } = Promise.withResolvers<WriteOutcome>();
    this.#queue.push({ write, key: JSON.stringify([type, mesh, name]), resolve, reject });
    if (!this.#working) void this.#work();
    return await promise;
  }

  async #work(): Promise<void> {
    this.#working = true;
    while (this.#queue.length > 0) await this.#commit(this.#takeBatch());
    this.#working = false;
  }

  /** The oldest writes; of several to one key only the first, so that each sees what the one before it did. */
  #takeBatch(): Waiting[] {
    const keys = new Set<string>();
    const batch: Waiting[] = [];
    const rest: Waiting[] = [];
    const most = Math.min(MOST_AT_ONCE, Math.max(HALVED_FROM / 2, Math.ceil(this.#queue.length / 2)));
    for (const waiting of this.#queue) {
      if (batch.length < most && !keys.has(waiting.key)) batch.push(waiting);
      else rest.push(waiting);
      keys.add(waiting.key);
    }
    this.#queue = rest;
    return batch;
  }

  async #commit(batch: readonly Waiting[]): Promise<void> {
    try {
      const outcomes = await this.#run(batch.map(({ write }) => write));
      for (const [index, { resolve }] of batch.entries()) resolve(outcomes[index] ?? { result: 'missing' });
    } catch (error) {
      // Nothing of the batch was stored. Alone, only the write that is at fault fails; a database that is away fails them all.
      if (batch.length === 1 || isAway(error)) for (const { reject } of batch) reject(error);
      else for (const waiting of batch) await this.#commit([waiting]);
    }
  }
}

function isAway(error: unknown): boolean {
  return error instanceof MeridianError && error.code === 'unavailable';
}
