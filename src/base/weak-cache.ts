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

  /** How many keys it has; those of values that are gone follow soon. */
  get size(): number {
    return this.#values.size;
  }
}
