// A cache of configuration parts. Proxies with the same policies share a part; a part that depends on the proxy itself is built for each.
// Invariants: a part reflects the last change of its service, and is kept only while a view has it.
import { WeakCache } from '../base/weak-cache.ts';

/** A part, and whether it looks at the proxy itself. */
type CachedPart = { readonly isOwn: boolean };

export class PartCache<T extends CachedPart> {
  readonly #services = new Map<string, WeakCache<T>>();

  /**
   * @param service KRI
   * @param key names all that the part depends on, but for the proxy and for what `forget` is called for
   * @param version names the proxy in its present version
   */
  get(service: string, key: string, version: number, make: () => T): T {
    const known = this.peek(service, key, version);
    if (known !== undefined) return known;
    const parts = this.#partsOf(service);
    const part = make();
    parts.set(part.isOwn ? ownKey(key, version) : key, part);
    return part;
  }

  /** The part that is there. */
  peek(service: string, key: string, version: number): T | undefined {
    const parts = this.#services.get(service);
    // What a part looks at depends on the key: under one key either all proxies share it, or none.
    return parts?.get(key) ?? parts?.get(ownKey(key, version));
  }

  forget(service: string): void {
    this.#services.delete(service);
  }

  clear(): void {
    this.#services.clear();
  }

  /** How many parts it has. */
  get size(): number {
    return [...this.#services.values()].reduce((sum, parts) => sum + parts.size, 0);
  }

  #partsOf(service: string): WeakCache<T> {
    let parts = this.#services.get(service);
    if (parts === undefined) this.#services.set(service, (parts = new WeakCache<T>()));
    return parts;
  }
}

function ownKey(key: string, version: number): string {
  return `${key} ${String(version)}`;
}
