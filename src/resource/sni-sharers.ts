// The services of a mesh that a zone proxy cannot tell apart by their server names: a name with a dot is the same text as a name with a
// namespace, and the hashed form does not say who made a service. The oldest has the server names. Invariant: the answer depends only
// on the services, never on the order of their arrival.
import { compareText } from '../base/compare-text.ts';
import { zoneNamed } from './ownership.ts';
import { kumaSni, serviceSni } from './sni.ts';
import { keyText, type Resource } from './types.ts';

export class SniSharers {
  readonly #groups = new Map<string, Map<string, Resource>>();

  /** Adds a service; anything else is ignored. Remove the one with this key first. */
  add(resource: Resource): void {
    for (const name of groupsOf(resource)) {
      const group = this.#groups.get(name) ?? new Map<string, Resource>();
      this.#groups.set(name, group.set(keyText(resource), resource));
    }
  }

  remove(resource: Resource): void {
    for (const name of groupsOf(resource)) {
      const group = this.#groups.get(name);
      group?.delete(keyText(resource));
      if (group?.size === 0) this.#groups.delete(name);
    }
  }

  /** The other services with one of its server names, if their ports are the same. */
  of(resource: Resource): Resource[] {
    return this.#othersIn(groupsOf(resource), resource);
  }

  /** The older services among them: they have the server names. */
  before(resource: Resource): Resource[] {
    return this.of(resource).filter((other) => isOlder(other, resource));
  }

  /** Whether no older service has its name in the hashed form. */
  hasHashed(resource: Resource): boolean {
    return !this.#othersIn(groupsOf(resource).slice(0, 1), resource).some((other) => isOlder(other, resource));
  }

  #othersIn(groups: readonly string[], resource: Resource): Resource[] {
    const id = keyText(resource);
    const found = groups.flatMap((name) => [...(this.#groups.get(name)?.values() ?? [])]);
    return [...new Set(found)].filter((other) => keyText(other) !== id);
  }
}

function isOlder(a: Resource, b: Resource): boolean {
  return (a.creationTime.getTime() - b.creationTime.getTime() || compareText(keyText(a), keyText(b))) < 0;
}

/**
 * The keys of the groups of a service: the hashed form first, without ports. A zone opens its own MeshServices, so those of two
 * zones share nothing.
 */
function groupsOf(resource: Resource): string[] {
  const hashed = serviceSni(resource, 0);
  if (hashed === null) return [];
  const zone = resource.type === 'MeshService' ? (zoneNamed(resource.labels) ?? '') : '';
  return [`${zone} ${hashed}`, kumaSni(resource, '') ?? ''];
}
