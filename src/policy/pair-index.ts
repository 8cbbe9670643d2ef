// Items by a pair of strings: (label, value) or (kind, name). Invariant: no empty set remains.

const NONE: ReadonlySet<never> = new Set<never>();

export class PairIndex<T> {
  readonly #items = new Map<string, Map<string, Set<T>>>();

  add(key: string, value: string, item: T): void {
    let values = this.#items.get(key);
    if (values === undefined) this.#items.set(key, (values = new Map<string, Set<T>>()));
    const items = values.get(value);
    if (items === undefined) values.set(value, new Set([item]));
    else items.add(item);
  }

  delete(key: string, value: string, item: T): void {
    const values = this.#items.get(key);
    const items = values?.get(value);
    if (values === undefined || items === undefined) return;
    items.delete(item);
    if (items.size === 0) values.delete(value);
    if (values.size === 0) this.#items.delete(key);
  }

  get(key: string, value: string): ReadonlySet<T> {
    return this.#items.get(key)?.get(value) ?? NONE;
  }

  /** All items under a key, with any value. */
  *under(key: string): Generator<T> {
    for (const items of this.#items.get(key)?.values() ?? []) yield* items;
  }
}
