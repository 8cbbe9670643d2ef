// Chooses the zone proxy of a mesh (D20) and publishes its address: the MeshZoneAddress from which Kuma control planes learn the
// ingress of a zone (policies 2.9, D27). src/resource/service-reach.ts reads those of other zones.
import { compareText } from '../../base/compare-text.ts';
import type { Address } from './dataplane-facts.ts';
import { label } from '../../resource/labels.ts';
import type { JsonObject, Labels, Resource } from '../../resource/types.ts';
import { isLocal } from '../../resource/ownership.ts';

export type ZoneProxy = {
  /** Stored name of the Dataplane. */
  readonly name: string;
  readonly address: Address;
  /** From its DataplaneInsight; undefined without one, which counts as ready (D20). */
  readonly isOnline: boolean | undefined;
};

/** The address of the chosen zone proxy; null if none is ready. */
export function chooseZoneProxy(proxies: readonly ZoneProxy[]): Address | null {
  const [first] = proxies.filter(({ isOnline }) => isOnline !== false).sort((a, b) => compareText(a.name, b.name));
  return first?.address ?? null;
}

/** The stored name of the row that a zone publishes, one for each mesh. */
export const ZONE_ADDRESS = 'zone-ingress';
const MANAGER = 'zone-ingress-publisher';

/** The MeshZoneAddress that a mesh should have; `gone` without a ready ingress; null if a user's row has the name. */
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
