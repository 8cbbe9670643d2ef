// The resources of refused responses that are not known to be accepted or refused, in the groups in which they are sent again. Envoy drops
// a whole response, or the rest of it, for one resource (xds 4). Invariants: a resource is in one group at most; a group that is refused
// comes back without what its refusal names, in two halves, so each resource is sent again some log2(n) times for a version.
import type { XdsResource } from './session-messages.ts';

export class Suspects {
  readonly #groups: (readonly XdsResource[])[] = [];
  /** By name, without those that have left their group. */
  readonly #suspected = new Map<string, XdsResource>();

  get size(): number {
    return this.#suspected.size;
  }

  get names(): Iterable<string> {
    return this.#suspected.keys();
  }

  has(name: string): boolean {
    return this.#suspected.has(name);
  }

  /** It goes another way, or is not wanted any more. @returns whether it was suspected */
  delete(name: string): boolean {
    return this.#suspected.delete(name);
  }

  /** @param isHalved whether they go in two groups */
  add(resources: readonly XdsResource[], isHalved: boolean): void {
    const middle = isHalved ? Math.ceil(resources.length / 2) : resources.length;
    for (const resource of resources) this.#suspected.set(resource.name, resource);
    for (const group of [resources.slice(0, middle), resources.slice(middle)]) if (group.length > 0) this.#groups.push(group);
  }

  /** The next group; empty if there is none. Its resources are no longer suspected. */
  take(): readonly XdsResource[] {
    for (let group = this.#groups.shift(); group !== undefined; group = this.#groups.shift()) {
      const left = group.filter((resource) => this.#suspected.get(resource.name) === resource);
      for (const { name } of left) this.#suspected.delete(name);
      if (left.length > 0) return left;
    }
    return [];
  }
}
