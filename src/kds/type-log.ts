// The compacted log of one type: each wire name has one slot at a growing position; a change moves it to the tail.
// Invariant: walking back from the tail meets every slot newer than a position before any older one.
import type { Audience } from './rules.ts';

/** What goes to the zones: the latest state of a resource, encoded once for all of them. */
export type Entry = {
  readonly audience: Audience;
  /** SHA-256 of the KumaResource, lowercase hex (kds-wire 2.3). */
  readonly version: string;
  /** A `Resource` as field 2 of a response, tag and length included. */
  readonly bytes: Uint8Array;
  /** The bytes under the un-hashed name, made when a peer without `hash-suffix` first needs them (decisions D28). */
  readonly plain: () => { readonly wireName: string; readonly version: string; readonly bytes: Uint8Array };
};

export type Slot = {
  /** Index of the held bit; used again after the slot is gone. */
  readonly index: number;
  /** `<name>.<mesh>`: `Resource.name` on the wire. */
  readonly wireName: string;
  /** The same for peers without `hash-suffix`. */
  readonly plainName: string;
  position: number;
  /** Null: a tombstone. */
  entry: Entry | null;
  /** How many subscriptions hold the slot: a tombstone goes when nobody does (engine 4). */
  holders: number;
  previous: Slot | null;
  next: Slot | null;
};

export class TypeLog {
  readonly type: string;
  readonly #byName = new Map<string, Slot>();
  readonly #free: number[] = [];
  #head: Slot | null = null;
  #tail: Slot | null = null;
  #position = 0;
  #slots = 0;

  constructor(type: string) {
    this.type = type;
  }

  /** Position of the newest entry; 0 before the first. */
  get position(): number {
    return this.#position;
  }

  get size(): number {
    return this.#byName.size;
  }

  find(wireName: string): Slot | undefined {
    return this.#byName.get(wireName);
  }

  /** Puts the latest state of a wire name at the tail; null writes a tombstone. */
  append(wireName: string, plainName: string, entry: Entry | null): Slot | undefined {
    let slot = this.#byName.get(wireName);
    if (slot === undefined) {
      if (entry === null) return undefined;
      slot = {
        index: this.#free.pop() ?? this.#slots++,
        wireName,
        plainName,
        position: 0,
        entry,
        holders: 0,
        previous: null,
        next: null,
      };
      this.#byName.set(wireName, slot);
    } else {
      this.#unlink(slot);
      slot.entry = entry;
    }
    this.#link(slot);
    this.#dropIfGone(slot);
    return slot;
  }

  /** Moves a slot to the tail as it is: who may see it has changed. */
  touch(slot: Slot): void {
    this.#unlink(slot);
    this.#link(slot);
  }

  hold(slot: Slot): void {
    slot.holders += 1;
  }

  release(slot: Slot): void {
    slot.holders -= 1;
    this.#dropIfGone(slot);
  }

  /** The slots newer than `position`, oldest first; O(what it returns). */
  *since(position: number): Generator<Slot> {
    let slot: Slot | null;
    if (position === 0) slot = this.#head;
    else {
      slot = null;
      for (let back = this.#tail; back !== null && back.position > position; back = back.previous) slot = back;
    }
    for (; slot !== null; slot = slot.next) yield slot;
  }

  #link(slot: Slot): void {
    slot.position = ++this.#position;
    slot.previous = this.#tail;
    slot.next = null;
    if (this.#tail === null) this.#head = slot;
    else this.#tail.next = slot;
    this.#tail = slot;
  }

  #unlink(slot: Slot): void {
    if (slot.previous === null) this.#head = slot.next;
    else slot.previous.next = slot.next;
    if (slot.next === null) this.#tail = slot.previous;
    else slot.next.previous = slot.previous;
  }

  #dropIfGone(slot: Slot): void {
    if (slot.entry !== null || slot.holders > 0 || this.#byName.get(slot.wireName) !== slot) return;
    this.#unlink(slot);
    this.#byName.delete(slot.wireName);
    this.#free.push(slot.index);
  }
}
