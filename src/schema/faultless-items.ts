// The items of long lists in which a check found nothing. Such an item is the same frozen object in all versions of a document
// (long-lists.ts), so the check finds nothing in it the next time.
import { MIN_ITEMS } from '../base/long-lists.ts';
import type { Json } from '../resource/types.ts';

export class FaultlessItems {
  readonly #known = new WeakMap<object, WeakSet<object>>();

  /**
   * Checks the items of a list in which nothing was found before.
   * @param by the schema of the items
   * @param check returns whether it found nothing in an item
   * @param options.whole by default all items are checked; with false the check ends at the first fault
   * @returns whether nothing was found
   */
  check(
    by: object,
    list: readonly Json[],
    check: (item: Json, index: number) => boolean,
    { whole = true }: { readonly whole?: boolean } = {},
  ): boolean {
    const known = list.length < MIN_ITEMS ? null : this.#knownOf(by);
    let isFaultless = true;
    for (let index = 0; index < list.length && (isFaultless || whole); index += 1) {
      const item = list[index] ?? null;
      const canBeKnown = known !== null && typeof item === 'object' && item !== null;
      if (canBeKnown && known.has(item)) continue;
      if (!check(item, index)) isFaultless = false;
      else if (canBeKnown && Object.isFrozen(item)) known.add(item);
    }
    return isFaultless;
  }

  #knownOf(by: object): WeakSet<object> {
    let known = this.#known.get(by);
    if (known === undefined) this.#known.set(by, (known = new WeakSet()));
    return known;
  }
}
