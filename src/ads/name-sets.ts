// Sets of names that many proxies subscribe to. Invariants: equal sets are one object while anything holds it; a shared set never changes.
// A large set is not shared: a copy for each new name would cost too much.
import { hash } from 'node:crypto';
import { WeakCache } from '../base/weak-cache.ts';

/** The names of a request; a name in both lists is added. */
export type NameEdit = { readonly add: readonly string[]; readonly remove: readonly string[] };

/** Names of the largest set that is shared. */
const MAX_SHARED = 1_000;
/** Known next sets of one set. */
const MAX_NEXT = 16;

export class NameSet {
  readonly #names: Set<string>;
  readonly isShared: boolean;
  /** Proxies that ask alike find the next set without a copy. */
  #next: { readonly edit: NameEdit; readonly held: WeakRef<NameSet> }[] = [];

  constructor(names: Set<string>, isShared: boolean) {
    this.#names = names;
    this.isShared = isShared;
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  get size(): number {
    return this.#names.size;
  }

  next(edit: NameEdit): NameSet | undefined {
    return this.#next.find((known) => isSame(known.edit.add, edit.add) && isSame(known.edit.remove, edit.remove))?.held.deref();
  }

  noteNext(edit: NameEdit, set: NameSet): void {
    this.#next = this.#next.filter(({ held }) => held.deref() !== undefined);
    if (this.#next.length < MAX_NEXT) this.#next.push({ edit, held: new WeakRef(set) });
  }

  /** Only of a set that is not shared. */
  change({ add, remove }: NameEdit): void {
    for (const name of remove) this.#names.delete(name);
    for (const name of add) this.#names.add(name);
  }

  copy(): Set<string> {
    return new Set(this.#names);
  }
}

export class NameSets {
  readonly #known = new WeakCache<NameSet>();
  readonly empty = new NameSet(new Set(), true);

  /** The set after an edit. @param nameOf the same name, as an object that others have */
  edit(set: NameSet, edit: NameEdit, nameOf: (name: string) => string): NameSet {
    const { add, remove } = edit;
    if (add.length + remove.length === 0) return set;
    if (!set.isShared) {
      set.change({ add: add.map(nameOf), remove });
      return set;
    }
    const next = set.next(edit);
    if (next !== undefined) return next;
    const names = set.copy();
    for (const name of remove) names.delete(name);
    for (const name of add) names.add(nameOf(name));
    const made = this.#shared(names);
    if (made.isShared && remove.length <= MAX_SHARED) set.noteNext(edit, made);
    return made;
  }

  #shared(names: Set<string>): NameSet {
    if (names.size === 0) return this.empty;
    if (names.size > MAX_SHARED) return new NameSet(names, false);
    const key = hash('sha256', JSON.stringify([...names].sort()), 'base64url');
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const made = new NameSet(names, true);
    this.#known.set(key, made);
    return made;
  }
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((name, index) => name === other[index]);
}
