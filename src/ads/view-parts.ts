// The parts of one kind in a view: its own parts, and a map of parts that it shares with equal proxies. A part has the name of its main
// resource; other resources of it may have names of their own.
import type { SharedMap, SharedMaps } from './shared-map.ts';

/** A part that proxies share, unless it depends on the proxy itself. */
export type KeptPart = { readonly isOwn: boolean; readonly serial: number };

export class ViewParts<T extends KeptPart> {
  readonly #maps: SharedMaps<T>;
  #shared: SharedMap<T>;
  /** The changes to the shared map since the last `settle`. */
  #edits: Map<string, T | null> | null = null;
  #own: Map<string, T> | null = null;

  constructor(maps: SharedMaps<T>) {
    this.#maps = maps;
    this.#shared = maps.empty;
  }

  get(name: string): T | undefined {
    const edit = this.#edits?.get(name);
    if (edit !== undefined && edit !== null) return edit;
    return this.#own?.get(name) ?? (edit === null ? undefined : this.#shared.get(name));
  }

  /** The part for which `namesOf` has a name. */
  find(name: string, namesOf: (part: T) => readonly string[]): T | undefined {
    for (const part of this.#edits?.values() ?? []) if (part !== null && namesOf(part).includes(name)) return part;
    for (const part of this.#own?.values() ?? []) if (namesOf(part).includes(name)) return part;
    const key = this.#shared.keyOf(name, namesOf);
    return key === undefined || this.#edits?.has(key) === true || this.#own?.has(key) === true
      ? undefined
      : this.#shared.get(key);
  }

  /** Null removes it. */
  set(name: string, part: T | null): void {
    if (part?.isOwn === true) (this.#own ??= new Map<string, T>()).set(name, part);
    else this.#own?.delete(name);
    const shared = part?.isOwn === true ? null : part;
    if ((this.#shared.get(name) ?? null) === shared) this.#edits?.delete(name);
    else (this.#edits ??= new Map<string, T | null>()).set(name, shared);
  }

  /** All parts, once settled; null where some of them are its own. */
  get shared(): SharedMap<T> | null {
    this.settle();
    return this.#own === null ? this.#shared : null;
  }

  /** Takes the parts of another view in the place of its own. */
  adopt(map: SharedMap<T>): void {
    this.#shared = map;
    this.#edits = null;
    this.#own = null;
  }

  /** The names with parts of its own. */
  ownNames(): string[] {
    return [...(this.#own?.keys() ?? [])];
  }

  *entries(): Generator<[string, T]> {
    this.settle();
    yield* this.#shared.entries();
    if (this.#own !== null) yield* this.#own.entries();
  }

  /** Visits each part, without an entry for it. */
  forEach(visit: (part: T) => void): void {
    this.settle();
    for (const part of this.#shared.values()) visit(part);
    if (this.#own !== null) for (const part of this.#own.values()) visit(part);
  }

  /** A change has ended: its edits make one map. */
  settle(): void {
    if (this.#own?.size === 0) this.#own = null;
    if (this.#edits === null) return;
    if (this.#edits.size > 0) this.#shared = this.#maps.edit(this.#shared, this.#edits);
    this.#edits = null;
  }
}
