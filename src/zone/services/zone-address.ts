// MeshZoneAddress, the way in which Kuma control planes tell where a zone's ingress is (policies 2.9, decisions D27): published
// for the own ingress, and used for the services of a zone that could not say it in `spec.zoneIngress`.
import { numberOf, objectOf, objectsOf, textOf } from '../../policy/read-json.ts';
import { compareText } from '../../policy/compare-text.ts';
import { label } from '../../resource/labels.ts';
import { serviceSni } from '../../resource/sni.ts';
import type { JsonObject, Labels, Resource } from '../../resource/types.ts';
import type { Address } from './dataplane-facts.ts';
import { isLocal } from './is-local.ts';

/** Stored name of the row that a zone publishes, one a mesh. */
export const ZONE_ADDRESS = 'zone-ingress';
const MANAGER = 'zone-ingress-publisher';

/** How a service of another zone is reached. */
export type Reach = Address & { readonly sni: string };

/** The row that a mesh should have; `gone` without a ready ingress; null where a person has taken the name. */
export function publishedAddress(
  stored: Pick<Resource, 'labels' | 'syncVersion'> | undefined,
  ingress: Address | null,
  place: { readonly mesh: string; readonly zone: string },
): { readonly labels: Labels; readonly spec: JsonObject } | 'gone' | null {
  if (stored !== undefined && !(isLocal(stored) && stored.labels[label.managedBy] === MANAGER)) return null;
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

/**
 * The way to a MeshService of another zone: its `spec.zoneIngress`, else the MeshZoneAddress of its zone and mesh with the
 * smallest name; null when that zone has told neither.
 * @param addresses the MeshZoneAddresses of the own store
 */
export function reachOf(service: Resource, addresses: readonly Resource[]): Reach | null {
  const given = objectOf(service.spec['zoneIngress']);
  const [address, port, sni] = [textOf(given['address']), numberOf(given['port']), textOf(given['sni'])];
  if (address !== '' && port !== 0 && sni !== '') return { address, port, sni };
  const zone = service.labels[label.zone];
  const [first] = addresses
    .filter(({ mesh, labels }) => mesh === service.mesh && zone !== undefined && labels[label.zone] === zone)
    .sort((a, b) => compareText(a.name, b.name));
  const firstSni = firstPortSni(service);
  if (first === undefined || firstSni === null) return null;
  return { address: textOf(first.spec['address']), port: numberOf(first.spec['port']), sni: firstSni };
}

/** The SNI of the first port; the others follow by the same formula (decisions D20). Null without ports. */
export function firstPortSni(service: Pick<Resource, 'type' | 'mesh' | 'name' | 'labels' | 'spec'>): string | null {
  const [first] = objectsOf(service.spec['ports']);
  const port = numberOf(first?.['port']);
  return port === 0 ? null : serviceSni(service, port);
}
