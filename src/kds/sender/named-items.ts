// Items with a text for each, also by their wire names, so that a report costs what changed and not all of them: a peer may refuse many
// thousand resources. Few names belong to two items, as that of a removed resource and of one that was made again. Each stream has two
// of these for each type, and most stay empty: the maps are made when needed.
import type { Item } from './response-draft.ts';

const NO_ITEMS: ReadonlyMap<Item, string> = new Map();
const NO_NAMES: ReadonlyMap<string, string> = new Map();

export class NamedItems {
  #items: Map<Item, string> | null = null;
  #names: Map<string, string> | null = null;
  /** The number of items of a name that has several. */
  #shared: Map<string, number> | null = null;

  get size(): number {
    return this.#items?.size ?? 0;
  }

  get items(): ReadonlyMap<Item, string> {
    return this.#items ?? NO_ITEMS;
  }

  /** The text of the latest item of each wire name. */
  get byName(): ReadonlyMap<string, string> {
    return this.#names ?? NO_NAMES;
  }

  set(item: Item, text: string): void {
    const { wireName } = item;
    const items = (this.#items ??= new Map());
    const names = (this.#names ??= new Map());
    if (!items.has(item) && names.has(wireName)) {
      const shared = (this.#shared ??= new Map<string, number>());
      shared.set(wireName, (shared.get(wireName) ?? 1) + 1);
    }
    items.set(item, text);
    names.set(wireName, text);
  }

  /** Removes an item. @returns whether there was such an item */
  delete(item: Item): boolean {
    if (this.#items?.delete(item) !== true) return false;
    const { wireName } = item;
    const count = this.#shared?.get(wireName) ?? 1;
    if (count > 2) this.#shared?.set(wireName, count - 1);
    else if (count === 2) this.#shared?.delete(wireName);
    else this.#names?.delete(wireName);
    return true;
  }
}
