// Resolves references by name or by labels without a scan (policies 1.1, 3.2, D8).
// Invariant: the answer depends only on the rows, never on the order of their arrival.
import { kriOf } from '../resource/kri.ts';
import { displayNameOf, label } from '../resource/labels.ts';
import { isInAllZones } from '../resource/ownership.ts';
import { findType } from '../resource/type-registry.ts';
import type { Labels, Resource } from '../resource/types.ts';
import { compareText } from '../base/compare-text.ts';
import { PairIndex } from './pair-index.ts';
import { placeOf, type Place } from './parse-policy.ts';
import type { TargetRef } from './target-ref.ts';

type Held = Place & {
  readonly resource: Resource;
  readonly kri: string;
  readonly name: string;
  /** Whether it is synced to other zones (kds-wire 3). */
  readonly isShared: boolean;
};

export class Referents {
  readonly #byResource = new Map<Resource, Held>();
  readonly #byName = new PairIndex<Held>();
  readonly #byKri = new PairIndex<Held>();
  readonly #byLabel = new Map<string, PairIndex<Held>>();
  /** Disabled zones: their resources are not synced to other zones. */
  disabledZones: ReadonlySet<string> = new Set();

  add(resource: Resource): void {
    const held = {
      ...placeOf(resource),
      resource,
      kri: kriOf(resource) ?? '',
      name: displayNameOf(resource),
      isShared: isInAllZones(resource, findType(resource.type)),
    };
    this.#byResource.set(resource, held);
    this.#byName.add(resource.type, held.name, held);
    this.#byKri.add(resource.type, held.kri, held);
    for (const [key, value] of Object.entries(resource.labels)) this.#labelsOf(resource.type).add(key, value, held);
  }

  delete(resource: Resource): void {
    const held = this.#byResource.get(resource);
    if (held === undefined) return;
    this.#byResource.delete(resource);
    this.#byName.delete(resource.type, held.name, held);
    this.#byKri.delete(resource.type, held.kri, held);
    for (const [key, value] of Object.entries(resource.labels)) this.#labelsOf(resource.type).delete(key, value, held);
  }

  /** The resource with this KRI without section. Of several copies, the one with the smallest stored name. */
  withKri(type: string, kri: string): Resource | undefined {
    return sorted(this.#byKri.get(type, kri))[0]?.resource;
  }

  /** Whether the control plane of a zone (`''`: any) has it. */
  isVisible(resource: Resource, zone: string): boolean {
    const held = this.#byResource.get(resource);
    return held !== undefined && this.#isVisible(held, zone);
  }

  /** KRI without section of a known resource, else `''`. */
  kriOf(resource: Resource): string {
    return this.#byResource.get(resource)?.kri ?? '';
  }

  /**
   * The objects that a reference resolves to, possibly none. By labels: all objects with every label, in any zone and namespace. By
   * name: those in the policy's own zone, else in any zone. If neither the reference nor the policy has a namespace, objects without
   * one, else in any namespace; the own zone counts first.
   * @param zone of the asking proxy, `''` for all zones. Resources that its control plane does not have are not found on global
   *   either
   */
  resolve(ref: TargetRef, from: Place, zone: string): Resource[] {
    const found = ref.labels === null ? this.#byName.get(ref.kind, ref.name) : this.#withLabels(ref.kind, ref.labels);
    const named = [...found].filter((held) => this.#isVisible(held, zone));
    if (ref.labels !== null) return sorted(named).map(({ resource }) => resource);
    const namespace = ref.namespace || from.namespace;
    const own = inNamespace(
      named.filter((held) => held.zone === from.zone),
      namespace,
    );
    return sorted(own.length > 0 ? own : inNamespace(named, namespace)).map(({ resource }) => resource);
  }

  /**
   * The one object that a reference to a backend means. Of several it is the oldest (policies 1.4, 2.4): a new object takes no traffic from it. Of
   * one age it is the first by KRI.
   */
  resolveOldest(ref: TargetRef, from: Place, zone: string): Resource | undefined {
    return this.resolve(ref, from, zone).sort((a, b) => a.creationTime.getTime() - b.creationTime.getTime())[0];
  }

  #isVisible(held: Held, zone: string): boolean {
    return zone === '' || held.zone === zone || (held.isShared && !this.disabledZones.has(held.zone));
  }

  #withLabels(kind: string, labels: Labels): Held[] {
    const sets = Object.entries(labels).map(([key, value]) =>
      key === label.displayName ? this.#byName.get(kind, value) : this.#labelsOf(kind).get(key, value),
    );
    const [smallest, ...others] = sets.toSorted((a, b) => a.size - b.size);
    return [...(smallest ?? [])].filter((held) => others.every((set) => set.has(held)));
  }

  #labelsOf(kind: string): PairIndex<Held> {
    let index = this.#byLabel.get(kind);
    if (index === undefined) this.#byLabel.set(kind, (index = new PairIndex<Held>()));
    return index;
  }
}

/** Those in a namespace. Without a namespace (`''`): those that have none, else all (D8). */
function inNamespace(held: readonly Held[], namespace: string): readonly Held[] {
  const here = held.filter((one) => one.namespace === namespace);
  return here.length === 0 && namespace === '' ? held : here;
}

/** Sorted by KRI. Of copies with one KRI only the first by stored name. */
function sorted(held: Iterable<Held>): Held[] {
  const all = [...held].sort((a, b) => compareText(a.kri, b.kri) || compareText(a.resource.name, b.resource.name));
  return all.filter((item, position) => item.kri !== all[position - 1]?.kri);
}
