// Items with a text for each, also by their wire names, so that a report costs what changed and not all of them: a peer may refuse many
// thousand resources. Few names belong to two items, as that of a removed resource and of one that was made again.
import { SparseMap } from '../base/sparse-map.ts';
import type { Item } from './response-draft.ts';

export class NamedItems {
  readonly #items = new SparseMap<Item, string>();
  readonly #names = new SparseMap<string, string>();
  /** The number of items of a name that has several. */
  readonly #shared = new SparseMap<string, number>();

  get size(): number {
    return this.#items.size;
  }

  get items(): ReadonlyMap<Item, string> {
    return this.#items.entries;
  }

  /** Wire name → the text of its latest item. The map changes with the items; read it again after a change. */
  get byName(): ReadonlyMap<string, string> {
    return this.#names.entries;
  }

  has(item: Item): boolean {
    return this.#items.has(item);
  }

  hasName(name: string): boolean {
    return this.#names.has(name);
  }

  set(item: Item, text: string): void {
    const { wireName } = item;
    if (!this.#items.has(item) && this.#names.has(wireName)) this.#shared.set(wireName, (this.#shared.get(wireName) ?? 1) + 1);
    this.#items.set(item, text);
    this.#names.set(wireName, text);
  }

  /** @returns whether there was such an item */
  delete(item: Item): boolean {
    if (!this.#items.delete(item)) return false;
    const { wireName } = item;
    const count = this.#shared.get(wireName) ?? 1;
    if (count === 1) this.#names.delete(wireName);
    else if (count === 2) this.#shared.delete(wireName);
    else this.#shared.set(wireName, count - 1);
    return true;
  }
}
