// The compacted log of one type: each resource has one slot at a growing position; a change moves it to the tail.
// Invariant: walking back from the tail meets every slot newer than a position before any older one.
import type { Entry } from './entry.ts';

/** The names of a resource. */
export type SlotNames = {
  /** The identity of a slot: the wire name and, for a type that owns others, its incarnation (engine 7). */
  readonly key: string;
  /** `<name>.<mesh>`: `Resource.name` on the wire. */
  readonly wireName: string;
  /** The name for peers without `hash-suffix`. */
  readonly plainName: string;
};

export type Slot = SlotNames & {
  /** The index of the held bit; it is reused after the slot is dropped. */
  readonly index: number;
  position: number;
  /** It is null for a tombstone. */
  entry: Entry | null;
  /** The number of subscriptions that hold the slot. A tombstone is dropped at zero (engine 4). */
  holders: number;
  previous: Slot | null;
  next: Slot | null;
};

export class TypeLog {
  readonly type: string;
  readonly #byKey = new Map<string, Slot>();
  readonly #byIndex: (Slot | null)[] = [];
  readonly #free: number[] = [];
  /** The slots for the members of a mesh, and those for zones with some labels: a change of a zone concerns these alone. */
  readonly #byMesh = new Map<string, Set<Slot>>();
  readonly #exported = new Set<Slot>();
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
    return this.#byKey.size;
  }

  find(key: string): Slot | undefined {
    return this.#byKey.get(key);
  }

  /** The slot whose held bit has this index. */
  at(index: number): Slot | null {
    return this.#byIndex[index] ?? null;
  }

  /**
   * Puts the latest state of a resource at the tail. A row with another plain name gets another slot than the removed row that had the key
   * before: that tombstone keeps its name, for the peers that know it by this name.
   */
  append(names: SlotNames, entry: Entry): Slot {
    const known = this.#byKey.get(names.key);
    const isLeft = known === undefined || (known.entry === null && known.plainName !== names.plainName);
    const slot = isLeft ? this.#createSlot(names) : known;
    if (!isLeft) {
      this.#unlink(known);
      this.#unindex(known);
    }
    slot.entry = entry;
    this.#link(slot);
    this.#index(slot);
    return slot;
  }

  /** Puts a tombstone at the tail, for the subscriptions that hold the slot. */
  tombstone(slot: Slot): void {
    this.#unindex(slot);
    slot.entry = null;
    this.touch(slot);
    this.#dropIfGone(slot);
  }

  /** Moves an unchanged slot to the tail: its visibility has changed. */
  touch(slot: Slot): void {
    this.#unlink(slot);
    this.#link(slot);
  }

  /** Adds a holder to a slot of the log. */
  hold(slot: Slot): void {
    slot.holders += 1;
  }

  /** Removes a holder. Call it once for each `hold`. */
  release(slot: Slot): void {
    slot.holders -= 1;
    this.#dropIfGone(slot);
  }

  /** The meshes whose members alone see some slots. */
  meshes(): Iterable<string> {
    return this.#byMesh.keys();
  }

  /** The slots that members of the mesh alone see. */
  ofMesh(mesh: string): Iterable<Slot> {
    return this.#byMesh.get(mesh) ?? [];
  }

  /** The slots that zones with some labels alone see. */
  exported(): Iterable<Slot> {
    return this.#exported;
  }

  /** The slots newer than `position`, oldest first. The cost is linear in the number of returned slots. */
  *since(position: number): Generator<Slot> {
    let slot: Slot | null;
    if (position === 0) slot = this.#head;
    else {
      slot = null;
      for (let back = this.#tail; back !== null && back.position > position; back = back.previous) slot = back;
    }
    for (; slot !== null; slot = slot.next) yield slot;
  }

  /** The slots newer than `position`, newest first. */
  *newerThan(position: number): Generator<Slot> {
    for (let slot = this.#tail; slot !== null && slot.position > position; slot = slot.previous) yield slot;
  }

  #createSlot({ key, wireName, plainName }: SlotNames): Slot {
    const index = this.#free.pop() ?? this.#slots++;
    const slot: Slot = { key, wireName, plainName, index, position: 0, entry: null, holders: 0, previous: null, next: null };
    this.#byKey.set(key, slot);
    this.#byIndex[index] = slot;
    return slot;
  }

  #index(slot: Slot): void {
    const visibility = slot.entry?.visibility;
    if (visibility === undefined || visibility.to === 'none') return;
    const { mesh, exportedTo } = visibility;
    if (exportedTo !== undefined) this.#exported.add(slot);
    if (mesh === undefined) return;
    const slots = this.#byMesh.get(mesh) ?? new Set();
    this.#byMesh.set(mesh, slots.add(slot));
  }

  #unindex(slot: Slot): void {
    const visibility = slot.entry?.visibility;
    if (visibility === undefined || visibility.to === 'none') return;
    const { mesh, exportedTo } = visibility;
    if (exportedTo !== undefined) this.#exported.delete(slot);
    const slots = mesh === undefined ? undefined : this.#byMesh.get(mesh);
    slots?.delete(slot);
    if (mesh !== undefined && slots?.size === 0) this.#byMesh.delete(mesh);
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
    if (slot.entry !== null || slot.holders > 0) return;
    this.#unlink(slot);
    if (this.#byKey.get(slot.key) === slot) this.#byKey.delete(slot.key);
    this.#byIndex[slot.index] = null;
    this.#free.push(slot.index);
  }
}
