// What one peer has refused of one type and not accepted since. A peer that names no resource in its NACK is asked again with
// halves of the response until each culprit stands alone. Pure: no clock; `retry` comes from outside.
// Invariant: `refused` holds only resources that the peer named, or that it refused in a response of their own.
import type { Item } from './draft.ts';

/**
 * Responses that look for culprits between two retries. A NACK is rare, and a retry comes after 5 seconds at first: 64 halves
 * find four culprits among 50,000 at once, and bound what a peer costs that refuses everything.
 */
export const MAX_PROBES = 64;

/** A list of items that go in one response. */
type Group = readonly Item[];

export class NackedResources {
  readonly #refused = new Map<Item, string>();
  /** At least one of those that came in one response was refused. */
  readonly #suspects = new Map<Item, string>();
  #queue: Group[] = [];
  #probes = MAX_PROBES;
  #revision = 0;

  /** Rises with every change of `refused` or the suspects. */
  get revision(): number {
    return this.#revision;
  }

  /** How many items the peer may lack. */
  get size(): number {
    return this.#refused.size + this.#suspects.size;
  }

  /** Item → the peer's reason. */
  get refused(): ReadonlyMap<Item, string> {
    return this.#refused;
  }

  /** Item → the peer's message about its response. */
  get suspects(): ReadonlyMap<Item, string> {
    return this.#suspects;
  }

  /** The peer refused these by name. */
  refuse(items: Iterable<Item>, reason: string): void {
    for (const item of items) {
      // The one that was confirmed last is asked about last.
      this.#refused.delete(item);
      this.#refused.set(item, reason);
      this.#suspects.delete(item);
      this.#revision += 1;
    }
  }

  /** The peer refused a response with these items and named no culprit. */
  suspect(items: Group, reason: string): void {
    if (items.length <= 1) {
      this.refuse(items, reason);
      return;
    }
    for (const item of items) if (!this.#refused.has(item)) this.#suspects.set(item, reason);
    this.#revision += 1;
    const middle = Math.ceil(items.length / 2);
    this.#queue.push(items.slice(0, middle), items.slice(middle));
  }

  /** The peer has it, or has something newer to decide on. */
  delete(item: Item): void {
    // Every item of every acknowledged response passes here, and to look for one in a Map costs it a hash.
    if (this.size === 0) return;
    const was = this.#refused.delete(item) || this.#suspects.delete(item);
    if (was) this.#revision += 1;
  }

  /** All items are due again: first the groups that were not sent yet, then the refused items. */
  retry(): void {
    this.#probes = MAX_PROBES;
    this.#queue = this.#queue.filter((group) => group.some((item) => this.#suspects.has(item)));
    if (this.#refused.size > 0) this.#queue.push([...this.#refused.keys()]);
  }

  /** The items of the next response that asks again, or null when none is due. */
  takeDue(): Group | null {
    while (this.#probes > 0) {
      const group = this.#queue.shift();
      if (group === undefined) return null;
      const items = group.filter((item) => this.#refused.has(item) || this.#suspects.has(item));
      if (items.length === 0) continue;
      this.#probes -= 1;
      return items;
    }
    return null;
  }

  /** Items that did not fit into the response go into the next one, which does not count as a further probe. */
  putBack(items: Group): void {
    this.#queue.unshift(items);
    this.#probes += 1;
  }
}
