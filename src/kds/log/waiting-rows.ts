// Rows whose wire name another row has: each waits until the name is free (engine 5).
// Invariant: a row waits for one slot at most, and is returned once when the slot is free.
import { keyText, type ResourceKey } from '../../resource/types.ts';

export class WaitingRows {
  /** The slot that each row waits for, by row. */
  readonly #slots = new Map<string, string>();
  /** The rows that wait for each slot, by slot. */
  readonly #rows = new Map<string, Map<string, ResourceKey>>();
  #ready: ResourceKey[] = [];

  /** Lets a row wait for a slot. @returns false if it waits for this slot already */
  wait(slot: string, { type, mesh, name }: ResourceKey): boolean {
    const key = { type, mesh, name };
    const row = keyText(key);
    if (this.#slots.get(row) === slot) return false;
    this.leave(key);
    this.#slots.set(row, slot);
    const rows = this.#rows.get(slot) ?? new Map<string, ResourceKey>();
    this.#rows.set(slot, rows.set(row, key));
    return true;
  }

  /** Removes a row that was deleted or has a slot. */
  leave(key: ResourceKey): void {
    const row = keyText(key);
    const slot = this.#slots.get(row);
    if (slot === undefined) return;
    this.#slots.delete(row);
    const rows = this.#rows.get(slot);
    rows?.delete(row);
    if (rows?.size === 0) this.#rows.delete(slot);
  }

  /** Removes the rows of a type that no longer exist, after the type was read again. */
  prune(type: string, exists: (key: ResourceKey) => boolean): void {
    const waiting = [...this.#rows.values()].flatMap((rows) => [...rows.values()]);
    for (const key of waiting) if (key.type === type && !exists(key)) this.leave(key);
  }

  /** Makes the rows ready that wait for this slot. */
  free(slot: string): void {
    const rows = [...(this.#rows.get(slot)?.values() ?? [])];
    for (const key of rows) this.leave(key);
    this.#ready.push(...rows);
  }

  /** The waiting rows whose slot was freed since the last call. */
  takeReady(): ResourceKey[] {
    const ready = this.#ready;
    this.#ready = [];
    return ready;
  }
}
