// Input of the KDS rule tables: rows named `thing`, the labels of zone `east`, and the expected visibilities.
import { label } from '../../src/resource/labels.ts';
import type { JsonObject, Labels, Resource } from '../../src/resource/types.ts';
import type { Visibility } from '../../src/kds/protocol/rules.ts';
import { makeRow } from './make-row.ts';

export const NAMESPACE = 'payments';
export const ZONE_OWNER = { type: 'Zone', mesh: '', name: 'east' };
export const FROM_EAST = { [label.origin]: 'zone', [label.zone]: 'east' };
export const NO_PEER: Visibility = { to: 'none' };
export const ALL: Visibility = { to: 'all' };

/** A visibility without its conditions of meshes and labels. */
export function whom(visibility: Visibility): Visibility {
  if (visibility.to === 'none') return visibility;
  const { mesh: _mesh, among: _among, exportedTo: _exportedTo, ...others } = visibility;
  return others;
}

export function resource(type: string, { name = 'thing', ...fields }: Partial<Omit<Resource, 'type'>> = {}): Resource {
  return makeRow(type, name, fields);
}

export function labelled(type: string, labels: Labels, fields: Partial<Omit<Resource, 'type'>> = {}): Resource {
  return resource(type, { labels, ...fields });
}

/** The object of a `to[]` item: in the own namespace (producer), or in another (consumer). */
export type Target = 'own' | 'other';

export function policySpec(...items: Target[]): JsonObject {
  const to = items.map((item) => ({
    targetRef: {
      kind: 'MeshService',
      labels: { [label.displayName]: 'backend', [label.namespace]: item === 'own' ? NAMESPACE : 'elsewhere' },
    },
  }));
  return { to };
}

/** Freezes the input of a rule, which must not change it. */
export function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    if (!(value instanceof Date)) Object.freeze(value);
    for (const inner of Object.values(value)) frozen(inner);
  }
  return value;
}
