// An index of selectors by their pairs. Invariant: a selector is stored under one of its pairs, the one with the fewest other
// selectors. A lookup then visits few selectors that do not match.
import { PairIndex } from '../../policy/pair-index.ts';
import type { Pair } from './pairs.ts';

type Entry = { readonly pairs: readonly Pair[]; readonly at: Pair };

export class SelectorIndex {
  readonly #ids = new PairIndex<string>();
  readonly #entries = new Map<string, Entry>();

  /** `null` selects nothing. */
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

  /** The selectors whose every pair is among `pairs`. */
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
