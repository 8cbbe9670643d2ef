// The parts of a zone proxy for each port that it opens. Invariant: no other part of the view has a resource of such a name.
import { SparseMap } from '../base/sparse-map.ts';
import type { EncodedPart } from './encoded-part.ts';

const NOTHING: EncodedPart = { resources: [], problems: [] };

export class ZoneParts {
  /** By service, and by a name of the port. */
  readonly #ports = new SparseMap<string, ReadonlyMap<string, EncodedPart>>();
  /** By the names of their resources. */
  readonly #byResource = new SparseMap<string, EncodedPart>();

  /** KRIs of the services with a port. */
  services(): IterableIterator<string> {
    return this.#ports.entries.keys();
  }

  *parts(): Generator<EncodedPart> {
    for (const ports of this.#ports.entries.values()) yield* ports.values();
  }

  /** The part with a resource of this name. */
  with(resource: string): EncodedPart | undefined {
    return this.#byResource.get(resource);
  }

  /**
   * Replaces the parts of a service.
   * @param ports by a name of each; none removes the service
   * @param note called for each replaced part, with the old one and the new one
   */
  set(service: string, ports: ReadonlyMap<string, EncodedPart>, note: (before: EncodedPart, after: EncodedPart) => void): void {
    const held = this.#ports.get(service);
    if (ports.size > 0) this.#ports.set(service, new Map(ports));
    else this.#ports.delete(service);
    for (const name of new Set([...(held?.keys() ?? []), ...ports.keys()])) {
      const [before, after] = [held?.get(name) ?? NOTHING, ports.get(name) ?? NOTHING];
      if (before === after) continue;
      note(before, after);
      for (const { resource } of before.resources)
        if (this.#byResource.get(resource.name) === before) this.#byResource.delete(resource.name);
      for (const { resource } of after.resources) this.#byResource.set(resource.name, after);
    }
  }
}
