// Equal questions that are asked while one is being answered: they wait and share the next answer. Invariant: an answer was begun
// after everybody who gets it had asked, so nobody sees a state older than his own write.

export class SharedCalls {
  readonly #entries = new Map<string, { running: Promise<unknown>; waiting: Promise<unknown> | null }>();

  /** @param key says what is asked; equal keys must come with equal `run`s */
  async call<T>(key: string, run: () => Promise<T>): Promise<T> {
    const entry = this.#entries.get(key);
    if (entry === undefined) return await this.#start(key, run);
    entry.waiting ??= entry.running.then(
      () => this.#start(key, run),
      () => this.#start(key, run),
    );
    return (await entry.waiting) as T;
  }

  #start<T>(key: string, run: () => Promise<T>): Promise<T> {
    const running = run();
    const entry = { running, waiting: null };
    this.#entries.set(key, entry);
    const end = (): void => {
      if (this.#entries.get(key) === entry && entry.waiting === null) this.#entries.delete(key);
    };
    running.then(end, end);
    return running;
  }
}
