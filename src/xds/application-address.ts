// Where the application behind an inbound listens (xds 3.1).
import { numberOf, textOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';

/** @param networking of the Dataplane @param inbound of it */
export function applicationAddress(networking: JsonObject, inbound: JsonObject): { address: string; port: number } {
  const address = textOf(inbound['serviceAddress']) || textOf(inbound['address']) || textOf(networking['address']);
  return { address, port: numberOf(inbound['servicePort']) || numberOf(inbound['port']) };
}
