// Chooses the zone proxies of a mesh (D20). The first is in `spec.zoneIngress` of services (service-row.ts), and each has a
// MeshZoneAddress, from which Kuma control planes and the other zones learn all ingresses of a zone (policies 2.9, D27).
// src/resource/service-reach.ts reads those of other zones.
import { compareText } from '../../base/compare-text.ts';
import { placeText } from '../../resource/zone-listeners.ts';
import type { Absences } from './absences.ts';
import type { Address } from './dataplane-facts.ts';
import { label, manager } from '../../resource/labels.ts';
import type { JsonObject, Labels, Resource } from '../../resource/types.ts';
import { isLocal } from '../../resource/ownership.ts';

export type ZoneProxy = {
  /** The stored name of the Dataplane. */
  readonly name: string;
  readonly address: Address;
  readonly state: ReturnType<Absences['stateOf']>;
  /** Whether it has said that it stops: it answers what it has, and takes nothing new. */
  readonly isLeaving: boolean;
  /**
   * Whether its Envoy has accepted the listener of this address. It is true where an older version wrote the insight, which does
   * not say it.
   */
  readonly isListening: boolean;
};

export type ReadyZoneProxy = Pick<ZoneProxy, 'name' | 'address'>;

/**
 * The zone proxies that take connections, by name, each address once. One that has lost its control plane counts, and one whose stream
 * broke where there is no other: both for as long as their absence may last, and if they are published.
 * @param published addresses, as `placeText` writes them
 */
export function readyZoneProxies(proxies: readonly ZoneProxy[], published: ReadonlySet<string>): ReadyZoneProxy[] {
  const known = proxies.filter(
    ({ isLeaving, isListening, state, address }) =>
      !isLeaving && isListening && (state === 'present' || published.has(placeText(address))),
  );
  const ready = known.filter(({ state }) => state === 'present' || state === 'lost');
  const chosen = ready.length > 0 ? ready : known.filter(({ state }) => state === 'broken');
  const places = new Set<string>();
  return chosen
    .sort((a, b) => compareText(a.name, b.name))
    .flatMap(({ name, address }) => {
      const place = placeText(address);
      if (places.has(place)) return [];
      places.add(place);
      return [{ name, address }];
    });
}

/** The stored name of the row with the chosen ingress of a mesh. */
export const ZONE_ADDRESS = 'zone-ingress';

/** Whether a row may be one that a zone publishes, by its stored name. */
export function isPublishedName(name: string): boolean {
  return name === ZONE_ADDRESS || name.startsWith(`${ZONE_ADDRESS}-`);
}

/**
 * The rows that a zone wants to publish: the addresses by stored name. An ingress keeps its row: rows reach other zones one by
 * one, and an ingress that changed its row could be gone there before it is back.
 * @param ingresses each name and each address once
 * @param stored the rows that are there, by stored name
 */
export function wantedAddresses(
  ingresses: readonly { readonly name: string; readonly address: Address }[],
  stored: ReadonlyMap<string, Pick<Resource, 'spec'>>,
): Map<string, Address> {
  const wanted = new Map<string, Address>();
  const chosen = stored.get(ZONE_ADDRESS)?.spec;
  const others = ingresses.filter(({ name, address }) => {
    const own = `${ZONE_ADDRESS}-${name}`;
    const isChosen = chosen?.['address'] === address.address && chosen['port'] === address.port;
    if (stored.has(own)) wanted.set(own, address);
    else if (isChosen) wanted.set(ZONE_ADDRESS, address);
    else return true;
    return false;
  });
  for (const { name, address } of others)
    wanted.set(wanted.has(ZONE_ADDRESS) ? `${ZONE_ADDRESS}-${name}` : ZONE_ADDRESS, address);
  return wanted;
}

/**
 * A MeshZoneAddress that a mesh should have; `gone` where it should not; null if a user's row has the name.
 * @param place its place, with its stored name
 */
export function publishedAddress(
  stored: Pick<Resource, 'labels' | 'syncVersion'> | undefined,
  ingress: Address | null,
  place: { readonly mesh: string; readonly zone: string; readonly name: string },
): { readonly labels: Labels; readonly spec: JsonObject } | 'gone' | null {
  if (stored !== undefined && !(isLocal(stored, 'zone') && stored.labels[label.managedBy] === manager.zoneIngress)) return null;
  if (ingress === null) return 'gone';
  return {
    labels: {
      ...stored?.labels,
      [label.mesh]: place.mesh,
      [label.displayName]: place.name,
      [label.managedBy]: manager.zoneIngress,
      [label.env]: 'universal',
      [label.zone]: place.zone,
      [label.origin]: 'zone',
    },
    spec: { address: ingress.address, port: ingress.port },
  };
}
