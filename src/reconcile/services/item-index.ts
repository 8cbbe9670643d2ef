// Items by the pairs that they carry. Invariant: a question costs the rarest of its pairs, not all items.
import { PairIndex } from '../../policy/pair-index.ts';
import type { Pair } from './pairs.ts';

export class ItemIndex<T> {
  readonly #items = new PairIndex<T>();
  readonly #pairs = new Map<T, readonly Pair[]>();

  put(item: T, pairs: readonly Pair[]): void {
    this.remove(item);
    this.#pairs.set(item, pairs);
    for (const [key, value] of pairs) this.#items.add(key, value, item);
  }

  remove(item: T): void {
    for (const [key, value] of this.#pairs.get(item) ?? []) this.#items.delete(key, value, item);
    this.#pairs.delete(item);
  }

  /** The items that carry all of `pairs`; none for an empty question. */
  withAll(pairs: readonly Pair[]): T[] {
    const sets = pairs.map(([key, value]) => this.#items.get(key, value)).sort((a, b) => a.size - b.size);
    const [rarest, ...others] = sets;
    return rarest === undefined ? [] : [...rarest].filter((item) => others.every((set) => set.has(item)));
  }
}
