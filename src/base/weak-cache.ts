// Values by key, each for as long as something else holds it.

export class WeakCache<T extends object> {
  readonly #values = new Map<string, WeakRef<T>>();
  readonly #gone = new FinalizationRegistry<string>((key) => {
    if (this.get(key) === undefined) this.#values.delete(key);
  });

  get(key: string): T | undefined {
    return this.#values.get(key)?.deref();
  }

  set(key: string, value: T): void {
    this.#values.set(key, new WeakRef(value));
    this.#gone.register(value, key);
  }

  /** The number of keys. The keys of values that are gone leave soon after. */
  get size(): number {
    return this.#values.size;
  }
}
