// Combines registrations of proxies: those that arrive during a transaction share the next one. After a restart all proxies of a zone come
// at once.

/** The number of registrations of one transaction: a Dataplane has a few kilobytes. */
const MAX_BATCH = 100;

type Waiting<T> = { readonly item: T; readonly resolve: () => void; readonly reject: (error: unknown) => void };

export class HoldQueue<T extends { readonly id: string }> {
  readonly #together: (items: readonly T[]) => Promise<boolean>;
  readonly #alone: (item: T) => Promise<void>;
  #waiting: Waiting<T>[] = [];
  #isRunning = false;

  /**
   * @param together stores all of some items with different ids, or none; it resolves to false if one of them cannot be stored
   * now
   * @param alone stores one item
   */
  constructor(together: (items: readonly T[]) => Promise<boolean>, alone: (item: T) => Promise<void>) {
    this.#together = together;
    this.#alone = alone;
  }

  /** Resolves when the item is stored. Rejects as `alone` does, and as `together` does. */
  async add(item: T): Promise<void> {
    const stored = new Promise<void>((resolve, reject) => this.#waiting.push({ item, resolve, reject }));
    if (!this.#isRunning) void this.#run();
    await stored;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    // Registrations of the same turn share a transaction.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#store(this.#take());
    this.#isRunning = false;
  }

  /** Takes the first items. One with the id of another waits. */
  #take(): Waiting<T>[] {
    const taken = new Map<string, Waiting<T>>();
    const others: Waiting<T>[] = [];
    for (const one of this.#waiting) {
      if (taken.size < MAX_BATCH && !taken.has(one.item.id)) taken.set(one.item.id, one);
      else others.push(one);
    }
    this.#waiting = others;
    return [...taken.values()];
  }

  async #store(batch: readonly Waiting<T>[]): Promise<void> {
    try {
      if (batch.length > 1 && (await this.#together(batch.map(({ item }) => item)))) {
        for (const { resolve } of batch) resolve();
        return;
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
      return;
    }
    await Promise.all(batch.map(({ item, resolve, reject }) => this.#alone(item).then(resolve, reject)));
  }
}
