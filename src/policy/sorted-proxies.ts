// The proxies of one MeshService in the order of their names. Invariant: the list is what a sort of all of them gives, and a list that was
// given does not change. A change of one proxy of thousands sorts none of the others.
import { compareText } from '../base/compare-text.ts';
import type { DataplaneProxy } from './dataplane-proxy.ts';

export class SortedProxies {
  #sorted: readonly DataplaneProxy[];
  /** Since the last question. */
  readonly #left = new Set<DataplaneProxy>();
  readonly #joined = new Set<DataplaneProxy>();

  constructor(proxies: Iterable<DataplaneProxy>) {
    this.#sorted = [...proxies].sort(byDisplayName);
  }

  add(proxy: DataplaneProxy): void {
    if (!this.#left.delete(proxy)) this.#joined.add(proxy);
  }

  remove(proxy: DataplaneProxy): void {
    if (!this.#joined.delete(proxy)) this.#left.add(proxy);
  }

  list(): readonly DataplaneProxy[] {
    if (this.#left.size + this.#joined.size === 0) return this.#sorted;
    const kept = this.#left.size === 0 ? this.#sorted : this.#sorted.filter((proxy) => !this.#left.has(proxy));
    this.#sorted = merged(kept, [...this.#joined].sort(byDisplayName));
    this.#left.clear();
    this.#joined.clear();
    return this.#sorted;
  }
}

export function byDisplayName(a: DataplaneProxy, b: DataplaneProxy): number {
  return compareText(a.displayName, b.displayName) || compareText(a.kri, b.kri);
}

/** Both are sorted, and few are new: the place of each is searched. */
function merged(kept: readonly DataplaneProxy[], joined: readonly DataplaneProxy[]): readonly DataplaneProxy[] {
  if (joined.length === 0) return kept;
  const parts: (readonly DataplaneProxy[])[] = [];
  let from = 0;
  for (const proxy of joined) {
    const place = placeOf(proxy, kept, from);
    parts.push(kept.slice(from, place), [proxy]);
    from = place;
  }
  parts.push(kept.slice(from));
  return parts.flat();
}

/** The number of items that stand before a proxy. @param low of those that are known to do so */
function placeOf(proxy: DataplaneProxy, sorted: readonly DataplaneProxy[], low: number): number {
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const other = sorted[middle];
    if (other !== undefined && byDisplayName(other, proxy) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
