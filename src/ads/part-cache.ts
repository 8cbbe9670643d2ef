// Parts of configurations that several proxies share: made once for all proxies with the same policies, or once a proxy where the
// part looks at the proxy itself. Invariant: a part is of the last change of its service.
import type { Client } from '../xds/client.ts';

/** Parts of one service after which they are all forgotten: each change of an own policy makes new keys. */
const MAX_PARTS = 20_000;

/** The part differs between proxies with the same key. */
const PER_CLIENT = Symbol('per client');

export class PartCache<T> {
  readonly #services = new Map<string, Map<string, T | typeof PER_CLIENT>>();

  /**
   * @param service KRI
   * @param key names all that the part depends on, but for the client and for what `forget` is called for
   * @param client has a part of its own where the part looks at it
   * @param version names the client in its present version
   */
  get(service: string, key: string, client: Client, version: number, make: () => T): T {
    const parts = this.#partsOf(service);
    const shared = parts.get(key);
    if (shared !== undefined && shared !== PER_CLIENT) return shared;
    const ownKey = `${key} ${String(version)}`;
    const own = shared === PER_CLIENT ? parts.get(ownKey) : undefined;
    if (own !== undefined && own !== PER_CLIENT) return own;
    client.takeRead();
    const part = make();
    if (client.takeRead()) parts.set(key, PER_CLIENT).set(ownKey, part);
    else parts.set(key, part);
    return part;
  }

  forget(service: string): void {
    this.#services.delete(service);
  }

  clear(): void {
    this.#services.clear();
  }

  #partsOf(service: string): Map<string, T | typeof PER_CLIENT> {
    let parts = this.#services.get(service);
    if (parts === undefined || parts.size > MAX_PARTS)
      this.#services.set(service, (parts = new Map<string, T | typeof PER_CLIENT>()));
    return parts;
  }
}
