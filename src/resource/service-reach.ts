// The way in which another zone reaches a MeshService: the addresses and the SNI that its zone has published (MADR 095, D20,
// D27). Pure. Invariant: the form of the SNI is that of the zone: hashed where the service has `spec.zoneIngress`, else Kuma's.
import { compareText } from '../base/compare-text.ts';
import { at, items } from './json-access.ts';
import { isObject } from './read-json.ts';
import { zoneNamed } from './ownership.ts';
import { kumaSni, serviceSni } from './sni.ts';
import type { Json, JsonObject, Labels, ResourceKey } from './types.ts';

/** The place where an ingress listens for other zones. */
type IngressPlace = { readonly address: string; readonly port: number };

type Row = ResourceKey & { readonly labels: Labels; readonly spec: JsonObject };

/**
 * The ingresses of the zone of a MeshService, each once: that of its `spec.zoneIngress` first, then the MeshZoneAddresses of its
 * zone and mesh by name. The list is empty when that zone has published none.
 * @param addresses the MeshZoneAddresses that the own store has
 */
export function ingressesOf(service: Row, addresses: Iterable<Row>): IngressPlace[] {
  const zone = zoneNamed(service.labels);
  const rows = [...addresses]
    .filter(({ mesh, labels }) => zone !== undefined && mesh === service.mesh && zoneNamed(labels) === zone)
    .sort((a, b) => compareText(a.name, b.name));
  const places = [at(service.spec, 'zoneIngress'), ...rows.map(({ spec }) => spec)].flatMap((given) => placeOf(given) ?? []);
  return [...new Map(places.map((place) => [`${place.address} ${String(place.port)}`, place])).values()];
}

/**
 * The SNI of one port of a MeshService for its clients in other zones.
 * @param section the name of the port, else its number as text
 */
export function sniAcrossZones(service: Row, { port, section }: { port: number; section: string }): string | null {
  const published = at(service.spec, 'zoneIngress');
  if (placeOf(published) === null) return kumaSni(service, section);
  const sni = at(published, 'sni');
  // The published one is that of the first port; the others follow by the same formula (D20).
  const isFirst = at(items(service.spec['ports'])[0], 'port') === port;
  return isFirst && typeof sni === 'string' && sni !== '' ? sni : serviceSni(service, port);
}

/** The hashed SNI of the first port; null without ports. */
export function firstPortSni(service: Row): string | null {
  const port = at(items(service.spec['ports'])[0], 'port');
  return typeof port === 'number' && port > 0 ? serviceSni(service, port) : null;
}

/** Returns null where a text or a number is missing. */
export function placeOf(given: Json | undefined): IngressPlace | null {
  if (!isObject(given)) return null;
  const { address, port } = given;
  return typeof address === 'string' && address !== '' && typeof port === 'number' && port > 0 ? { address, port } : null;
}
