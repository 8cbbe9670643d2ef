// The zone listeners of a Dataplane, as others name them (MADR 095).
import { objectOf, objectsOf } from './read-json.ts';
import type { JsonObject } from './types.ts';

/** Whether a Dataplane is a zone proxy, in the form of Kuma or in that of MADR 095. @param spec of the Dataplane */
export function hasZoneListeners(spec: JsonObject): boolean {
  const { zoneIngress, zoneEgress, listeners } = objectOf(spec['networking']);
  return zoneIngress !== undefined || zoneEgress !== undefined || objectsOf(listeners).length > 0;
}

/** Equal for equal addresses. */
export function placeText({ address, port }: { readonly address: string; readonly port: number }): string {
  return `${address} ${String(port)}`;
}
