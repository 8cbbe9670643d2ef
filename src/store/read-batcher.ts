// Combines single reads: new keys wait during a statement and share the next one. A busy API then costs few round trips. A statement
// starts after all its callers have called, so each caller sees its own earlier writes.
import { keyText, type ResourceKey } from '../resource/types.ts';

/** The largest number of statements at a time. Each holds a connection of the pool. */
const MAX_IN_FLIGHT = 2;
const MAX_AT_ONCE = 1_000;

type Waiting<Row> = {
  readonly key: ResourceKey;
  readonly resolve: (row: Row | undefined) => void;
  readonly reject: (error: unknown) => void;
};

/** Reads rows, or the requested columns of them. */
export class ReadBatcher<Row extends ResourceKey> {
  readonly #read: (keys: readonly ResourceKey[]) => Promise<Row[]>;
  #queue: Waiting<Row>[] = [];
  #inFlight = 0;

  constructor(read: (keys: readonly ResourceKey[]) => Promise<Row[]>) {
    this.#read = read;
  }

  async get(key: ResourceKey): Promise<Row | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<Row | undefined>();
    this.#queue.push({ key, resolve, reject });
    // Reads of one turn of the event loop share a statement, from all sockets.
    if (this.#queue.length === 1) setImmediate(() => this.#next());
    return await promise;
  }

  #next(): void {
    if (this.#inFlight >= MAX_IN_FLIGHT || this.#queue.length === 0) return;
    const batch = this.#queue.splice(0, MAX_AT_ONCE);
    this.#inFlight += 1;
    void this.#run(batch).finally(() => {
      this.#inFlight -= 1;
      this.#next();
    });
  }

  async #run(batch: readonly Waiting<Row>[]): Promise<void> {
    try {
      const keys = new Map(batch.map(({ key }) => [keyText(key), key]));
      const rows = new Map((await this.#read([...keys.values()])).map((row) => [keyText(row), row]));
      for (const { key, resolve } of batch) resolve(rows.get(keyText(key)));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
