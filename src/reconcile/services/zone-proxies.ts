// Chooses the zone proxies of a mesh (D20) and publishes their addresses: `spec.zoneIngress` of services has the first, and each has a
// MeshZoneAddress, from which Kuma control planes and the other zones learn all ingresses of a zone (policies 2.9, D27).
// src/resource/service-reach.ts reads those of other zones.
import { compareText } from '../../base/compare-text.ts';
import type { Address } from './dataplane-facts.ts';
import { label } from '../../resource/labels.ts';
import type { JsonObject, Labels, Resource } from '../../resource/types.ts';
import { isLocal } from '../../resource/ownership.ts';

export type ZoneProxy = {
  /** Stored name of the Dataplane. */
  readonly name: string;
  readonly address: Address;
  /** Its stream has ended, and its control plane has not. A proxy without a DataplaneInsight counts as ready (D20). */
  readonly isAway: boolean;
  /** It has said that it stops: it answers what it has, and takes nothing new. */
  readonly isLeaving: boolean;
};

/** The zone proxies that take connections, by name, each address once. */
export function readyZoneProxies(proxies: readonly ZoneProxy[]): { readonly name: string; readonly address: Address }[] {
  const ready = proxies.filter(({ isAway, isLeaving }) => !isAway && !isLeaving).sort((a, b) => compareText(a.name, b.name));
  const places = new Set<string>();
  return ready.flatMap(({ name, address }) => {
    const place = `${address.address} ${String(address.port)}`;
    if (places.has(place)) return [];
    places.add(place);
    return [{ name, address }];
  });
}

/** The address of the chosen zone proxy; null if none is ready. */
export function chooseZoneProxy(proxies: readonly ZoneProxy[]): Address | null {
  return readyZoneProxies(proxies)[0]?.address ?? null;
}

/** The stored name of the row with the chosen ingress of a mesh. */
export const ZONE_ADDRESS = 'zone-ingress';
const MANAGER = 'zone-ingress-publisher';

/** Whether a row may be one that a zone publishes, by its stored name. */
export function isPublishedName(name: string): boolean {
  return name === ZONE_ADDRESS || name.startsWith(`${ZONE_ADDRESS}-`);
}

/** The rows that a zone wants to publish: stored name → address. */
export function wantedAddresses(
  ingresses: readonly { readonly name: string; readonly address: Address }[],
): Map<string, Address> {
  return new Map(
    ingresses.map(({ name, address }, at) => [at === 0 ? ZONE_ADDRESS : `${ZONE_ADDRESS}-${name}`, address] as const),
  );
}

/**
 * A MeshZoneAddress that a mesh should have; `gone` where it should not; null if a user's row has the name.
 * @param place where it is, with its stored name
 */
export function publishedAddress(
  stored: Pick<Resource, 'labels' | 'syncVersion'> | undefined,
  ingress: Address | null,
  place: { readonly mesh: string; readonly zone: string; readonly name: string },
): { readonly labels: Labels; readonly spec: JsonObject } | 'gone' | null {
  if (stored !== undefined && !(isLocal(stored, 'zone') && stored.labels[label.managedBy] === MANAGER)) return null;
  if (ingress === null) return 'gone';
  return {
    labels: {
      ...stored?.labels,
      [label.mesh]: place.mesh,
      [label.displayName]: place.name,
      [label.managedBy]: MANAGER,
      [label.env]: 'universal',
      [label.zone]: place.zone,
      [label.origin]: 'zone',
    },
    spec: { address: ingress.address, port: ingress.port },
  };
}
