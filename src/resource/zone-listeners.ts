// The zone listeners of a Dataplane, as others name them (MADR 095).
import { objectOf, objectsOf } from './read-json.ts';
import type { JsonObject } from './types.ts';

/** Whether a Dataplane is a zone proxy, in the form of Kuma or in that of MADR 095. @param spec the spec of the Dataplane */
export function hasZoneListeners(spec: JsonObject): boolean {
  const { zoneIngress, zoneEgress, listeners } = objectOf(spec['networking']);
  return zoneIngress !== undefined || zoneEgress !== undefined || objectsOf(listeners).length > 0;
}

/** A text that is equal for equal addresses. */
export function placeText({ address, port }: { readonly address: string; readonly port: number }): string {
  return `${address} ${String(port)}`;
}

/** The roles of a zone proxy for its zone. A token names them as its type. */
const ZONE_ROLES = ['ingress', 'egress'] as const;
export type ZoneRole = (typeof ZONE_ROLES)[number];

/** The roles that the listeners of a Dataplane make, in either form. @param spec the spec of the Dataplane */
export function zoneRolesOf(spec: JsonObject): ZoneRole[] {
  const { zoneIngress, zoneEgress, listeners } = objectOf(spec['networking']);
  const isEgress = objectsOf(listeners).map(({ type }) => type === 'ZoneEgress');
  const has = {
    ingress: zoneIngress !== undefined || isEgress.includes(false),
    egress: zoneEgress !== undefined || isEgress.includes(true),
  };
  return ZONE_ROLES.filter((role) => has[role]);
}
