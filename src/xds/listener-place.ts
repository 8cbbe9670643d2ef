// Where a listener listens. In Envoy a listener has the name of its place, because a place has one listener: what listens there is changed
// in place, and never removed and added (decision 105).
import { objectOf, numberOf, textOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';

/** The name of a listener in Envoy: `address:port`; its own where it listens on a socket of the file system. */
export function listenerPlace({ name, address }: JsonObject): string {
  const socket = objectOf(objectOf(address)['socketAddress']);
  if (Object.keys(socket).length === 0) return textOf(name);
  const place = placeName(textOf(socket['address']), numberOf(socket['portValue']));
  return socket['protocol'] === 'UDP' ? `udp:${place}` : place;
}

/** @param address an IP address */
export function placeName(address: string, port: number): string {
  return `${address.includes(':') ? `[${address}]` : address}:${String(port)}`;
}
