// Selectors and items, both as pairs of strings: a selector selects the items that have all of its pairs.
// Invariants: pairs of different kinds (label, inbound tag, name) are never equal, because their keys differ; the cost of a lookup is
// that of the rarest pair, not of all items or selectors.
import type { Labels } from '../resource/types.ts';
import { PairIndex } from './pair-index.ts';

export type Pair = readonly [key: string, value: string];

/** The pairs of a resource are its labels. The pairs of a `matchLabels` are its required labels. */
export function labelPairs(labels: Labels): Pair[] {
  return pairsOf('label', labels);
}

/** @param sort of pairs; those of different sorts are never equal */
export function pairsOf(sort: string, labels: Labels): Pair[] {
  return Object.entries(labels).map(([key, value]) => [`${sort} ${key}`, value]);
}

/** Items by their pairs. The cost of a lookup is that of its rarest pair. */
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

  /** The items with all of `pairs`; none for an empty list. */
  withAll(pairs: readonly Pair[]): T[] {
    const sets = pairs.map(([key, value]) => this.#items.get(key, value)).sort((a, b) => a.size - b.size);
    const [rarest, ...others] = sets;
    return rarest === undefined ? [] : [...rarest].filter((item) => others.every((set) => set.has(item)));
  }
}

type Indexed = { readonly pairs: readonly Pair[]; readonly at: Pair };

/** Selectors, each under its rarest pair. A lookup visits few selectors that do not match. */
export class SelectorIndex {
  readonly #ids = new PairIndex<string>();
  readonly #entries = new Map<string, Indexed>();

  /** Without pairs, or with `null`, it selects nothing. */
  put(id: string, pairs: readonly Pair[] | null): void {
    this.remove(id);
    const [at] = [...(pairs ?? [])].sort((a, b) => this.#ids.get(...a).size - this.#ids.get(...b).size);
    if (pairs === null || at === undefined) return;
    this.#entries.set(id, { pairs, at });
    this.#ids.add(...at, id);
  }

  remove(id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#ids.delete(...entry.at, id);
    this.#entries.delete(id);
  }

  pairsOf(id: string): readonly Pair[] {
    return this.#entries.get(id)?.pairs ?? [];
  }

  /** The selectors with no pair outside `pairs`. */
  selecting(pairs: readonly Pair[]): Set<string> {
    const carried = new Map<string, Set<string>>();
    for (const [key, value] of pairs) {
      const values = carried.get(key);
      if (values === undefined) carried.set(key, new Set([value]));
      else values.add(value);
    }
    const found = new Set<string>();
    for (const [key, value] of pairs) {
      for (const id of this.#ids.get(key, value)) {
        if (this.pairsOf(id).every((pair) => carried.get(pair[0])?.has(pair[1]) === true)) found.add(id);
      }
    }
    return found;
  }
}
