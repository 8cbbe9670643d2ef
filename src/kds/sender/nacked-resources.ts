// The resources of one type that one peer has refused and not accepted since. When a NACK names no resource, halves of the response
// are sent again until each culprit is found. Pure: no clock; the caller calls `retry`.
// Invariant: `refused` has only resources that the peer named, or that it refused alone in a response.
import { NamedItems } from './named-items.ts';
import type { Item } from './response-draft.ts';
import { namedResources, type RefusalReport } from '../protocol/refusal-report.ts';

/**
 * The largest number of responses that search for culprits between two retries. 64 halves find four culprits among 50,000 resources,
 * and bound the cost of a peer that refuses everything.
 */
export const MAX_PROBES = 64;

/** A list of items that go in one response. */
type Group = readonly Item[];

export class NackedResources {
  readonly #refused = new NamedItems();
  /** The items of refused responses without names. At least one item of each response is a culprit. */
  readonly #suspects = new NamedItems();
  /** Wire names whose refusal may have begun, ended or changed since the last report; null without any. */
  #changed: Set<string> | null = null;
  #queue: Group[] = [];
  #probes = MAX_PROBES;
  #revision = 0;

  /** It rises with every change of `refused` or the suspects. */
  get revision(): number {
    return this.#revision;
  }

  /** The number of items that the peer may lack. */
  get size(): number {
    return this.#refused.size + this.#suspects.size;
  }

  /** The reasons of the peer, by item. */
  get refused(): ReadonlyMap<Item, string> {
    return this.#refused.items;
  }

  /** The messages of the peer about its responses, by item. */
  get suspects(): ReadonlyMap<Item, string> {
    return this.#suspects.items;
  }

  /** The report of what the peer refuses now, and of the changes since the last call. The cost is that of the changes. */
  takeReport(): RefusalReport {
    const [refused, suspects] = [this.#refused.byName, this.#suspects.byName];
    const changed = new Map<string, string>();
    const solved: string[] = [];
    for (const name of this.#changed ?? []) {
      const reason = refused.get(name) ?? suspects.get(name);
      if (reason === undefined) solved.push(name);
      else changed.set(name, reason);
    }
    this.#changed = null;
    return { refused: namedResources(refused), suspects: namedResources(suspects), changed, solved };
  }

  /** Notes that the peer refused these by name. */
  refuse(items: Iterable<Item>, reason: string): void {
    for (const item of items) {
      // The latest confirmed culprit is sent again last.
      this.#refused.delete(item);
      this.#refused.set(item, reason);
      this.#suspects.delete(item);
      this.#change(item);
    }
  }

  /** Notes that the peer refused a response with these items and named no culprit. */
  suspect(items: Group, reason: string): void {
    if (items.length <= 1) {
      this.refuse(items, reason);
      return;
    }
    for (const item of items) {
      // The halves of a response are refused with the reason of the whole.
      if (this.refused.has(item) || this.suspects.get(item) === reason) continue;
      this.#suspects.set(item, reason);
      this.#change(item);
    }
    const middle = Math.ceil(items.length / 2);
    this.#queue.push(items.slice(0, middle), items.slice(middle));
  }

  /** Forgets an item: the peer has accepted it, or gets a newer state of it. */
  delete(item: Item): void {
    const was = this.#refused.delete(item) || this.#suspects.delete(item);
    if (was) this.#change(item);
  }

  /** Makes all items due again: first the groups that were not sent yet, then the refused items. */
  retry(): void {
    this.#probes = MAX_PROBES;
    this.#queue = this.#queue.filter((group) => group.some((item) => this.suspects.has(item)));
    if (this.#refused.size > 0) this.#queue.push([...this.refused.keys()]);
  }

  /**
   * Makes items due at once: the peer has lost what had their names.
   * @param names without their meshes
   * @returns whether there are any
   */
  retryNames(names: ReadonlySet<string>): boolean {
    const items = [...this.refused.keys(), ...this.suspects.keys()].filter((item) =>
      namesWithoutMesh(item).some((one) => names.has(one)),
    );
    if (items.length === 0) return false;
    this.#queue.unshift(items);
    this.#probes = Math.max(this.#probes, 1);
    return true;
  }

  /** Whether `takeDue` may return something. */
  get hasDue(): boolean {
    return this.#probes > 0 && this.#queue.length > 0;
  }

  /** The items of the next retry, or null when none is due. */
  takeDue(): Group | null {
    while (this.#probes > 0) {
      const group = this.#queue.shift();
      if (group === undefined) return null;
      const items = group.filter((item) => this.refused.has(item) || this.suspects.has(item));
      if (items.length === 0) continue;
      this.#probes -= 1;
      return items;
    }
    return null;
  }

  /** Returns items that did not fit into the response. Their response does not count as a further probe. */
  putBack(items: Group): void {
    this.#queue.unshift(items);
    this.#probes += 1;
  }

  #change({ wireName }: Item): void {
    this.#revision += 1;
    (this.#changed ??= new Set()).add(wireName);
  }
}

/** The names that a peer may know an item by. A mesh has no dot in its name. */
export function namesWithoutMesh({ wireName, plainName }: Pick<Item, 'wireName' | 'plainName'>): string[] {
  return [wireName, plainName].map((name) => (name.includes('.') ? name.slice(0, name.lastIndexOf('.')) : name));
}
