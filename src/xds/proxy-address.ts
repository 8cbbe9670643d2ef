// The address of a proxy, for its own telemetry and for listeners of the whole proxy.
import { objectOf, textOf } from '../resource/read-json.ts';
import type { Resource } from '../resource/types.ts';

/** `networking.address`; that of its zone listener where the Dataplane has no other (MADR 095). */
export function proxyAddress({ spec }: Pick<Resource, 'spec'>): string {
  const { address, zoneIngress, zoneEgress } = objectOf(spec['networking']);
  return textOf(address) || textOf(objectOf(zoneIngress)['address']) || textOf(objectOf(zoneEgress)['address']);
}
