// MeshZoneAddress, the way in which Kuma control planes tell where a zone's ingress is (policies 2.9, D27): published
// for the own ingress. What other zones publish is read by src/resource/service-reach.ts. Invariant: a person's row stays.
import { label } from '../../resource/labels.ts';
import type { JsonObject, Labels, Resource } from '../../resource/types.ts';
import type { Address } from './dataplane-facts.ts';
import { isLocal } from '../../resource/ownership.ts';

/** Stored name of the row that a zone publishes, one a mesh. */
export const ZONE_ADDRESS = 'zone-ingress';
const MANAGER = 'zone-ingress-publisher';

/** The row that a mesh should have; `gone` without a ready ingress; null where a person has taken the name. */
export function publishedAddress(
  stored: Pick<Resource, 'labels' | 'syncVersion'> | undefined,
  ingress: Address | null,
  place: { readonly mesh: string; readonly zone: string },
): { readonly labels: Labels; readonly spec: JsonObject } | 'gone' | null {
  if (stored !== undefined && !(isLocal(stored, 'zone') && stored.labels[label.managedBy] === MANAGER)) return null;
  if (ingress === null) return 'gone';
  return {
    labels: {
      ...stored?.labels,
      [label.mesh]: place.mesh,
      [label.displayName]: ZONE_ADDRESS,
      [label.managedBy]: MANAGER,
      [label.env]: 'universal',
      [label.zone]: place.zone,
      [label.origin]: 'zone',
    },
    spec: { address: ingress.address, port: ingress.port },
  };
}
