// Builds one response. Invariant: the first item always fits; the limits hold for the others.
import type { Slot } from '../log/type-log.ts';

/** The content of one response: encoded resources and removed names. */
export type Draft = {
  readonly entries: readonly Uint8Array[];
  readonly removed: readonly string[];
  /** The size of resources and names. */
  readonly bytes: number;
  /** More parts of the full state follow: the peer must not prune yet. */
  readonly isPartial: boolean;
  /** The removed Meshes exist, and go from this peer alone. */
  readonly isWithdrawal: boolean;
  /** The position of the log that the peer reaches with this response. */
  readonly upTo: number;
};

/** A name that the log never had. The peer reported it when it subscribed. */
export type Stray = Pick<Slot, 'wireName' | 'plainName'> & { readonly isStray: true };

/** The content of one response. */
export type Item = Slot | Stray;

/** The size of tag and length beside a removed name. */
const NAME_BYTES = 5;

export class DraftBuilder {
  readonly entries: Uint8Array[] = [];
  readonly removed = new Set<string>();
  readonly added: Slot[] = [];
  readonly gone: Item[] = [];
  bytes = 0;
  isWithdrawal = false;
  readonly #fullBytes: number;
  readonly #maxBytes: number;

  /** Limits the response: it ends after `fullBytes`, and never has more than `maxBytes`. */
  constructor(fullBytes: number, maxBytes: number) {
    this.#fullBytes = fullBytes;
    this.#maxBytes = maxBytes;
  }

  get isEmpty(): boolean {
    return this.entries.length === 0 && this.removed.size === 0;
  }

  /** Adds a resource. @returns false if it does not fit */
  add(slot: Slot, bytes: Uint8Array): boolean {
    if (!this.#reserve(bytes.length)) return false;
    this.entries.push(bytes);
    this.added.push(slot);
    return true;
  }

  /** Adds a removed name. @returns false if it does not fit, also for a withdrawal beside removals of another kind */
  remove(name: string, item: Item, isWithdrawal = false): boolean {
    if (this.removed.size > 0 && this.isWithdrawal !== isWithdrawal) return false;
    if (!this.removed.has(name) && !this.#reserve(Buffer.byteLength(name) + NAME_BYTES)) return false;
    this.isWithdrawal = isWithdrawal;
    this.removed.add(name);
    this.gone.push(item);
    return true;
  }

  /** The wire names of the items up to a position. */
  namesUpTo(position: number): readonly string[] {
    const names: string[] = [];
    for (const items of [this.added, this.gone])
      for (const item of items) if (isStray(item) || item.position <= position) names.push(item.wireName);
    return names;
  }

  finish(upTo: number, isPartial: boolean): Draft {
    const { entries, bytes, isWithdrawal } = this;
    return { entries, removed: [...this.removed], bytes, isPartial, isWithdrawal, upTo };
  }

  #reserve(bytes: number): boolean {
    if (!this.isEmpty && (this.bytes >= this.#fullBytes || this.bytes + bytes > this.#maxBytes)) return false;
    this.bytes += bytes;
    return true;
  }
}

export function isStray(item: Item): item is Stray {
  return 'isStray' in item;
}
