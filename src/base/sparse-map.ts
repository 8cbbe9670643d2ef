// A map that is usually empty or has one entry: it allocates a Map only for the second entry. An empty Map has 180 bytes, and a
// process with 10,000 zones has hundreds of thousands of them.

type Entry<K, V> = readonly [K, V];

const EMPTY = new Map<never, never>() as ReadonlyMap<never, never>;
const NO_ENTRIES: readonly Entry<never, never>[] = [];

export class SparseMap<K, V> {
  #held: Entry<K, V> | Map<K, V> | null = null;

  /** The entries now. Read it again after a change. */
  get entries(): ReadonlyMap<K, V> {
    if (this.#held === null) return EMPTY;
    return this.#held instanceof Map ? this.#held : this.#grow(this.#held);
  }

  get size(): number {
    if (this.#held === null) return 0;
    return this.#held instanceof Map ? this.#held.size : 1;
  }

  has(key: K): boolean {
    if (this.#held === null) return false;
    return this.#held instanceof Map ? this.#held.has(key) : this.#held[0] === key;
  }

  get(key: K): V | undefined {
    if (this.#held === null) return undefined;
    if (this.#held instanceof Map) return this.#held.get(key);
    return this.#held[0] === key ? this.#held[1] : undefined;
  }

  set(key: K, value: V): void {
    if (this.#held === null || (!(this.#held instanceof Map) && this.#held[0] === key)) this.#held = [key, value];
    else (this.#held instanceof Map ? this.#held : this.#grow(this.#held)).set(key, value);
  }

  /** @returns whether there was an entry */
  delete(key: K): boolean {
    if (!this.has(key)) return false;
    if (this.#held instanceof Map && this.#held.size > 1) this.#held.delete(key);
    else this.#clear();
    return true;
  }

  /** All entries; it has none after that. */
  takeAll(): Iterable<Entry<K, V>> {
    const held = this.#held;
    this.#held = null;
    if (held === null) return NO_ENTRIES;
    return held instanceof Map ? held : [held];
  }

  #grow(entry: Entry<K, V>): Map<K, V> {
    return (this.#held = new Map([entry]));
  }

  /** A loop over the entries ends. */
  #clear(): void {
    if (this.#held instanceof Map) this.#held.clear();
    this.#held = null;
  }
}
