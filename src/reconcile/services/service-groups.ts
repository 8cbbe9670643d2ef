// The Dataplanes behind each generated service of a mesh. Invariant: a Dataplane that changes touches only its own groups.
import type { Membership } from './service-membership.ts';

export class ServiceGroups {
  readonly #members = new Map<string, Map<string, Membership>>();
  readonly #groupsOf = new Map<string, readonly string[]>();

  /** Replaces the services of a Dataplane. @returns the services that it belonged to or belongs to now */
  put(dataplane: string, memberships: readonly Membership[]): Set<string> {
    const before = this.#groupsOf.get(dataplane) ?? [];
    for (const service of before) {
      const members = this.#members.get(service);
      members?.delete(dataplane);
      if (members?.size === 0) this.#members.delete(service);
    }
    for (const membership of memberships) {
      const members = this.#members.get(membership.service) ?? new Map<string, Membership>();
      this.#members.set(membership.service, members.set(dataplane, membership));
    }
    const now = memberships.map(({ service }) => service);
    if (now.length === 0) this.#groupsOf.delete(dataplane);
    else this.#groupsOf.set(dataplane, now);
    return new Set([...before, ...now]);
  }

  /** In no particular order. */
  membersOf(service: string): Membership[] {
    return [...(this.#members.get(service)?.values() ?? [])];
  }

  services(): Iterable<string> {
    return this.#members.keys();
  }
}
