// The SPIFFE IDs that MeshIdentities give the proxies of a mesh. A MeshIdentity that is not ready gives none, and one that is withdrawn
// gives them until its proxies have done without it.
// Invariant: the result depends only on the rows, not on the order of their arrival.
import { isDeepStrictEqual } from 'node:util';
import {
  givesCertificates,
  heldRow,
  identityNameOf,
  readInForce,
  withdrawnServices,
  type IdentityInForce,
} from '../../resource/identity-in-force.ts';
import { parseMeshIdentity, selectsProxy, spiffeIdOf, type MeshIdentity } from '../../resource/mesh-identity.ts';
import type { Resource } from '../../resource/types.ts';
import type { DataplaneFacts } from './dataplane-facts.ts';

export class MeshIdentities {
  readonly #mesh: string;
  readonly #zone: string;
  readonly #byName = new Map<string, MeshIdentity>();
  /** The identities in force by the name of the MeshIdentity. */
  readonly #held = new Map<string, { readonly inForce: IdentityInForce; readonly identity: MeshIdentity | null }>();
  #withdrawn: ReadonlyMap<string, 'open' | 'clients'> = new Map();

  constructor(mesh: string, zone: string) {
    this.#mesh = mesh;
    this.#zone = zone;
  }

  /** Puts a MeshIdentity. @returns whether the SPIFFE IDs of proxies change */
  put(row: Resource): boolean {
    const identity = parseMeshIdentity(row);
    if (isDeepStrictEqual(identity, this.#byName.get(row.name))) return false;
    this.#byName.set(row.name, identity);
    return true;
  }

  /** Removes a MeshIdentity. @returns whether it existed */
  remove(name: string): boolean {
    return this.#byName.delete(name);
  }

  /** Puts an identity in force. @param row its Secret @returns whether SPIFFE IDs of proxies, or the TLS of services, change */
  putInForce(row: Resource): boolean {
    const name = identityNameOf(row);
    const inForce = name === null ? null : readInForce(row);
    if (name === null || inForce === null) return this.removeInForce(row);
    if (isDeepStrictEqual(inForce, this.#held.get(name)?.inForce)) return false;
    this.#held.set(name, { inForce, identity: givesCertificates(inForce) ? parseMeshIdentity(heldRow(row, inForce)) : null });
    this.#readWithdrawn();
    return true;
  }

  /** Removes an identity in force. @returns whether it existed */
  removeInForce(key: Pick<Resource, 'type' | 'name'>): boolean {
    const existed = this.#held.delete(identityNameOf(key) ?? '');
    if (existed) this.#readWithdrawn();
    return existed;
  }

  names(): Iterable<string> {
    return this.#byName.keys();
  }

  /** The names of the MeshIdentities that are in force. */
  namesInForce(): Iterable<string> {
    return this.#held.keys();
  }

  /** The step in which the TLS of a MeshService is withdrawn; null if it is not. @param kri the KRI of the MeshService */
  withdrawalOf(kri: string): 'open' | 'clients' | null {
    return this.#withdrawn.get(kri) ?? null;
  }

  /** The SPIFFE IDs of a proxy, without identities whose template needs a value that the proxy lacks. */
  idsOf({ labels }: DataplaneFacts): string[] {
    const held = [...this.#held.values()].flatMap(({ identity }) => (identity === null ? [] : [identity]));
    return [...this.#byName.values(), ...held].flatMap((identity) => {
      const id = selectsProxy(identity, labels) ? spiffeIdOf(identity, labels, this.#mesh, this.#zone) : null;
      return id === null ? [] : [id];
    });
  }

  #readWithdrawn(): void {
    this.#withdrawn = withdrawnServices([...this.#held.values()].map(({ inForce }) => inForce));
  }
}
