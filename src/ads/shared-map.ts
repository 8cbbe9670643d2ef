// Immutable maps that many proxies have. Invariants: maps of one room with equal contents are one object; a map lives only as long as
// something holds it. Owners that make equal changes find the changed map without a copy.
import { WeakCache } from '../base/weak-cache.ts';

/** A value with a number of its own, which stands under one name alone. */
type Numbered = { readonly serial: number };

/** What changes in a map; null removes. */
type Edits<T> = ReadonlyMap<string, T | null>;

/** Known next maps of one map, before those that are gone are dropped. */
const MAX_NEXT = 16;

export class SharedMaps<T extends Numbered> {
  readonly #known = new WeakCache<SharedMap<T>>();
  readonly empty: SharedMap<T> = new SharedMap<T>(new Map(), 0);

  /** A map with these edits. */
  edit(map: SharedMap<T>, edits: Edits<T>): SharedMap<T> {
    const key = [...edits].map(([name, value]) => (value === null ? `-${name}` : `${name} ${String(value.serial)}`)).join('\n');
    const next = map.next(key);
    if (next !== undefined) return next;
    const edited = this.#intern(copyOf(map, edits));
    map.noteNext(key, edited);
    return edited;
  }

  /** How many maps there are. */
  get size(): number {
    return this.#known.size;
  }

  #intern(map: SharedMap<T>): SharedMap<T> {
    if (map.size === 0) return this.empty;
    const key = `${String(map.size)} ${String(map.digest)}`;
    const known = this.#known.get(key);
    if (known === undefined) this.#known.set(key, map);
    // Two different maps with one digest are rare: the later one is not shared then.
    return known?.equals(map) === true ? known : map;
  }
}

export class SharedMap<T extends Numbered> {
  readonly #values: ReadonlyMap<string, T>;
  /** By the text of the edits. */
  #next = new Map<string, WeakRef<SharedMap<T>>>();
  /** By other names of the values; made when one is first asked for. */
  #keys: Map<string, string> | null = null;
  /** Of the contents in any order. */
  readonly digest: number;

  constructor(values: ReadonlyMap<string, T>, digest: number) {
    this.#values = values;
    this.digest = digest;
  }

  get(name: string): T | undefined {
    return this.#values.get(name);
  }

  get size(): number {
    return this.#values.size;
  }

  entries(): IterableIterator<[string, T]> {
    return this.#values.entries();
  }

  values(): IterableIterator<T> {
    return this.#values.values();
  }

  /** The name of the value for which `namesOf` has this other name. It is one function for all calls. */
  keyOf(name: string, namesOf: (value: T) => readonly string[]): string | undefined {
    this.#keys ??= new Map([...this.#values].flatMap(([key, value]) => namesOf(value).map((other) => [other, key] as const)));
    return this.#keys.get(name);
  }

  equals(other: SharedMap<T>): boolean {
    if (other.size !== this.size) return false;
    for (const [name, value] of this.#values) if (other.get(name) !== value) return false;
    return true;
  }

  next(key: string): SharedMap<T> | undefined {
    return this.#next.get(key)?.deref();
  }

  noteNext(key: string, map: SharedMap<T>): void {
    if (this.#next.size >= MAX_NEXT) this.#next = new Map([...this.#next].filter(([, held]) => held.deref() !== undefined));
    if (this.#next.size < MAX_NEXT) this.#next.set(key, new WeakRef(map));
  }
}

function copyOf<T extends Numbered>(map: SharedMap<T>, edits: Edits<T>): SharedMap<T> {
  const values = new Map(map.entries());
  let { digest } = map;
  for (const [name, value] of edits) {
    const before = values.get(name);
    if (before !== undefined) digest = (digest - mixed(before.serial)) | 0;
    if (value === null) values.delete(name);
    else {
      digest = (digest + mixed(value.serial)) | 0;
      values.set(name, value);
    }
  }
  return new SharedMap(values, digest);
}

/** The last steps of MurmurHash3: sums of its results tell sets of numbers apart. */
function mixed(value: number): number {
  let bits = value | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}
