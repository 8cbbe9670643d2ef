// The SPIFFE IDs that MeshIdentities give the proxies of a mesh. A MeshIdentity that is not ready gives none.
// Invariant: the result depends only on the rows, not on the order of their arrival.
import { isDeepStrictEqual } from 'node:util';
import { parseMeshIdentity, selectsProxy, spiffeIdOf, type MeshIdentity } from '../../resource/mesh-identity.ts';
import type { Resource } from '../../resource/types.ts';
import type { DataplaneFacts } from './dataplane-facts.ts';

export class MeshIdentities {
  readonly #mesh: string;
  readonly #zone: string;
  readonly #byName = new Map<string, MeshIdentity>();

  constructor(mesh: string, zone: string) {
    this.#mesh = mesh;
    this.#zone = zone;
  }

  /** @returns whether the SPIFFE IDs of proxies change */
  put(row: Resource): boolean {
    const identity = parseMeshIdentity(row);
    if (isDeepStrictEqual(identity, this.#byName.get(row.name))) return false;
    this.#byName.set(row.name, identity);
    return true;
  }

  /** @returns whether it existed */
  remove(name: string): boolean {
    return this.#byName.delete(name);
  }

  names(): Iterable<string> {
    return this.#byName.keys();
  }

  /** The SPIFFE IDs of a proxy, without identities whose template needs a value that the proxy lacks. */
  idsOf({ labels }: DataplaneFacts): string[] {
    return [...this.#byName.values()].flatMap((identity) => {
      const id = selectsProxy(identity, labels) ? spiffeIdOf(identity, labels, this.#mesh, this.#zone) : null;
      return id === null ? [] : [id];
    });
  }
}
